// Running statistics and their commit, and the accumulator of gradients.
#include "kernels/ops/persistent.h"

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/register_isa.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

template <class T>
void run_ema(const Launch& launch) {
  const Operands operands = operands_of("ema", launch, 2);
  const EmaBody<T> body = EmaBody<T>::make(launch.params, launch.state, operands.elements);
  run_tiles<T>(launch, operands, 1, map_tile<T, EmaBody<T>, 2>, &body);
}

/// Gradients, not zero, that the sum they are added to is too coarse to take.
template <class T>
std::int64_t lost_additions(const Operands& operands, const AccumulateBody<T>& body) {
  if (body.first) return 0;
  const View& to = operands.write[0];
  Buffer<T> gradient, sum, added;
  alignas(64) std::uint64_t raw[tile_length];
  std::int64_t lost = 0;
  for (std::int64_t begin = 0; begin < operands.elements; begin += tile_length) {
    const int n = smaller(operands.elements - begin, tile_length);
    read_tile(operands.read[0], begin, n, gradient.value);
    read_tile(operands.read[1], begin, n, sum.value);
    for (int i = 0; i < n; ++i) added.value[i] = body(begin + i, gradient.value[i], sum.value[i]);
    narrow_tile(to.format, added.value, raw, static_cast<std::size_t>(n));
    widen_tile(to.format, raw, added.value, static_cast<std::size_t>(n));
    for (int i = 0; i < n; ++i) lost += gradient.value[i] != T(0) && added.value[i] == sum.value[i] ? 1 : 0;
  }
  return lost;
}

/// The accumulator is read only where there is something in it: a NaN of the last step stays behind.
template <class T>
void run_accumulate(const Launch& launch) {
  const Operands operands = operands_of("accumulate", launch, 2);
  const AccumulateBody<T> body = AccumulateBody<T>::make(launch.params, launch.state, operands.elements);
  if (observed(launch) == Looked::at_everything) launch.counts[0]->lost_updates += lost_additions<T>(operands, body);
  run_tiles<T>(launch, operands, 1, map_tile<T, AccumulateBody<T>, 2>, &body);
}

template <class T>
void commit_tile(const void* pointer, const RunArgs<T>& args) {
  const bool commit = *static_cast<const bool*>(pointer);
  const T* from = commit ? args.in[0] : args.in[1];
  T* buffer = args.out[0];
  T* committed = args.out[1];
  ULPSCOPE_INDEPENDENT_ITERATIONS
  for (std::int64_t i = 0; i < args.n; ++i) {
    const T value = from[i];
    buffer[i] = value;
    committed[i] = value;
  }
}

/// Outputs are read, too: buffer and committed.
template <class T>
void run_commit(const Launch& launch) {
  expect_operands("commit_buffer", launch, 0, 2);
  expect_shape("commit_buffer", "the committed buffer", launch.out[1].shape, launch.out[0].shape);
  Operands operands;
  operands.reads = operands.writes = 2;
  for (int o = 0; o < 2; ++o) operands.read[o] = operands.write[o] = view_of(launch.out[o]);
  operands.elements = operands.write[0].elements;
  const bool commit = launch.state->finite != 0 && launch.state->halt == 0;
  run_tiles<T>(launch, operands, 1, commit_tile<T>, &commit);
}

template <class T>
void add_persistent(KernelTable& table) {
  add_kernel(table, "ema", format_of<T>(), run_ema<T>);
  add_kernel(table, "accumulate", format_of<T>(), run_accumulate<T>);
  add_kernel(table, "commit_buffer", format_of<T>(), run_commit<T>);
}

}  // namespace

void register_persistent(KernelTable& table) {
  add_persistent<float>(table);
  add_persistent<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
