// Layer normalisation over one row, and its gradients. Two passes for the moments: no cancellation of large squares.
#pragma once

#include <cstdint>

#include "kernels/math/elementary.h"
#include "kernels/portable.h"

namespace ulpscope {

template <class T>
struct Moments {
  T mean;
  T rstd;  ///< 1 / sqrt(variance + epsilon); the variance is that of the population
};

/// y = (x - mean) * rstd * gamma + beta. y may be x.
template <class T, class Team>
ULPSCOPE_BODY Moments<T> layer_norm_row(const Team& team, const T* x, const T* gamma, const T* beta, T* y,
                                        std::int64_t n, T epsilon) {
  const T count = static_cast<T>(n);
  const T mean = team.template sum<T>(n, [=](std::int64_t i) { return x[i]; }) / count;
  const T variance = team.template sum<T>(n, [=](std::int64_t i) { return (x[i] - mean) * (x[i] - mean); }) / count;
  const T rstd = T(1) / math::sqrt(variance + epsilon);
  team.each(n, [=](std::int64_t i) { y[i] = (x[i] - mean) * rstd * gamma[i] + beta[i]; });
  return {mean, rstd};
}

/// With xhat = (x - mean) * rstd and g = dy * gamma: dx = rstd * (g - mean(g) - xhat * mean(g * xhat)).
template <class T, class Team>
ULPSCOPE_BODY void layer_norm_backward_row(const Team& team, const T* x, const T* gamma, Moments<T> moments,
                                           const T* dy, T* dx, std::int64_t n) {
  const T count = static_cast<T>(n);
  const T mean = moments.mean;
  const T rstd = moments.rstd;
  const T mean_g = team.template sum<T>(n, [=](std::int64_t i) { return dy[i] * gamma[i]; }) / count;
  const T mean_gx =
      team.template sum<T>(n, [=](std::int64_t i) { return dy[i] * gamma[i] * ((x[i] - mean) * rstd); }) / count;
  team.each(n, [=](std::int64_t i) { dx[i] = rstd * (dy[i] * gamma[i] - mean_g - (x[i] - mean) * rstd * mean_gx); });
}

/// What one row adds to dgamma and dbeta; summed over rows as ops/reductions.h says. A piece of n columns.
template <class T>
ULPSCOPE_BODY void layer_norm_add_weight_gradients(const T* x, const T* dy, Moments<T> moments, int n, T* dgamma,
                                                   T* dbeta) {
  for (int i = 0; i < n; ++i) {
    dgamma[i] += dy[i] * ((x[i] - moments.mean) * moments.rstd);
    dbeta[i] += dy[i];
  }
}

}  // namespace ulpscope
