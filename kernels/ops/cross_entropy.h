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
/// in PyTorch; a target whose logit is -inf beside finite ones costs +inf. The target must be in [0, n).
template <class T, class Team>
ULPSCOPE_BODY CrossEntropy<T> cross_entropy_row(const Team& team, const T* logits, std::int32_t target,
                                                std::int64_t n) {
  const T greatest = team.template max<T>(n, [=](std::int64_t i) { return logits[i]; });
  const T sum = team.template sum<T>(n, [=](std::int64_t i) { return math::exp(logits[i] - greatest); });
  const T log_sum = math::log(sum);
  return {log_sum - (logits[target] - greatest), greatest + log_sum};
}

/// dlogits[i] = (softmax[i] - [i == target]) * scale, softmax recomputed from log_sum_exp; scale = dloss / rows.
template <class T, class Team>
ULPSCOPE_BODY void cross_entropy_backward_row(const Team& team, const T* logits, std::int32_t target, T log_sum_exp,
                                              T scale, T* dlogits, std::int64_t n) {
  team.each(n, [=](std::int64_t i) {
    const T probability = math::exp(logits[i] - log_sum_exp);
    dlogits[i] = (i == target ? probability - T(1) : probability) * scale;
  });
}

}  // namespace ulpscope
