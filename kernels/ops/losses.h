// Mean squared error: its gradient. The loss itself is a reduction (SquaredDifferenceTerm) divided by the elements.
#pragma once

#include <cstdint>

#include "kernels/portable.h"
#include "kernels/step_state.h"

namespace ulpscope {

/// dprediction = 2 / n * (prediction - target) * dloss
template <class T>
struct MseLossBackwardBody {
  static constexpr const char* operation = "mse_loss_backward";
  T factor;  ///< 2 / n

  static ULPSCOPE_MEMBER MseLossBackwardBody make(const void*, const StepState*, std::int64_t elements) {
    return {T(2) / static_cast<T>(elements)};
  }
  ULPSCOPE_MEMBER T operator()(std::int64_t, T prediction, T target, T dloss) const {
    return factor * (prediction - target) * dloss;
  }
};

}  // namespace ulpscope
