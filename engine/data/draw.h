// What every dataset draws and counts alike.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/data/dataset.h"
#include "kernels/math/random.h"

namespace ulpscope::engine {

/// A number in [0, count) from two words: the high half of a 64 x 64 bit product (bias below count * 2^-64).
inline std::int64_t draw_below(std::uint64_t key, std::uint64_t draw, const BatchKey& at, std::int64_t count) {
  const std::uint64_t low = math::random_word(key, 2 * draw, at.iteration, at.micro_batch);
  const std::uint64_t high = math::random_word(key, 2 * draw + 1, at.iteration, at.micro_batch);
  const auto product = static_cast<unsigned __int128>((high << 32) | low) * static_cast<std::uint64_t>(count);
  return static_cast<std::int64_t>(product >> 64);
}

/// How many of `total` a share is, rounded up. The tiny factor keeps an exact share exact: 0.3 of 10 is 3, not 4.
inline std::int64_t share_of(std::int64_t total, double share) {
  return static_cast<std::int64_t>(std::ceil(static_cast<double>(total) * share * (1.0 - 1e-12)));
}

/// FNV-1a, 64 bits; numbers in little-endian order.
class Fnv1a {
 public:
  void byte(std::uint8_t value) { hash_ = (hash_ ^ value) * 0x100000001b3u; }
  void bytes(std::span<const std::byte> values) {
    for (const std::byte value : values) byte(static_cast<std::uint8_t>(value));
  }
  void number(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) byte(static_cast<std::uint8_t>(value >> shift));
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325u;
};

}  // namespace ulpscope::engine
