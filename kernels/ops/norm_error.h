// What narrow sums make of the result of a norm: its mean and its root are held against those of the same row, summed in double.
#pragma once

#include <cstdint>

#include "kernels/math/elementary.h"
#include "kernels/portable.h"

namespace ulpscope {

/// Of one row, without rounding worth a word.
struct RightMoments {
  double mean = 0.0;    ///< 0 where none is taken away
  double spread = 0.0;  ///< root of the mean of (x - mean)²
  double rstd = 0.0;
};

template <class T>
ULPSCOPE_BODY RightMoments right_moments(const T* x, std::int64_t n, bool takes_mean, double epsilon) {
  const auto count = static_cast<double>(n);
  double sum = 0.0, squares = 0.0;
  for (std::int64_t i = 0; takes_mean && i < n; ++i) sum += static_cast<double>(x[i]);
  RightMoments right;
  right.mean = sum / count;
  for (std::int64_t i = 0; i < n; ++i) {
    const double less = static_cast<double>(x[i]) - right.mean;
    squares += less * less;
  }
  right.spread = math::sqrt(squares / count);
  right.rstd = 1.0 / math::sqrt(squares / count + epsilon);
  return right;
}

/// The root mean square, over a row, of what its result before gain and bias is off by; that of the result itself is about 1. Negative
/// where it is not finite.
ULPSCOPE_BODY double row_error(const RightMoments& right, double mean, double rstd) {
  const double scale = (rstd - right.rstd) * right.spread, shift = (mean - right.mean) * rstd;
  const double error = math::sqrt(scale * scale + shift * shift);
  return error - error == 0.0 ? error : -1.0;
}

}  // namespace ulpscope
