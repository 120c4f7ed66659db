// Removing the loss scale from gradients, and clipping by their global norm.
#pragma once

#include <cstdint>

#include "kernels/math/elementary.h"
#include "kernels/portable.h"
#include "kernels/step_state.h"

namespace ulpscope {

/// g *= 1 / S. `limit` is the least magnitude that is not finite once it is rounded to the gradient's format.
///
/// The check sees the unscaled value, as stored; PyTorch's looks at the value before it is unscaled. For S >= 1 both say
/// the same: unscaling makes nothing larger. With S below 1 (a scale that backed off far, or a fixed one) a finite scaled
/// gradient can leave the range when it is unscaled, and what the optimizer would commit is what has to be finite.
template <class T>
struct UnscaleBody {
  static constexpr const char* operation = "unscale_check";
  T inverse_scale;
  T limit;

  ULPSCOPE_MEMBER T operator()(T g) const { return g * inverse_scale; }
  ULPSCOPE_MEMBER bool finite(T unscaled) const { return unscaled < limit && unscaled > -limit; }
};

/// min(1, max_norm / (norm + 1e-6)), as torch.nn.utils.clip_grad_norm_; 1 if max_norm is 0. NaN if the norm is NaN.
template <class T>
ULPSCOPE_BODY T clip_coefficient(T norm, T max_norm) {
  const T coefficient = max_norm / (norm + static_cast<T>(1e-6));
  return max_norm == T(0) || coefficient > T(1) ? T(1) : coefficient;
}

}  // namespace ulpscope
