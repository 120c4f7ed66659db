// Counts that agree to the bit, sums of doubles too.
#pragma once

#include <cstddef>
#include <cstring>

#include "kernels/ops/rounding_counts.h"

namespace ulpscope::test {

inline bool same_counts(const RoundingCounts& a, const RoundingCounts& b) {
  constexpr std::size_t begin = offsetof(RoundingCounts, elements);   // what is before has padding
  const auto rest = [](const RoundingCounts& c) { return reinterpret_cast<const char*>(&c) + begin; };
  return a.range_only == b.range_only && std::memcmp(rest(a), rest(b), sizeof a - begin) == 0;
}

}  // namespace ulpscope::test
