// The histogram of a block's binary exponents. Used by ops/round_and_count.h.
#pragma once

#include <cstdint>

#include "kernels/ops/count_patterns.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace ulpscope::counting {

/// Four copies of the histogram, so that equal exponents in a row do not wait for each other's store. The last bin
/// collects what is not in the histogram: zeros and non-finite values.
using HistogramBins = std::uint32_t[4][histogram_bins + 1];

/// The histogram's bin of a magnitude, given as bits.
ULPSCOPE_BODY std::int32_t bin_of(std::uint32_t magnitude) {
  const std::int32_t normal = static_cast<std::int32_t>(magnitude >> 23) - 127 - histogram_lowest_exponent;
  // A subnormal is a whole number of 2^-149; as a float that number shows its exponent.
  const std::uint32_t whole = float_bits(static_cast<float>(static_cast<std::int32_t>(magnitude)));
  const std::int32_t subnormal = static_cast<std::int32_t>(whole >> 23) - 127;
  const std::int32_t bin = magnitude < 0x00800000u ? subnormal : normal;
  return magnitude == 0 || magnitude >= Layout<float>::infinity ? histogram_bins : bin;
}
ULPSCOPE_BODY std::int32_t bin_of(std::uint64_t magnitude) {
  const std::int32_t exponent = static_cast<std::int32_t>(magnitude >> 52) - 1023 - histogram_lowest_exponent;
  const std::int32_t low = exponent < 0 ? 0 : exponent;
  const std::int32_t bin = low >= histogram_bins ? histogram_bins - 1 : low;
  return magnitude == 0 || magnitude >= Layout<double>::infinity ? histogram_bins : bin;
}

#if defined(__AVX512BW__)
/// Finite numbers that are not subnormal: their exponents, as stored, lie in [first, last] (or they are zero). Adds to `bins`.
ULPSCOPE_BODY void compare_exponents(const float* values, int n, int first, int last, std::uint32_t* bins) {
  alignas(64) std::uint8_t exponent[count_block_elements + 64];
  int bytes = 0;
  for (; bytes + 16 <= n; bytes += 16) {
    const __m512i word = _mm512_maskz_srli_epi32(0xffff, _mm512_castps_si512(_mm512_loadu_ps(values + bytes)), 23);
    _mm_store_si128(reinterpret_cast<__m128i*>(exponent + bytes), _mm512_maskz_cvtepi32_epi8(0xffff, word));
  }
  for (; bytes < n; ++bytes) exponent[bytes] = static_cast<std::uint8_t>(bits_of(values[bytes]) >> 23);
  for (; bytes % 64 != 0; ++bytes) exponent[bytes] = 255;
  for (int e = first; e <= last; ++e) {
    const __m512i wanted = _mm512_set1_epi8(static_cast<char>(e));
    std::uint64_t count = 0;
    for (int i = 0; i < bytes; i += 64)
      count += static_cast<std::uint64_t>(__builtin_popcountll(_mm512_cmpeq_epi8_mask(_mm512_load_si512(exponent + i), wanted)));
    bins[e - 127 - histogram_lowest_exponent] += static_cast<std::uint32_t>(count);
  }
}
#elif defined(__AVX2__)
ULPSCOPE_BODY void compare_exponents(const float* values, int n, int first, int last, std::uint32_t* bins) {
  alignas(32) std::uint8_t exponent[count_block_elements + 32];
  int bytes = 0;
  for (; bytes < n; ++bytes) exponent[bytes] = static_cast<std::uint8_t>(bits_of(values[bytes]) >> 23);
  for (; bytes % 32 != 0; ++bytes) exponent[bytes] = 255;
  for (int e = first; e <= last; ++e) {
    const __m256i wanted = _mm256_set1_epi8(static_cast<char>(e));
    __m256i count = _mm256_setzero_si256();  // at most 32 in a byte
    for (int i = 0; i < bytes; i += 32)
      count = _mm256_sub_epi8(count, _mm256_cmpeq_epi8(_mm256_load_si256(reinterpret_cast<const __m256i*>(exponent + i)), wanted));
    const __m256i sums = _mm256_sad_epu8(count, _mm256_setzero_si256());
    const __m128i half = _mm_add_epi64(_mm256_castsi256_si128(sums), _mm256_extracti128_si256(sums, 1));
    bins[e - 127 - histogram_lowest_exponent] += static_cast<std::uint32_t>(_mm_extract_epi64(half, 0) + _mm_extract_epi64(half, 1));
  }
}
#endif

template <class T>
ULPSCOPE_BODY void count_exponents_one_by_one(const T* values, int n, HistogramBins& bins) {
  std::int32_t bin[count_block_elements];
  for (int i = 0; i < n; ++i) bin[i] = bin_of(bits_of(values[i]) & Layout<T>::magnitude);
  int i = 0;
  for (; i + 4 <= n; i += 4) {
    for (int copy = 0; copy < 4; ++copy) ++bins[copy][bin[i + copy]];
  }
  for (; i < n; ++i) ++bins[0][bin[i]];
}

/// The histogram of a block. Its exponents lie close together as a rule, and comparing all of them, as bytes, with each of a few is
/// cheaper than adding one to a bin for each element.
template <class T>
ULPSCOPE_BODY void count_exponents(const T* values, int n, const Extent<T>& extent, HistogramBins& bins) {
#if defined(__AVX2__)
  if constexpr (sizeof(T) == 4) {
    constexpr int most_compared = 28;  // from there on one by one is as fast
    const bool subnormal = extent.least < 0x00800000;
    const int first = static_cast<int>(extent.least >> 23), last = static_cast<int>(extent.greatest >> 23);
    if (!subnormal && last - first < most_compared && n >= 64) return compare_exponents(values, n, first, last, bins[0]);
  }
#endif
  static_cast<void>(extent);
  count_exponents_one_by_one(values, n, bins);
}

}  // namespace ulpscope::counting
