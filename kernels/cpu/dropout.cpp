#include "kernels/ops/dropout.h"

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/register_isa.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

/// A tile begins at a multiple of its length, hence at a block of the generator.
template <class T>
void dropout_tile(const void* pointer, const TileArgs<T>& args) {
  const DropoutStream<T> stream = *static_cast<const DropoutStream<T>*>(pointer);
  Buffer<T> factor;
  dropout_factors(stream, args.begin / 4, (args.n + 3) / 4, factor.value);
  const T* x = args.in[0];
  T* y = args.out[0];
  ULPSCOPE_INDEPENDENT_ITERATIONS
  for (int i = 0; i < args.n; ++i) y[i] = x[i] * factor.value[i];
}

template <class T>
void run_dropout(const Launch& launch) {
  const Operands operands = operands_of("dropout", launch, 1);
  const DropoutStream<T> stream = dropout_stream<T>(*static_cast<const DropoutParams*>(launch.params), *launch.state);
  run_tiles<T>(launch, operands, 8, dropout_tile<T>, &stream);
}

}  // namespace

void register_dropout(KernelTable& table) {
  add_kernel(table, "dropout", Format::fp32, run_dropout<float>);
  add_kernel(table, "dropout", Format::fp64, run_dropout<double>);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
