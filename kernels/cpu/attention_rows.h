// Attention's work on rows of scores, between the products. Compiled once per instruction set.
#pragma once

#include <cstdint>

#include "kernels/formats/format.h"
#include "kernels/ops/dropout.h"

namespace ulpscope {

/// T is the compute type, float or double. Matrices are contiguous [queries, keys].
template <class T>
struct AttentionRows {
  /// scores become probabilities, in place: scaled, masked if causal (query i sees the keys up to i + keys - queries),
  /// softmax in T. visible: null, or 0 for a key that no query sees. A query that sees no key is NaN throughout, like a row
  /// of nothing but -inf. `row` holds `keys` numbers.
  void (*softmax)(T* scores, std::int64_t queries, std::int64_t keys, T scale, bool causal, const std::int32_t* visible,
                  T* row);
  /// dprobs becomes the gradient of the raw scores, in place: probs * (dprobs - sum of probs * dprobs) * scale, the sum
  /// along the reduction tree.
  void (*softmax_backward)(const T* probs, T* dprobs, std::int64_t queries, std::int64_t keys, T scale);
  /// factor[i] of elements first + i, i < n: 0 or 1 / (1 - rate).
  void (*dropout_factors)(const DropoutStream<T>& stream, std::int64_t first, T* factor, std::int64_t n);
  /// x[i] *= factor[i]
  void (*multiply)(T* x, const T* factor, std::int64_t n);
  /// x[i] rounded to the format, in place.
  void (*round)(T* x, std::int64_t n, Format format);
};

namespace portable {
template <class T>
const AttentionRows<T>& attention_rows();
}
#if defined(__x86_64__)
namespace avx2 {
template <class T>
const AttentionRows<T>& attention_rows();
}
namespace avx512 {
template <class T>
const AttentionRows<T>& attention_rows();
}
#endif

}  // namespace ulpscope
