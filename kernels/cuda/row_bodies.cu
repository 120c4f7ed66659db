// A compile check, as elementwise_bodies.cu: every row-wise, reducing and counting body of kernels/ops inside a
// __global__ function, for float and double. Not linked into any program.
#include <cstdint>

#include "kernels/cuda/block_team.cuh"
#include "kernels/ops/batch_norm.h"
#include "kernels/ops/causal_mask.h"
#include "kernels/ops/cross_entropy.h"
#include "kernels/ops/embedding.h"
#include "kernels/ops/layer_norm.h"
#include "kernels/ops/losses.h"
#include "kernels/ops/masks.h"
#include "kernels/ops/reductions.h"
#include "kernels/ops/rms_norm.h"
#include "kernels/ops/rotary.h"
#include "kernels/ops/round_and_count.h"
#include "kernels/ops/softmax.h"
#include "kernels/ops/team.h"
#include "kernels/ops/unscale.h"
#include "kernels/ops/window.h"

namespace ulpscope::cuda {

template <class T>
__global__ void softmax_kernel(const T* x, T* y, std::int64_t n) {
  __shared__ T scratch[block_threads];
  softmax_row(BlockTeam<T>{scratch}, x + blockIdx.x * n, y + blockIdx.x * n, n);
}

template <class T>
__global__ void softmax_backward_kernel(const T* y, const T* dy, T* dx, std::int64_t n) {
  __shared__ T scratch[block_threads];
  softmax_backward_row(BlockTeam<T>{scratch}, y + blockIdx.x * n, dy + blockIdx.x * n, dx + blockIdx.x * n, n);
}

template <class T>
__global__ void causal_mask_kernel(const T* x, T* y, std::int64_t queries, std::int64_t keys, T value) {
  __shared__ T scratch[block_threads];
  causal_mask_row(BlockTeam<T>{scratch}, x + blockIdx.x * keys, y + blockIdx.x * keys, blockIdx.x % queries, queries,
                  keys, value);
}

template <class T>
__global__ void layer_norm_kernel(const T* x, const T* gamma, const T* beta, T* y, T* mean, T* rstd, std::int64_t n,
                                  T epsilon) {
  __shared__ T scratch[block_threads];
  const Moments<T> moments =
      layer_norm_row(BlockTeam<T>{scratch}, x + blockIdx.x * n, gamma, beta, y + blockIdx.x * n, n, epsilon);
  if (threadIdx.x != 0) return;
  mean[blockIdx.x] = moments.mean;
  rstd[blockIdx.x] = moments.rstd;
}

template <class T>
__global__ void layer_norm_backward_kernel(const T* x, const T* gamma, const T* mean, const T* rstd, const T* dy, T* dx,
                                           std::int64_t n) {
  __shared__ T scratch[block_threads];
  layer_norm_backward_row(BlockTeam<T>{scratch}, x + blockIdx.x * n, gamma,
                          Moments<T>{mean[blockIdx.x], rstd[blockIdx.x]}, dy + blockIdx.x * n, dx + blockIdx.x * n, n);
}

template <class T>
__global__ void cross_entropy_kernel(const T* logits, const std::int32_t* target, T* loss, T* lse, std::int64_t n) {
  __shared__ T scratch[block_threads];
  const std::int32_t own = target[blockIdx.x];
  const CrossEntropy<T> result = own < 0 ? ignored_row(BlockTeam<T>{scratch}, logits + blockIdx.x * n, n)
                                         : cross_entropy_row(BlockTeam<T>{scratch}, logits + blockIdx.x * n, own, n, T(0.1));
  if (threadIdx.x != 0) return;
  loss[blockIdx.x] = result.loss;
  lse[blockIdx.x] = result.log_sum_exp;
}

template <class T>
__global__ void cross_entropy_backward_kernel(const T* logits, const std::int32_t* target, const T* lse, T scale,
                                              T* dlogits, std::int64_t n) {
  __shared__ T scratch[block_threads];
  cross_entropy_backward_row(BlockTeam<T>{scratch}, logits + blockIdx.x * n, target[blockIdx.x], target[blockIdx.x] < 0,
                             lse[blockIdx.x], scale, T(0.1), dlogits + blockIdx.x * n, n);
}

template <class T>
__global__ void rms_norm_kernel(const T* x, const T* gamma, const T* dy, T* y, T* dx, T* rstd, std::int64_t n, T epsilon) {
  __shared__ T scratch[block_threads];
  const BlockTeam<T> team{scratch};
  const T own = rms_norm_row(team, x + blockIdx.x * n, gamma, y + blockIdx.x * n, n, epsilon);
  rms_norm_backward_row(team, x + blockIdx.x * n, gamma, own, dy + blockIdx.x * n, dx + blockIdx.x * n, n);
  if (threadIdx.x == 0) rstd[blockIdx.x] = own;
}

template <class T>
__global__ void rotary_kernel(const T* x, T* cosine, T* sine, T* y, std::int64_t depth, double ratio) {
  __shared__ T scratch[block_threads];
  for (std::int64_t i = threadIdx.x; i < depth / 2; i += block_threads) {
    const Rotation<T> r = rotation<T>(ratio, blockIdx.x, i);
    cosine[i] = r.cosine;
    sine[i] = r.sine;
  }
  __syncthreads();
  rotary_row(BlockTeam<T>{scratch}, x + blockIdx.x * depth, static_cast<const T*>(cosine), static_cast<const T*>(sine), false,
             y + blockIdx.x * depth, depth);
}

/// One block for each channel of x [rows, channels, n].
template <class T>
__global__ void batch_norm_kernel(const T* x, const T* dy, T* y, T* dx, T* partial, std::int64_t rows, std::int64_t n) {
  __shared__ T scratch[block_threads];
  const BlockTeam<T> team{scratch};
  const std::int64_t channels = gridDim.x, channel = blockIdx.x;
  T* own = partial + channel * rows;
  const auto run = [=](std::int64_t r) { return x + (r * channels + channel) * n; };
  const auto pair = [=](std::int64_t r) {
    return RunPair<T>{x + (r * channels + channel) * n, dy + (r * channels + channel) * n};
  };
  const ChannelMoments<T> m = channel_moments<T>(team, rows, n, own, run, T(1e-5));
  const ChannelGradients<T> g = channel_gradients<T>(team, rows, n, own, pair, m.mean, m.rstd);
  for (std::int64_t r = 0; r < rows; ++r) {
    batch_norm_run(team, run(r), m.mean, m.rstd, T(1), T(0), y + (r * channels + channel) * n, n);
    batch_norm_backward_run(team, pair(r), m.mean, m.rstd, T(1), g.dbeta, g.dgamma, dx + (r * channels + channel) * n, n);
  }
}

/// One thread for each plane.
template <class T>
__global__ void window_kernel(const T* x, T* y, T* sum, std::int32_t* index, const Window* window, Planes planes) {
  const Span h = covered(*window, 0, threadIdx.x, planes.height), w = covered(*window, 1, blockIdx.x, planes.width);
  const Greatest<T> best = window_max(x, planes.width, h, w);
  y[0] = best.value;
  index[0] = best.index;
  sum[0] = window_sum(x, planes.width, h, w);
  gather_tap(x, planes, *window, 0, 0, y);
  scatter_tap(static_cast<const T*>(y), planes, *window, 0, 0, sum);
  index[1] = compare_index(index[0], CompareParams{});
}

/// Chunks of the sums along elements: sum, squares, squared differences.
template <class T>
__global__ void sums_kernel(const T* a, const T* b, std::int64_t n, T* result) {
  __shared__ T scratch[block_threads];
  const BlockTeam<T> team{scratch};
  const T sum = team.template sum<T>(n, [=](std::int64_t i) { return SumTerm<T>{}(a[i]); });
  const T squares = team.template sum<T>(n, [=](std::int64_t i) { return SquareTerm<T>{}(a[i]); });
  const T differences = team.template sum<T>(n, [=](std::int64_t i) { return SquaredDifferenceTerm<T>{}(a[i], b[i]); });
  if (threadIdx.x != 0) return;
  result[0] = sum;
  result[1] = squares;
  result[2] = differences;
  result[5] = team.template sum<T>(n, [=](std::int64_t i) { return BceWithLogitsTerm<T>{}(a[i], b[i]); });
  result[6] = team.template sum<T>(n, [=](std::int64_t i) { return AbsoluteDifferenceTerm<T>{}(a[i], b[i]); });
  result[3] = clip_coefficient(math::sqrt(squares), T(1));
  result[4] = SerialTeam{}.sum<T>(n, [=](std::int64_t i) { return a[i]; });
}

/// One thread for each column.
template <class T>
__global__ void columns_kernel(const T* x, const T* dy, T* sum, T* dgamma, T* dbeta, std::int64_t chunks,
                               std::int64_t n) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (std::int64_t row = 0; row < chunks * column_chunk_rows; ++row) {
    T* place = sum + row / column_chunk_rows * n + i;
    add_row(x + row * n + i, 1, place);
    rms_norm_add_weight_gradients(x + row * n + i, dy + row * n + i, T(1), 1, dgamma + i);
    layer_norm_add_weight_gradients(x + row * n + i, dy + row * n + i, Moments<T>{T(0), T(1)}, 1, dgamma + i,
                                    dbeta + i);
  }
  fold_column_chunks(sum + i, chunks, n, 1);
}

