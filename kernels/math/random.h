// The counter-based generator: Philox4x32-10 (Salmon, Moraes, Dror, Shaw: Parallel random numbers: as easy as 1, 2, 3;
// SC 2011; constants and known answers from Random123). A number depends on seed, stream, iteration, micro-batch and
// element index alone, so the same bits come out in every mode, for any number of threads and on every device.
#pragma once

#include <cstdint>
#include <string_view>

#include "kernels/math/elementary.h"
#include "kernels/portable.h"

namespace ulpscope::math {

struct Philox4x32 {
  std::uint32_t word[4];
};

/// Ten rounds. Counter and key as Random123 orders them.
ULPSCOPE_BODY Philox4x32 philox4x32_10(Philox4x32 counter, std::uint32_t key0, std::uint32_t key1) {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product0 = static_cast<std::uint64_t>(0xd2511f53u) * counter.word[0];
    const std::uint64_t product1 = static_cast<std::uint64_t>(0xcd9e8d57u) * counter.word[2];
    const Philox4x32 next = {
        {static_cast<std::uint32_t>(product1 >> 32) ^ counter.word[1] ^ key0, static_cast<std::uint32_t>(product1),
         static_cast<std::uint32_t>(product0 >> 32) ^ counter.word[3] ^ key1, static_cast<std::uint32_t>(product0)}};
    counter = next;
    key0 += 0x9e3779b9u;
    key1 += 0xbb67ae85u;
  }
  return counter;
}

/// One step of SplitMix64 (Steele, Lea, Flood 2014) from state x: a mixing of 64 bits.
ULPSCOPE_BODY std::uint64_t splitmix64(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15u;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

/// FNV-1a, 64 bits: the stream key of a name.
constexpr std::uint64_t hash_name(std::string_view name) {
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const char c : name) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
  return hash;
}

/// The generator's key for a seed and a stream (DropoutParams::key, hash_name(…)).
ULPSCOPE_BODY std::uint64_t random_key(std::uint64_t seed, std::uint64_t stream) {
  return splitmix64(seed ^ splitmix64(stream));
}

/// The four words of elements 4 * block … 4 * block + 3.
ULPSCOPE_BODY Philox4x32 random_block(std::uint64_t key, std::uint64_t block, std::int64_t iteration,
                                      std::int32_t micro_batch) {
  const Philox4x32 counter = {{static_cast<std::uint32_t>(block), static_cast<std::uint32_t>(block >> 32),
                               static_cast<std::uint32_t>(static_cast<std::uint64_t>(iteration)),
                               static_cast<std::uint32_t>(micro_batch)}};
  return philox4x32_10(counter, static_cast<std::uint32_t>(key), static_cast<std::uint32_t>(key >> 32));
}

/// The word of one element.
ULPSCOPE_BODY std::uint32_t random_word(std::uint64_t key, std::uint64_t index, std::int64_t iteration,
                                        std::int32_t micro_batch) {
  const Philox4x32 block = random_block(key, index >> 2, iteration, micro_batch);
  const std::uint32_t low = (index & 1u) != 0 ? block.word[1] : block.word[0];
  const std::uint32_t high = (index & 1u) != 0 ? block.word[3] : block.word[2];
  return (index & 2u) != 0 ? high : low;
}

/// [0, 1), a multiple of 2^-24.
ULPSCOPE_BODY float uniform_from_word(std::uint32_t word) {
  return static_cast<float>(static_cast<std::int32_t>(word >> 8)) * 0x1p-24f;
}
ULPSCOPE_BODY float random_uniform(std::uint64_t key, std::uint64_t index, std::int64_t iteration,
                                   std::int32_t micro_batch) {
  return uniform_from_word(random_word(key, index, iteration, micro_batch));
}

struct NormalPair {
  float first;
  float second;
};

/// Box–Muller: two independent standard normals from two words. The largest magnitude is sqrt(48 ln 2) = 5.77.
ULPSCOPE_BODY NormalPair normals_from_words(std::uint32_t word0, std::uint32_t word1) {
  const float open = static_cast<float>(static_cast<std::int32_t>((word0 >> 8) + 1u)) * 0x1p-24f;  // (0, 1]
  const float radius = math::sqrt(-2.0f * math::log(open));
  const float angle = 6.28318530717958648f * uniform_from_word(word1);
  return {radius * math::cos(angle), radius * math::sin(angle)};
}

/// Standard normal number of one element: elements 2k and 2k + 1 share a pair of words.
ULPSCOPE_BODY float random_normal(std::uint64_t key, std::uint64_t index, std::int64_t iteration,
                                  std::int32_t micro_batch) {
  const Philox4x32 block = random_block(key, index >> 2, iteration, micro_batch);
  const bool upper = (index & 2u) != 0;
  const NormalPair pair =
      normals_from_words(upper ? block.word[2] : block.word[0], upper ? block.word[3] : block.word[1]);
  return (index & 1u) != 0 ? pair.second : pair.first;
}

}  // namespace ulpscope::math
