// The last step of an update: the new weight into its storage format.
#pragma once

#include <cstdint>

#include "kernels/formats/stochastic.h"
#include "kernels/formats/storage.h"
#include "kernels/math/random.h"
#include "kernels/ops/params.h"
#include "kernels/portable.h"
#include "kernels/step_state.h"

namespace ulpscope {

/// Random words of one update of one tensor.
struct UpdateStream {
  std::uint64_t key;
  std::int64_t iteration;

  static ULPSCOPE_MEMBER UpdateStream make(const UpdateNumerics& numerics, const StepState* state) {
    return {math::random_key(numerics.seed, numerics.key), state->iteration};
  }
  ULPSCOPE_MEMBER std::uint32_t word(std::int64_t element) const {
    return math::random_word(key, static_cast<std::uint64_t>(element), iteration, 0);
  }
};

/// x rounded up or down at random to fp16 or bf16, widened; other formats: unchanged (nothing narrower than the compute type).
template <class T>
ULPSCOPE_BODY T stochastically_rounded(Format format, T x, std::uint32_t random) {
  if (format == Format::fp16) return static_cast<T>(fp16_to_float(fp16_stochastic(static_cast<float>(x), random)));
  if (format == Format::bf16) return static_cast<T>(bf16_to_float(bf16_stochastic(static_cast<float>(x), random)));
  return x;
}

/// Whether a proposed update was rounded away: it is not zero, and the stored weight is what it was.
template <class T>
ULPSCOPE_BODY bool update_is_lost(T before, T after, T step, bool decays) {
  return (step != T(0) || (decays && before != T(0))) && after == before;
}

}  // namespace ulpscope
