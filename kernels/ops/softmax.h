// Softmax over one row, and its gradient. In the compute type T from end to end.
//
// A row body is run by a team (kernels/ops/team.h): one thread on the CPU, a block on a GPU. The team walks the row and
// reduces it along the one tree of math/reduction_tree.h, so both give the same bits.
#pragma once

#include <cstdint>

#include "kernels/math/elementary.h"
#include "kernels/portable.h"

namespace ulpscope {

/// y[i] = exp(x[i] - max) / sum of exp(x[j] - max). y may be x. A row with a NaN, with +inf, or with nothing but -inf
/// is NaN throughout, as in PyTorch; -inf beside finite values gives exactly 0.
template <class T, class Team>
ULPSCOPE_BODY void softmax_row(const Team& team, const T* x, T* y, std::int64_t n) {
  const T greatest = team.template max<T>(n, [=](std::int64_t i) { return x[i]; });
  const T sum = team.template sum<T>(n, [=](std::int64_t i) {
    const T e = math::exp(x[i] - greatest);
    y[i] = e;
    return e;
  });
  team.each(n, [=](std::int64_t i) { y[i] = y[i] / sum; });
}

/// dx[i] = y[i] * (dy[i] - sum of y[j] dy[j]); y is the output of softmax_row. dx may be dy.
template <class T, class Team>
ULPSCOPE_BODY void softmax_backward_row(const Team& team, const T* y, const T* dy, T* dx, std::int64_t n) {
  const T sum = team.template sum<T>(n, [=](std::int64_t i) { return y[i] * dy[i]; });
  team.each(n, [=](std::int64_t i) { dx[i] = y[i] * (dy[i] - sum); });
}

}  // namespace ulpscope
