// AdamW, as torch.optim.AdamW (amsgrad off), in the order of operations of its single-tensor form. The scalars are
// computed in double and rounded to T once, as PyTorch passes Python floats to its kernels.
#pragma once

#include <cstdint>

#include "kernels/math/elementary.h"
#include "kernels/ops/params.h"
#include "kernels/portable.h"
#include "kernels/step_state.h"

namespace ulpscope {

template <class T>
struct AdamWBody {
  static constexpr const char* operation = "adamw";
  T clip;
  T decay;  ///< 1 - lr * weight_decay
  T decay_change;  ///< -lr * weight_decay
  T beta2;
  T one_minus_beta1;
  T one_minus_beta2;
  T step_size;         ///< lr / (1 - beta1^t)
  T sqrt_correction2;  ///< sqrt(1 - beta2^t)
  T epsilon;
  bool far;  ///< 1 - beta1 >= 0.5: torch.lerp then starts from the other end

  static ULPSCOPE_MEMBER AdamWBody make(const void* params, const StepState* state, std::int64_t) {
    const AdamWParams& p = *static_cast<const AdamWParams*>(params);
    const double lr = state->learning_rate;
    const std::int64_t t = state->applied + 1;
    const double correction1 = 1.0 - math::power(p.beta1, t);
    const double correction2 = 1.0 - math::power(p.beta2, t);
    return {static_cast<T>(state->clip_coefficient),
            static_cast<T>(1.0 - lr * p.weight_decay),
            static_cast<T>(-lr * p.weight_decay),
            static_cast<T>(p.beta2),
            static_cast<T>(1.0 - p.beta1),
            static_cast<T>(1.0 - p.beta2),
            static_cast<T>(lr / correction1),
            static_cast<T>(math::sqrt(correction2)),
            static_cast<T>(p.epsilon),
            1.0 - p.beta1 >= 0.5};
  }

  ULPSCOPE_MEMBER T mean(T m, T g) const {
    return far ? g - (g - m) * (T(1) - one_minus_beta1) : m + one_minus_beta1 * (g - m);
  }
  /// Updates the moments; returns what is taken from the decayed weight.
  ULPSCOPE_MEMBER T step(T gradient, T& m, T& v) const {
    const T g = gradient * clip;
    m = mean(m, g);
    v = v * beta2 + one_minus_beta2 * g * g;
    const T denominator = math::sqrt(v) / sqrt_correction2 + epsilon;
    return step_size * m / denominator;
  }
  ULPSCOPE_MEMBER void operator()(T gradient, T& p, T& m, T& v) const {
    p = p * decay;
    p = p - step(gradient, m, v);
  }
};

}  // namespace ulpscope
