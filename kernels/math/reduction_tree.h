// The reduction tree: the one order in which this program adds up numbers. Its shape depends on the length alone, never
// on threads, vector width or device, so a sum has the same bits everywhere.
//
//   A run of at most 16384 elements (a chunk) is summed by 256 lanes: lane l adds the elements l, l + 256, l + 512 … in
//   ascending order; then the lanes are folded by halving, lane[i] += lane[i + w] for w = 128, 64, … 1 (with fewer than
//   256 elements from half the next power of two). A longer run is cut into chunks, whose sums are summed by the same
//   rule.
//
// A lane without elements holds -0.0, the one number that changes nothing when added, so runs of any length fold alike
// and a sum of nothing but -0.0 is -0.0. The sum of no elements is +0.0. Longest run: 2^42 elements.
//
// For threads: reduce each chunk with tree_chunk_sum, keep the partial results in chunk order, finish with
// tree_fold_sum:
//
//   partial[c] = tree_chunk_sum<float>(tree_chunk_length(n, c), [&](std::int64_t i) { return x[c * tree_chunk + i]; });
//   total = tree_fold_sum<float>(tree_chunks(n), partial);      // == tree_sum<float>(n, …), bit for bit
#pragma once

#include <cstdint>

#include "kernels/portable.h"

namespace ulpscope::math {

inline constexpr std::int64_t tree_lanes = 256;
inline constexpr std::int64_t tree_chunk = 16384;

struct TreeAdd {
  template <class T>
  ULPSCOPE_BODY T identity() {
    return static_cast<T>(-0.0);
  }
  template <class T>
  ULPSCOPE_BODY T empty() {
    return static_cast<T>(0.0);
  }
  template <class T>
  ULPSCOPE_BODY T combine(T a, T b) {
    return a + b;
  }
};

/// NaN wins over every number, as in torch.max.
struct TreeMax {
  template <class T>
  ULPSCOPE_BODY T identity() {
    return static_cast<T>(-__builtin_huge_val());
  }
  template <class T>
  ULPSCOPE_BODY T empty() {
    return identity<T>();
  }
  template <class T>
  ULPSCOPE_BODY T combine(T a, T b) {
    return (b > a) | (b != b) ? b : a;
  }
};

/// Number of chunks of a run of n elements, and the length of chunk c.
ULPSCOPE_BODY std::int64_t tree_chunks(std::int64_t n) { return (n + tree_chunk - 1) / tree_chunk; }
ULPSCOPE_BODY std::int64_t tree_chunk_length(std::int64_t n, std::int64_t c) {
  const std::int64_t left = n - c * tree_chunk;
  return left < tree_chunk ? left : tree_chunk;
}

/// Lanes in use for n elements: the least power of two that is at least min(n, 256).
ULPSCOPE_BODY std::int64_t tree_width(std::int64_t n) {
  std::int64_t width = 1;
  while (width < n && width < tree_lanes) width *= 2;
  return width;
}

/// Folds lane[0 … width) by halving; the result is in lane[0] and returned. width is a power of two.
template <class Op, class T>
ULPSCOPE_BODY T tree_fold_lanes(T* lane, std::int64_t width) {
  for (std::int64_t w = width / 2; w > 0; w /= 2)
    for (std::int64_t i = 0; i < w; ++i) lane[i] = Op::combine(lane[i], lane[i + w]);
  return lane[0];
}

/// One chunk, n <= 16384. load(i) returns element i.
template <class Op, class T, class Load>
ULPSCOPE_BODY T tree_chunk_reduce(std::int64_t n, Load load) {
  if (n <= 0) return Op::template empty<T>();
  T lane[tree_lanes];
  const std::int64_t width = tree_width(n);
  for (std::int64_t i = 0; i < width; ++i) lane[i] = Op::template identity<T>();
  std::int64_t base = 0;
  // Four elements of a lane at a time, in ascending order: the lanes are read and written a quarter as often.
  for (; base + 4 * tree_lanes <= n; base += 4 * tree_lanes)
    for (std::int64_t i = 0; i < tree_lanes; ++i) {
      T sum = Op::combine(lane[i], static_cast<T>(load(base + i)));
      sum = Op::combine(sum, static_cast<T>(load(base + tree_lanes + i)));
      sum = Op::combine(sum, static_cast<T>(load(base + 2 * tree_lanes + i)));
      lane[i] = Op::combine(sum, static_cast<T>(load(base + 3 * tree_lanes + i)));
    }
  for (; base < n; base += tree_lanes) {
    const std::int64_t count = n - base < tree_lanes ? n - base : tree_lanes;
    for (std::int64_t i = 0; i < count; ++i) lane[i] = Op::combine(lane[i], static_cast<T>(load(base + i)));
  }
  return tree_fold_lanes<Op>(lane, width);
}

/// Lanes that take one element after the other: for the results of chunks.
template <class Op, class T>
struct TreeLanes {
  T lane[tree_lanes];
  std::int64_t count;

