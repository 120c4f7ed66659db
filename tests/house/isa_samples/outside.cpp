// Breaks the rule of scripts/cmake/instruction_sets.cmake: tests/house/isa_symbols.sh must refuse it.
#include <vector>

namespace ulpscope {
inline __attribute__((noinline)) int shared_by_all(int x) { return x + 1; }
}  // namespace ulpscope

namespace ulpscope::portable {
int grow(std::vector<int>& values) {
  values.insert(values.begin(), 3, shared_by_all(1));   // a copy of std::vector's code
  return values.back();
}
}  // namespace ulpscope::portable
