// Keeps the rule of scripts/cmake/instruction_sets.cmake: tests/house/isa_symbols.sh must accept it.
namespace ulpscope::cpu::portable {
namespace {
int hidden(int x) { return x + 1; }
}  // namespace
static inline int local(int x) { return x + 2; }
int constant_table[2] = {1, 2};
template <class T>
T twice(T x) { return x + x; }
template int twice<int>(int);
int visible(int x) {
  static int calls = hidden(x);
  return local(x) + calls + twice(x);
}
}  // namespace ulpscope::cpu::portable