  ULPSCOPE_MEMBER TreeLanes() : count(0) {}
  ULPSCOPE_MEMBER void add(T x) {
    const std::int64_t i = count % tree_lanes;
    lane[i] = count < tree_lanes ? x : Op::combine(lane[i], x);
    ++count;
  }
  /// Over all 256 lanes: those that took no element change nothing.
  ULPSCOPE_MEMBER T fold() {
    for (std::int64_t i = count; i < tree_lanes; ++i) lane[i] = Op::template identity<T>();
    count = 0;
    return tree_fold_lanes<Op>(lane, tree_lanes);
  }
};

/// The results of `chunks` chunks to the result of the whole run; result(c) is asked for each chunk once, in order.
template <class Op, class T, class Result>
ULPSCOPE_BODY T tree_reduce_chunks(std::int64_t chunks, Result result) {
  TreeLanes<Op, T> inner;
  TreeLanes<Op, T> outer;
  for (std::int64_t c = 0; c < chunks; ++c) {
    const T partial = result(c);
    if (chunks == 1) return partial;
    inner.add(partial);
    if (chunks > tree_chunk && inner.count == tree_chunk) outer.add(inner.fold());
  }
  if (chunks <= 0) return Op::template empty<T>();
  if (chunks <= tree_chunk) return inner.fold();
  if (inner.count > 0) outer.add(inner.fold());
  return outer.fold();
}

/// The same, the results of the chunks being in memory.
template <class Op, class T>
ULPSCOPE_BODY T tree_fold(std::int64_t chunks, const T* partial) {
  return tree_reduce_chunks<Op, T>(chunks, [=](std::int64_t c) { return partial[c]; });
}

/// A whole run, by one thread.
template <class Op, class T, class Load>
ULPSCOPE_BODY T tree_reduce(std::int64_t n, Load load) {
  return tree_reduce_chunks<Op, T>(tree_chunks(n), [=](std::int64_t c) {
    const std::int64_t begin = c * tree_chunk;
    return tree_chunk_reduce<Op, T>(tree_chunk_length(n, c), [=](std::int64_t i) { return load(begin + i); });
  });
}

template <class T, class Load>
ULPSCOPE_BODY T tree_sum(std::int64_t n, Load load) {
  return tree_reduce<TreeAdd, T>(n, load);
}
template <class T, class Load>
ULPSCOPE_BODY T tree_max(std::int64_t n, Load load) {
  return tree_reduce<TreeMax, T>(n, load);
}
template <class T, class Load>
ULPSCOPE_BODY T tree_chunk_sum(std::int64_t n, Load load) {
  return tree_chunk_reduce<TreeAdd, T>(n, load);
}
template <class T, class Load>
ULPSCOPE_BODY T tree_chunk_max(std::int64_t n, Load load) {
  return tree_chunk_reduce<TreeMax, T>(n, load);
}
template <class T>
ULPSCOPE_BODY T tree_fold_sum(std::int64_t chunks, const T* partial) {
  return tree_fold<TreeAdd, T>(chunks, partial);
}
template <class T>
ULPSCOPE_BODY T tree_fold_max(std::int64_t chunks, const T* partial) {
  return tree_fold<TreeMax, T>(chunks, partial);
}

}  // namespace ulpscope::math
