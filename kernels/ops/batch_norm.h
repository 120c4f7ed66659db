// Normalisation over the batch, one channel at a time, and sums of a channel. A channel is `rows` runs of `length`
// elements (one run for each sample); sums go along the tree over each run and along the tree over the runs' sums.
#pragma once

#include <cstdint>

#include "kernels/math/elementary.h"
#include "kernels/portable.h"

namespace ulpscope {

/// The sum of term(run, i) over a channel; run(r) finds run r. partial: `rows` elements.
template <class T, class Team, class Run, class Term>
ULPSCOPE_BODY T channel_sum(const Team& team, std::int64_t rows, std::int64_t length, T* partial, Run run, Term term) {
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto in = run(r);
    partial[r] = team.template sum<T>(length, [=](std::int64_t i) { return term(in, i); });
  }
  return team.template sum<T>(rows, [=](std::int64_t r) { return partial[r]; });
}

template <class T>
struct ChannelMoments {
  T mean;
  T rstd;      ///< 1 / sqrt(variance of the population + epsilon)
  T variance;  ///< unbiased: divided by the elements less one
};

/// squares: the sum of squared_deviation over the channel, of `count` elements.
template <class T>
ULPSCOPE_BODY ChannelMoments<T> moments_from(T mean, T squares, T count, T epsilon) {
  return {mean, T(1) / math::sqrt(squares / count + epsilon), squares / (count - T(1))};
}
template <class T>
ULPSCOPE_BODY T squared_deviation(T x, T mean) {
  return (x - mean) * (x - mean);
}

/// Two passes, as layer_norm_row: no cancellation of large squares. run(r) gives a pointer.
template <class T, class Team, class Run>
ULPSCOPE_BODY ChannelMoments<T> channel_moments(const Team& team, std::int64_t rows, std::int64_t length, T* partial,
                                                Run run, T epsilon) {
  const T count = static_cast<T>(rows * length);
  const T mean =
      channel_sum<T>(team, rows, length, partial, run, [=](const T* x, std::int64_t i) { return x[i]; }) / count;
  const T squares = channel_sum<T>(team, rows, length, partial, run,
                                   [=](const T* x, std::int64_t i) { return squared_deviation(x[i], mean); });
  return moments_from(mean, squares, count, epsilon);
}

/// What becomes of one element.
template <class T>
ULPSCOPE_BODY T batch_norm_element(T x, T mean, T rstd, T gamma, T beta) {
  return (x - mean) * rstd * gamma + beta;
}

/// y = (x - mean) * rstd * gamma + beta for one run. y may be x.
template <class T, class Team>
ULPSCOPE_BODY void batch_norm_run(const Team& team, const T* x, T mean, T rstd, T gamma, T beta, T* y, std::int64_t n) {
  team.each(n, [=](std::int64_t i) { y[i] = batch_norm_element(x[i], mean, rstd, gamma, beta); });
}

/// x and its gradient, one run.
template <class T>
struct RunPair {
  const T* x;
  const T* dy;
};

/// The sums of a channel that its gradients need.
template <class T>
struct ChannelGradients {
  T dgamma;  ///< sum of dy * xhat, xhat = (x - mean) * rstd
  T dbeta;   ///< sum of dy
};

/// What an element adds to dgamma.
template <class T>
ULPSCOPE_BODY T dgamma_term(T x, T dy, T mean, T rstd) {
  return dy * ((x - mean) * rstd);
}

template <class T, class Team, class Run>
ULPSCOPE_BODY ChannelGradients<T> channel_gradients(const Team& team, std::int64_t rows, std::int64_t length,
                                                    T* partial, Run run, T mean, T rstd) {
  const T dbeta =
      channel_sum<T>(team, rows, length, partial, run, [=](RunPair<T> in, std::int64_t i) { return in.dy[i]; });
  const T dgamma = channel_sum<T>(team, rows, length, partial, run,
                                  [=](RunPair<T> in, std::int64_t i) { return dgamma_term(in.x[i], in.dy[i], mean, rstd); });
  return {dgamma, dbeta};
}

/// factor: gamma * rstd
template <class T>
ULPSCOPE_BODY T batch_norm_backward_element(T x, T dy, T mean, T rstd, T factor, T mean_dy, T mean_dyx) {
  return factor * (dy - mean_dy - (x - mean) * rstd * mean_dyx);
}

/// dx = gamma * rstd * (dy - mean(dy) - xhat * mean(dy * xhat)) for one run. dx may be dy.
template <class T, class Team>
ULPSCOPE_BODY void batch_norm_backward_run(const Team& team, RunPair<T> in, T mean, T rstd, T gamma, T mean_dy,
                                           T mean_dyx, T* dx, std::int64_t n) {
  const T factor = gamma * rstd;
  team.each(n, [=](std::int64_t i) {
    dx[i] = batch_norm_backward_element(in.x[i], in.dy[i], mean, rstd, factor, mean_dy, mean_dyx);
  });
}

}  // namespace ulpscope
