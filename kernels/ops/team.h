// Who runs a row body: the way its elements are walked and reduced. The bodies are templates on a team, so that the
// same source is one thread's loop on the CPU and a block's work on a GPU (kernels/cuda), with the same bits: every
// reduction goes along the tree of math/reduction_tree.h, whose 256 lanes are a block's 256 threads.
//
// A team offers
//   each(n, f)      f(i) for every i in [0, n), in any order
//   sum<T>(n, f)    f(i) is called once for every i; the sum along the tree, known to every member
//   max<T>(n, f)    likewise the greatest; NaN if there is one
// and between two calls every member sees what the others wrote.
#pragma once

#include <cstdint>

#include "kernels/math/reduction_tree.h"
#include "kernels/portable.h"

// The iterations of the next loop do not depend on each other, although its pointers may be equal (in-place
// operations).
#if defined(__CUDACC__)
#define ULPSCOPE_INDEPENDENT_ITERATIONS
#else
#define ULPSCOPE_INDEPENDENT_ITERATIONS _Pragma("GCC ivdep")
#endif

namespace ulpscope {

/// One thread.
struct SerialTeam {
  template <class F>
  ULPSCOPE_MEMBER void each(std::int64_t n, F f) const {
    ULPSCOPE_INDEPENDENT_ITERATIONS
    for (std::int64_t i = 0; i < n; ++i) f(i);
  }
  template <class T, class F>
  ULPSCOPE_MEMBER T sum(std::int64_t n, F f) const {
    return math::tree_sum<T>(n, f);
  }
  template <class T, class F>
  ULPSCOPE_MEMBER T max(std::int64_t n, F f) const {
    return math::tree_max<T>(n, f);
  }
};

}  // namespace ulpscope
