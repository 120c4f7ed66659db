// Dropout: a thread makes the random bits of eight neighbouring elements, two calls of the generator.
#include "kernels/ops/dropout.h"

#include "kernels/cuda/element_stage.h"
#include "kernels/cuda/observation.h"
#include "kernels/cuda/register.h"

namespace ulpscope::cuda {
namespace {

template <class T>
ULPSCOPE_KERNEL void dropout_kernel(DeviceView x, Result y, DropoutParams params, const StepState* state) {
  const DropoutStream<T> stream = dropout_stream<T>(params, *state);
  for (std::int64_t begin = global_thread() * run_length; begin < y.view.elements; begin += global_threads() * run_length) {
    const std::int64_t left = y.view.elements - begin;
    const int n = left < run_length ? static_cast<int>(left) : run_length;
    T factor[run_length];
    dropout_factors(stream, begin / 4, run_length / 4, factor);
    if constexpr (sizeof(T) == sizeof(float)) {
      if (x.runs && y.view.runs) {
        float in[run_length] = {}, out[run_length];
        load_run(x, begin, n, in);
        ULPSCOPE_UNROLL
        for (int j = 0; j < run_length; ++j) out[j] = in[j] * factor[j];
        write_run(y, begin, n, out);
        continue;
      }
    }
    ULPSCOPE_UNROLL
    for (int j = 0; j < run_length; ++j)
      if (j < n) write_element(y, begin + j, load_any<T>(x.format, x.data, offset_of(x, begin + j)) * factor[j]);
  }
}

template <class T>
void run_dropout(const Launch& l) {
  expect_operands("dropout", l, 1, 1);
  Observation<T> observation(l);
  const DeviceView x(broadcast_view("dropout", l.in[0], l.out[0].shape));
  const Result y = observation.result(0, view_of(l.out[0]));
  const std::int64_t runs = (y.view.elements + run_length - 1) / run_length;
  launch(dropout_kernel<T>, blocks_for((runs + team_threads - 1) / team_threads), team_threads, l.stream, x, y,
         *static_cast<const DropoutParams*>(l.params), static_cast<const StepState*>(l.state));
  observation.count(0, count_tiles(y.view.elements));
}

}  // namespace

void register_dropout(KernelTable& table) {
  table.add("dropout", Format::fp32, Kernel{run_dropout<float>, nullptr, element_stage<DropoutBody, 1, DropoutParams>()});
  table.add("dropout", Format::fp64, Kernel{run_dropout<double>});
}

}  // namespace ulpscope::cuda
