// Dropout. The bits are keyed by seed, stream (a hash of the node's name), iteration, micro-batch and element index, so
// they do not depend on threads, device or mode, and the gradient finds the same mask again without storing it.
#pragma once

#include <cstdint>

#include "kernels/math/random.h"
#include "kernels/ops/params.h"
#include "kernels/portable.h"
#include "kernels/step_state.h"

namespace ulpscope {

/// What a mask is made from: one launch's share of the key, and what kept elements are multiplied by.
template <class T>
struct DropoutStream {
  std::uint64_t key;
  std::int64_t iteration;
  std::int32_t micro_batch;
  float rate;
  T keep;  ///< 1 / (1 - rate)
};

template <class T>
ULPSCOPE_BODY DropoutStream<T> dropout_stream(const DropoutParams& params, const StepState& state) {
  return {math::random_key(params.seed, params.key), state.iteration, state.micro_batch, params.rate,
          T(1) / (T(1) - static_cast<T>(params.rate))};
}

/// An element is kept if its uniform number in [0, 1) is not below the rate. The result is what it is multiplied by; a
/// dropped infinity becomes NaN, as in PyTorch, where dropout is a product with a mask too.
template <class T>
ULPSCOPE_BODY T dropout_factor(const DropoutStream<T>& stream, std::uint32_t word) {
  return math::uniform_from_word(word) >= stream.rate ? stream.keep : T(0);
}

/// The factor of one element.
template <class T>
ULPSCOPE_BODY T dropout_factor_at(const DropoutStream<T>& stream, std::int64_t index) {
  return dropout_factor(
      stream, math::random_word(stream.key, static_cast<std::uint64_t>(index), stream.iteration, stream.micro_batch));
}

/// The factors of elements [4 * first_block, 4 * (first_block + blocks)): four share a call of the generator.
template <class T>
ULPSCOPE_BODY void dropout_factors(const DropoutStream<T>& stream, std::int64_t first_block, int blocks, T* factor) {
  for (int b = 0; b < blocks; ++b) {
    const math::Philox4x32 random = math::random_block(stream.key, static_cast<std::uint64_t>(first_block + b),
                                                       stream.iteration, stream.micro_batch);
    factor[4 * b + 0] = dropout_factor(stream, random.word[0]);
    factor[4 * b + 1] = dropout_factor(stream, random.word[1]);
    factor[4 * b + 2] = dropout_factor(stream, random.word[2]);
    factor[4 * b + 3] = dropout_factor(stream, random.word[3]);
  }
}

/// One element at a time; kernels that own runs of elements use dropout_factors.
template <class T>
struct DropoutBody {
  static constexpr const char* operation = "dropout";
  DropoutStream<T> stream;

  static ULPSCOPE_MEMBER DropoutBody make(const void* params, const StepState* state, std::int64_t) {
    return {dropout_stream<T>(*static_cast<const DropoutParams*>(params), *state)};
  }
  ULPSCOPE_MEMBER T operator()(std::int64_t index, T x) const { return x * dropout_factor_at(stream, index); }
};

}  // namespace ulpscope
