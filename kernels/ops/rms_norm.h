// Root-mean-square normalisation over one row, and its gradients (Zhang and Sennrich 2019; torch.nn.RMSNorm).
#pragma once

#include <cstdint>

#include "kernels/math/elementary.h"
#include "kernels/portable.h"

namespace ulpscope {

/// y = x * rstd * gamma with rstd = 1 / sqrt(mean of x² + epsilon), which is returned. y may be x.
template <class T, class Team>
ULPSCOPE_BODY T rms_norm_row(const Team& team, const T* x, const T* gamma, T* y, std::int64_t n, T epsilon) {
  const T square = team.template sum<T>(n, [=](std::int64_t i) { return x[i] * x[i]; }) / static_cast<T>(n);
  const T rstd = T(1) / math::sqrt(square + epsilon);
  team.each(n, [=](std::int64_t i) { y[i] = x[i] * rstd * gamma[i]; });
  return rstd;
}

/// With xhat = x * rstd and g = dy * gamma: dx = rstd * (g - xhat * mean(g * xhat)).
template <class T, class Team>
ULPSCOPE_BODY void rms_norm_backward_row(const Team& team, const T* x, const T* gamma, T rstd, const T* dy, T* dx,
                                         std::int64_t n) {
  const T mean_gx =
      team.template sum<T>(n, [=](std::int64_t i) { return dy[i] * gamma[i] * (x[i] * rstd); }) / static_cast<T>(n);
  team.each(n, [=](std::int64_t i) { dx[i] = rstd * (dy[i] * gamma[i] - x[i] * rstd * mean_gx); });
}

/// What one row adds to dgamma; summed over rows as ops/reductions.h says. A piece of n columns.
template <class T>
ULPSCOPE_BODY void rms_norm_add_weight_gradients(const T* x, const T* dy, T rstd, int n, T* dgamma) {
  for (int i = 0; i < n; ++i) dgamma[i] += dy[i] * (x[i] * rstd);
}

}  // namespace ulpscope
