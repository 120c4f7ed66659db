#include "kernels/ops/dropout.h"

#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/register_isa.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

/// Blocks of the generator give four elements each; a run may begin inside of one.
template <class T>
void dropout_run(const void* pointer, const RunArgs<T>& args) {
  constexpr int blocks = tile_length / 4;
  const DropoutStream<T> stream = *static_cast<const DropoutStream<T>*>(pointer);
  Buffer<T> factor;
  std::int64_t done = 0;
  while (done < args.n) {
    const std::int64_t first = (args.begin + done) / 4;
    const int skipped = static_cast<int>((args.begin + done) % 4);
    const int n = smaller(args.n - done, 4 * blocks - skipped);
    dropout_factors(stream, first, (skipped + n + 3) / 4, factor.value);
    const T* x = args.in[0] + done;
    T* y = args.out[0] + done;
    const T* f = factor.value + skipped;
    ULPSCOPE_INDEPENDENT_ITERATIONS
    for (int i = 0; i < n; ++i) y[i] = x[i] * f[i];
    done += n;
  }
}

template <class T>
void run_dropout(const Launch& launch) {
  const Operands operands = operands_of("dropout", launch, 1);
  const DropoutStream<T> stream = dropout_stream<T>(*static_cast<const DropoutParams*>(launch.params), *launch.state);
  run_tiles<T>(launch, operands, 8, dropout_run<T>, &stream);
}

void prepare_dropout(const Launch& launch, void*, void* body) {
  *static_cast<DropoutStream<float>*>(body) =
      dropout_stream<float>(*static_cast<const DropoutParams*>(launch.params), *launch.state);
}

constexpr StageFunctions dropout_functions{8, prepare_dropout, dropout_run<float>, nullptr};
constexpr Stage dropout_stage{false, 1, {0}, &dropout_functions};

}  // namespace

void register_dropout(KernelTable& table) {
  add_kernel(table, "dropout", Format::fp32, run_dropout<float>, nullptr, &dropout_stage);
  add_kernel(table, "dropout", Format::fp64, run_dropout<double>);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
