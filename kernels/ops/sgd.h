// Stochastic gradient descent with momentum, as torch.optim.SGD (dampening 0), in its order of operations.
#pragma once

#include <cstdint>

#include "kernels/ops/params.h"
#include "kernels/portable.h"
#include "kernels/step_state.h"

namespace ulpscope {

template <class T>
struct SgdBody {
  static constexpr const char* operation = "sgd";
  T clip;
  T learning_rate;
  T momentum;
  T weight_decay;
  bool nesterov;
  bool first;  ///< no update was applied yet: the momentum buffer becomes the gradient

  static ULPSCOPE_MEMBER SgdBody make(const void* params, const StepState* state, std::int64_t) {
    const SgdParams& p = *static_cast<const SgdParams*>(params);
    return {static_cast<T>(state->clip_coefficient),
            static_cast<T>(state->learning_rate),
            static_cast<T>(p.momentum),
            static_cast<T>(p.weight_decay),
            p.nesterov,
            state->applied == 0};
  }

  /// The gradient as the update sees it.
  ULPSCOPE_MEMBER T gradient(T g, T p) const {
    const T clipped = g * clip;
    return weight_decay != T(0) ? clipped + weight_decay * p : clipped;
  }
  /// What is taken from the weight, without momentum and with it.
  ULPSCOPE_MEMBER T step(T g, T p) const { return learning_rate * gradient(g, p); }
  ULPSCOPE_MEMBER T step(T g, T p, T& buffer) const {
    const T d = gradient(g, p);
    buffer = first ? d : momentum * buffer + d;
    return learning_rate * (nesterov ? d + momentum * buffer : buffer);
  }
  ULPSCOPE_MEMBER void operator()(T g, T& p) const { p = p - step(g, p); }
  ULPSCOPE_MEMBER void operator()(T g, T& p, T& buffer) const { p = p - step(g, p, buffer); }
};

}  // namespace ulpscope