__global__ void sort_kernel(const std::int32_t* index, std::int64_t n, std::int64_t rows, std::int64_t* start,
                            std::int64_t* position) {
  sort_positions(index, n, rows, start, position);
}

template <class T>
__global__ void count_kernel(const T* before, const T* after, int n, T least_normal, RoundingTally* tally) {
  begin_tally(*tally, RoundingCounts{});
  count_block(before, after, n, least_normal, *tally);
  finish_tally(*tally);
  merge_counts(tally->counts, tally->counts);
  count_range(before, n, least_normal, *tally);
}

#define ULPSCOPE_INSTANTIATE(T)                                                                                \
  template __global__ void softmax_kernel<T>(const T*, T*, std::int64_t);                                      \
  template __global__ void softmax_backward_kernel<T>(const T*, const T*, T*, std::int64_t);                   \
  template __global__ void causal_mask_kernel<T>(const T*, T*, std::int64_t, std::int64_t, T);                 \
  template __global__ void layer_norm_kernel<T>(const T*, const T*, const T*, T*, T*, T*, std::int64_t, T);    \
  template __global__ void layer_norm_backward_kernel<T>(const T*, const T*, const T*, const T*, const T*, T*, \
                                                         std::int64_t);                                        \
  template __global__ void cross_entropy_kernel<T>(const T*, const std::int32_t*, T*, T*, std::int64_t);       \
  template __global__ void cross_entropy_backward_kernel<T>(const T*, const std::int32_t*, const T*, T, T*,    \
                                                            std::int64_t);                                     \
  template __global__ void rms_norm_kernel<T>(const T*, const T*, const T*, T*, T*, T*, std::int64_t, T);      \
  template __global__ void rotary_kernel<T>(const T*, T*, T*, T*, std::int64_t, double);                       \
  template __global__ void batch_norm_kernel<T>(const T*, const T*, T*, T*, T*, std::int64_t, std::int64_t);   \
  template __global__ void window_kernel<T>(const T*, T*, T*, std::int32_t*, const Window*, Planes);           \
  template __global__ void sums_kernel<T>(const T*, const T*, std::int64_t, T*);                               \
  template __global__ void columns_kernel<T>(const T*, const T*, T*, T*, T*, std::int64_t, std::int64_t);      \
  template __global__ void count_kernel<T>(const T*, const T*, int, T, RoundingTally*);
ULPSCOPE_INSTANTIATE(float)
ULPSCOPE_INSTANTIATE(double)
#undef ULPSCOPE_INSTANTIATE

}  // namespace ulpscope::cuda
