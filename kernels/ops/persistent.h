// What changes values that outlive a step: running statistics, their commit, and the accumulator of gradients.
#pragma once

#include <cstdint>

#include "kernels/ops/params.h"
#include "kernels/portable.h"
#include "kernels/step_state.h"

namespace ulpscope {

/// buffer = (1 - momentum) * buffer + momentum * x, as the running statistics of torch.nn.BatchNorm.
template <class T>
struct EmaBody {
  static constexpr const char* operation = "ema";
  T keep;
  T take;

  static ULPSCOPE_MEMBER EmaBody make(const void* params, const StepState*, std::int64_t) {
    const double momentum = static_cast<const EmaParams*>(params)->momentum;
    return {static_cast<T>(1.0 - momentum), static_cast<T>(momentum)};
  }
  ULPSCOPE_MEMBER T operator()(std::int64_t, T buffer, T x) const { return keep * buffer + take * x; }
};

/// The first micro-batch of a step writes, the others add. With early_unscale the first one is divided by S and the others
/// are not: what comes of calling GradScaler.unscale_ after the first micro-batch.
template <class T>
struct AccumulateBody {
  static constexpr const char* operation = "accumulate";
  bool first;
  T factor;

  static ULPSCOPE_MEMBER AccumulateBody make(const void* params, const StepState* state, std::int64_t) {
    const bool first = state->micro_batch == 0;
    const bool early = static_cast<const AccumulateParams*>(params)->early_unscale;
    return {first, first && early ? static_cast<T>(state->inverse_scale) : T(1)};
  }
  ULPSCOPE_MEMBER T operator()(std::int64_t, T gradient, T sum) const { return first ? gradient * factor : sum + gradient; }
};

}  // namespace ulpscope
