// Keeps numbers between two bounds.
#pragma once

#include <cstdint>

#include "kernels/portable.h"
#include "kernels/step_state.h"

namespace ulpscope {

struct ClampParams {
  double least = 0.0;      ///< both rounded to the compute type once
  double greatest = 0.0;
};

/// An infinity becomes a bound; NaN stays NaN.
template <class T>
struct ClampBody {
  static constexpr const char* operation = "clamp";
  T least, greatest;

  static ULPSCOPE_MEMBER ClampBody make(const void* params, const StepState*, std::int64_t) {
    const auto& p = *static_cast<const ClampParams*>(params);
    return {static_cast<T>(p.least), static_cast<T>(p.greatest)};
  }
  ULPSCOPE_MEMBER T operator()(std::int64_t, T x) const { return x < least ? least : x > greatest ? greatest : x; }
};

/// What was cut off has no gradient, and a NaN has none, as in PyTorch.
template <class T>
struct ClampBackwardBody {
  static constexpr const char* operation = "clamp_backward";
  T least, greatest;

  static ULPSCOPE_MEMBER ClampBackwardBody make(const void* params, const StepState*, std::int64_t) {
    const auto& p = *static_cast<const ClampParams*>(params);
    return {static_cast<T>(p.least), static_cast<T>(p.greatest)};
  }
  ULPSCOPE_MEMBER T operator()(std::int64_t, T x, T dy) const { return x >= least && x <= greatest ? dy : T(0); }
};

}  // namespace ulpscope
