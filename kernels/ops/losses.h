// Losses averaged over elements: what an element contributes, where it is more than a line of ops/reductions.h, and the
// gradients, in PyTorch's order of operations (aten/native/Loss.cpp) where nothing else is said.
#pragma once

#include <cstdint>

#include "kernels/math/elementary.h"
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

/// dprediction = sign(prediction - target) * dloss / n; 0 where they are equal.
template <class T>
struct L1LossBackwardBody {
  static constexpr const char* operation = "l1_loss_backward";
  T factor;  ///< 1 / n

  static ULPSCOPE_MEMBER L1LossBackwardBody make(const void*, const StepState*, std::int64_t elements) {
    return {T(1) / static_cast<T>(elements)};
  }
  ULPSCOPE_MEMBER T operator()(std::int64_t, T prediction, T target, T dloss) const {
    const T sign = prediction > target ? T(1) : prediction < target ? T(-1) : T(0);
    return sign * factor * dloss;
  }
};

/// log(1 + e) for e in [0, 1], to the last bits for small e too, where 1 + e rounds (Kahan's correction).
template <class T>
ULPSCOPE_BODY T log_one_plus(T e) {
  const T sum = T(1) + e;
  const T rounded = sum - T(1);
  const T corrected = math::log(sum) * (e / rounded);
  return rounded == T(0) ? e : corrected;
}

/// Binary cross-entropy of sigmoid(x), without overflow: max(x, 0) - x t + log(1 + exp(-|x|)). Small losses of
/// confident logits keep their digits for both targets, where PyTorch's (1 - t) x - log sigmoid(x) loses them for
/// negative x.
template <class T>
struct BceWithLogitsTerm {
  ULPSCOPE_MEMBER T operator()(T x, T target) const {
    const T size = x < T(0) ? -x : x;
    const T positive = x < T(0) ? T(0) : x;
    return (positive - x * target) + log_one_plus(math::exp(-size));
  }
};

/// dlogits = (sigmoid(x) - t) * dloss / n
template <class T>
struct BceWithLogitsBackwardBody {
  static constexpr const char* operation = "bce_with_logits_backward";
  T factor;  ///< 1 / n

  static ULPSCOPE_MEMBER BceWithLogitsBackwardBody make(const void*, const StepState*, std::int64_t elements) {
    return {T(1) / static_cast<T>(elements)};
  }
  ULPSCOPE_MEMBER T operator()(std::int64_t, T x, T target, T dloss) const {
    return (T(1) / (T(1) + math::exp(-x)) - target) * factor * dloss;
  }
};

}  // namespace ulpscope
