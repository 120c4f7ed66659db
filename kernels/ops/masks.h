// Choosing by a mask: an i32 operand that the driver hands over as numbers, 0 for "no".
#pragma once

#include <cstdint>

#include "kernels/ops/params.h"
#include "kernels/portable.h"
#include "kernels/step_state.h"

namespace ulpscope {

/// y = value where the mask is set, else x.
template <class T>
struct MaskedFillBody {
  static constexpr const char* operation = "masked_fill";
  static constexpr unsigned masks = 0b10;
  T value;

  static ULPSCOPE_MEMBER MaskedFillBody make(const void* params, const StepState*, std::int64_t) {
    return {static_cast<T>(static_cast<const MaskedFillParams*>(params)->value)};
  }
  ULPSCOPE_MEMBER T operator()(std::int64_t, T x, T mask) const { return mask != T(0) ? value : x; }
};

/// y = a where the condition is set, else b.
template <class T>
struct WhereBody {
  static constexpr const char* operation = "where";
  static constexpr unsigned masks = 0b1;
  ULPSCOPE_MEMBER T operator()(std::int64_t, T condition, T a, T b) const { return condition != T(0) ? a : b; }
};

/// 1 or 0.
ULPSCOPE_BODY std::int32_t compare_index(std::int32_t x, const CompareParams& p) {
  return (x == p.value) == p.equal ? 1 : 0;
}

}  // namespace ulpscope
