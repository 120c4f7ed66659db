// Cross-entropy on logits, one row, and its gradient.
#pragma once

#include <cstdint>

#include "kernels/math/elementary.h"
#include "kernels/portable.h"

namespace ulpscope {

template <class T>
struct CrossEntropy {
  T loss;
  T log_sum_exp;
};

/// loss = log(sum exp(x - max)) - (x[target] - max). A row with a NaN, with +inf or with nothing but -inf gives NaN, as
/// in PyTorch; a target whose logit is -inf beside finite ones costs +inf. The target must be in [0, n). With smoothing s the
/// loss is (1 - s) times that plus s times its mean over all classes as targets (torch.nn.functional.cross_entropy).
template <class T, class Team>
ULPSCOPE_BODY CrossEntropy<T> cross_entropy_row(const Team& team, const T* logits, std::int32_t target, std::int64_t n,
                                                T smoothing) {
  const T greatest = team.template max<T>(n, [=](std::int64_t i) { return logits[i]; });
  const T sum = team.template sum<T>(n, [=](std::int64_t i) { return math::exp(logits[i] - greatest); });
  const T log_sum = math::log(sum);
  T loss = log_sum - (logits[target] - greatest);
  if (smoothing != T(0)) {
    const T mean = team.template sum<T>(n, [=](std::int64_t i) { return logits[i] - greatest; }) / static_cast<T>(n);
    loss = (T(1) - smoothing) * loss + smoothing * (log_sum - mean);
  }
  return {loss, greatest + log_sum};
}

/// What a row is when its target is ignored: it costs nothing.
template <class T, class Team>
ULPSCOPE_BODY CrossEntropy<T> ignored_row(const Team& team, const T* logits, std::int64_t n) {
  CrossEntropy<T> result = cross_entropy_row(team, logits, 0, n, T(0));
  result.loss = T(0);
  return result;
}

/// How many rows count.
ULPSCOPE_BODY std::int64_t counted_targets(const std::int32_t* target, std::int64_t rows, std::int32_t ignored) {
  std::int64_t count = 0;
  for (std::int64_t r = 0; r < rows; ++r) count += target[r] != ignored ? 1 : 0;
  return count;
}

/// dlogits[i] = (softmax[i] - (1 - s) [i == target] - s / n) * scale, softmax recomputed from log_sum_exp; scale = dloss /
/// counted rows. Zeros for an ignored row.
template <class T, class Team>
ULPSCOPE_BODY void cross_entropy_backward_row(const Team& team, const T* logits, std::int32_t target, bool ignored,
                                              T log_sum_exp, T scale, T smoothing, T* dlogits, std::int64_t n) {
  const T at_target = T(1) - smoothing;
  const T spread = smoothing / static_cast<T>(n);
  team.each(n, [=](std::int64_t i) {
    const T probability = math::exp(logits[i] - log_sum_exp) - spread;
    const T gradient = (i == target ? probability - at_target : probability) * scale;
    dlogits[i] = ignored ? T(0) : gradient;
  });
}

}  // namespace ulpscope
