// Conversion of a short contiguous run, to be inlined into kernels that are compiled once per instruction set. Nothing
// here has external linkage. The bits do not depend on the instruction set: where an instruction is used (F16C), the
// scalar functions of fp16.h give the same, NaN payloads included.
//
// Float formats only; i32 traps. C++ only: a CUDA thread converts its element with Storage<F>.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/formats/format.h"
#include "kernels/formats/storage.h"
#include "kernels/portable.h"

#if defined(__F16C__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

namespace ulpscope {

/// Elements that a kernel converts at a time: the buffers stay in the first-level cache.
inline constexpr std::size_t tile_elements = 256;

template <Format F, class T>
ULPSCOPE_BODY void widen_run(const typename Storage<F>::type* source, T* destination, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) destination[i] = static_cast<T>(Storage<F>::widen(source[i]));
}

template <Format F, class T>
ULPSCOPE_BODY void narrow_run(const T* source, typename Storage<F>::type* destination, std::size_t n) {
  for (std::size_t i = 0; i < n; ++i) destination[i] = Storage<F>::round(source[i]);
}

#if defined(__AVX512F__)
// With masks of ones: the plain intrinsics of GCC 12 warn of an uninitialised variable of their own.
ULPSCOPE_BODY void widen_fp16_16(const std::uint16_t* source, float* destination) {
  const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
  _mm512_storeu_ps(destination, _mm512_maskz_cvtph_ps(0xffff, half));
}
ULPSCOPE_BODY void narrow_fp16_16(const float* source, std::uint16_t* destination) {
  const __m256i half = _mm512_maskz_cvtps_ph(0xffff, _mm512_loadu_ps(source), _MM_FROUND_TO_NEAREST_INT);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(destination), half);
}
/// 16 rounded bf16 numbers in the upper halves of the words: what bf16_from_float computes.
ULPSCOPE_BODY __m512i round_bf16_16(const float* source) {
  const __m512 x = _mm512_loadu_ps(source);
  const __m512i bits = _mm512_castps_si512(x);
  const __m512i last = _mm512_and_si512(_mm512_maskz_srli_epi32(0xffff, bits, 16), _mm512_set1_epi32(1));
  const __m512i rounded = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), last);
  return _mm512_mask_or_epi32(rounded, _mm512_cmp_ps_mask(x, x, _CMP_UNORD_Q), bits, _mm512_set1_epi32(0x00400000));
}
#endif

#if defined(__AVX2__) && defined(__F16C__)
ULPSCOPE_BODY void widen_fp16_8(const std::uint16_t* source, float* destination) {
  _mm256_storeu_ps(destination, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(source))));
}
ULPSCOPE_BODY void narrow_fp16_8(const float* source, std::uint16_t* destination) {
  const __m128i half = _mm256_cvtps_ph(_mm256_loadu_ps(source), _MM_FROUND_TO_NEAREST_INT);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(destination), half);
}
/// 8 rounded bf16 numbers in the lower halves of the words.
ULPSCOPE_BODY __m256i round_bf16_8(const float* source) {
  const __m256 x = _mm256_loadu_ps(source);
  const __m256i bits = _mm256_castps_si256(x);
  const __m256i last = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i rounded = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), last);
  const __m256i nan = _mm256_or_si256(bits, _mm256_set1_epi32(0x00400000));
  const __m256i is_nan = _mm256_castps_si256(_mm256_cmp_ps(x, x, _CMP_UNORD_Q));
  return _mm256_srli_epi32(_mm256_blendv_epi8(rounded, nan, is_nan), 16);
}
ULPSCOPE_BODY void narrow_bf16_16(const float* source, std::uint16_t* destination) {
  // The pack works on halves of the register; the permutation puts its quarters in order.
  const __m256i packed = _mm256_packus_epi32(round_bf16_8(source), round_bf16_8(source + 8));
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(destination), _mm256_permute4x64_epi64(packed, 0xd8));
}
#endif

#if defined(__AVX2__) && defined(__F16C__) && !defined(__AVX512F__)
ULPSCOPE_BODY void widen_bf16_16(const std::uint16_t* source, float* destination) {
  const __m256i words = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(source));
  const __m256i x = _mm256_permute4x64_epi64(words, 0xd8);  // the unpacking works on halves of the register
  const __m256i zero = _mm256_setzero_si256();
  _mm256_storeu_ps(destination, _mm256_castsi256_ps(_mm256_unpacklo_epi16(zero, x)));
  _mm256_storeu_ps(destination + 8, _mm256_castsi256_ps(_mm256_unpackhi_epi16(zero, x)));
}

/// 16 floats without NaN among them, in half the instructions: the rounding is done on 16 words at a time. The upper
/// (lower) words of the first 8 floats come into the even places, those of the last 8 into the odd ones, for which loads
/// two bytes beside the floats do the shifting. Up goes a lower word above one half (0x8000), or at one half if the
/// upper word is odd. Returns whether some float was NaN, as a mask.
ULPSCOPE_BODY __m256 narrow_bf16_16_but_nan(const float* source, std::uint16_t* destination) {
  const auto* bytes = reinterpret_cast<const unsigned char*>(source);
  const __m256 first = _mm256_loadu_ps(source);
  const __m256 last = _mm256_loadu_ps(source + 8);
  const __m256i first_up = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + 2));
  const __m256i last_down = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(bytes + 30));
  const __m256i upper = _mm256_blend_epi16(first_up, _mm256_castps_si256(last), 0xaa);
  const __m256i lower = _mm256_blend_epi16(_mm256_castps_si256(first), last_down, 0xaa);
  const __m256i even = _mm256_andnot_si256(upper, _mm256_set1_epi16(1));
  const __m256i up = _mm256_cmpgt_epi16(_mm256_setzero_si256(), _mm256_subs_epu16(lower, even));
  const __m256i rounded = _mm256_sub_epi16(upper, up);
  const __m256i order = _mm256_setr_epi8(0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15,  //
                                         0, 1, 4, 5, 8, 9, 12, 13, 2, 3, 6, 7, 10, 11, 14, 15);
  const __m256i sorted = _mm256_permute4x64_epi64(_mm256_shuffle_epi8(rounded, order), 0xd8);
  _mm256_storeu_si256(reinterpret_cast<__m256i*>(destination), sorted);
  return _mm256_cmp_ps(first, last, _CMP_UNORD_Q);
}
ULPSCOPE_BODY void narrow_bf16_64(const float* source, std::uint16_t* destination) {
  __m256 nan = _mm256_setzero_ps();
#pragma GCC unroll 4
  for (std::size_t i = 0; i < 64; i += 16)
    nan = _mm256_or_ps(nan, narrow_bf16_16_but_nan(source + i, destination + i));
  if (__builtin_expect(_mm256_movemask_ps(nan) == 0, 1)) return;
  for (std::size_t i = 0; i < 64; i += 16) narrow_bf16_16(source + i, destination + i);
}
#endif

ULPSCOPE_BODY void widen_fp16_run(const std::uint16_t* source, float* destination, std::size_t n) {
  std::size_t i = 0;
#if defined(__AVX512F__)
  for (; i + 64 <= n; i += 64)
    for (std::size_t j = 0; j < 64; j += 16) widen_fp16_16(source + i + j, destination + i + j);
#endif
#if defined(__AVX2__) && defined(__F16C__)
  for (; i + 32 <= n; i += 32)
    for (std::size_t j = 0; j < 32; j += 8) widen_fp16_8(source + i + j, destination + i + j);
  for (; i + 8 <= n; i += 8) widen_fp16_8(source + i, destination + i);
#endif
  widen_run<Format::fp16>(source + i, destination + i, n - i);
}

ULPSCOPE_BODY void narrow_fp16_run(const float* source, std::uint16_t* destination, std::size_t n) {
  std::size_t i = 0;
#if defined(__AVX512F__)
  for (; i + 64 <= n; i += 64)
    for (std::size_t j = 0; j < 64; j += 16) narrow_fp16_16(source + i + j, destination + i + j);
#endif
#if defined(__AVX2__) && defined(__F16C__)
  for (; i + 32 <= n; i += 32)
    for (std::size_t j = 0; j < 32; j += 8) narrow_fp16_8(source + i + j, destination + i + j);
  for (; i + 8 <= n; i += 8) narrow_fp16_8(source + i, destination + i);
#endif
  narrow_run<Format::fp16>(source + i, destination + i, n - i);
}

ULPSCOPE_BODY void widen_bf16_run(const std::uint16_t* source, float* destination, std::size_t n) {
  std::size_t i = 0;
#if defined(__AVX2__) && defined(__F16C__) && !defined(__AVX512F__)  // 512 bits wide, the compiler's own is as good
  for (; i + 32 <= n; i += 32) {
    widen_bf16_16(source + i, destination + i);
    widen_bf16_16(source + i + 16, destination + i + 16);
  }
#endif
  widen_run<Format::bf16>(source + i, destination + i, n - i);
}

ULPSCOPE_BODY void narrow_bf16_run(const float* source, std::uint16_t* destination, std::size_t n) {
  std::size_t i = 0;
#if defined(__AVX512BW__)
  // The upper halves of 32 words, in order.
  const __m512i odd =
      _mm512_set_epi32(0x003f003d, 0x003b0039, 0x00370035, 0x00330031, 0x002f002d, 0x002b0029, 0x00270025, 0x00230021,
                       0x001f001d, 0x001b0019, 0x00170015, 0x00130011, 0x000f000d, 0x000b0009, 0x00070005, 0x00030001);
  for (; i + 32 <= n; i += 32)
    _mm512_storeu_si512(destination + i,
                        _mm512_permutex2var_epi16(round_bf16_16(source + i), odd, round_bf16_16(source + i + 16)));
#endif
#if defined(__AVX2__) && defined(__F16C__) && !defined(__AVX512F__)
  for (; i + 64 <= n; i += 64) narrow_bf16_64(source + i, destination + i);
#endif
#if defined(__AVX2__) && defined(__F16C__)
  for (; i + 16 <= n; i += 16) narrow_bf16_16(source + i, destination + i);
#endif
  narrow_run<Format::bf16>(source + i, destination + i, n - i);
}

/// n elements of a float format, from memory, to float. Source and destination do not overlap.
ULPSCOPE_BODY void widen_tile(Format from, const void* source, float* destination, std::size_t n) {
  const auto* words = static_cast<const std::uint16_t*>(source);
  const auto* bytes = static_cast<const std::uint8_t*>(source);
  switch (from) {
    case Format::fp32:
    case Format::tf32:
      if (n != 0) __builtin_memcpy(destination, source, n * sizeof(float));
      return;
    case Format::fp16:
      return widen_fp16_run(words, destination, n);
    case Format::bf16:
      return widen_bf16_run(words, destination, n);
    case Format::fp8_e4m3:
      return widen_run<Format::fp8_e4m3>(bytes, destination, n);
    case Format::fp8_e5m2:
      return widen_run<Format::fp8_e5m2>(bytes, destination, n);
    case Format::fp64:
      return widen_run<Format::fp64>(static_cast<const double*>(source), destination, n);
    case Format::i32:
      break;
  }
  __builtin_trap();
}

/// n floats, rounded once, to memory in a float format. Source and destination do not overlap, or are the same (fp32,
/// tf32).
ULPSCOPE_BODY void narrow_tile(Format to, const float* source, void* destination, std::size_t n) {
  auto* words = static_cast<std::uint16_t*>(destination);
  auto* bytes = static_cast<std::uint8_t*>(destination);
  switch (to) {
    case Format::fp32:
      if (n != 0) __builtin_memmove(destination, source, n * sizeof(float));
      return;
    case Format::tf32:
      return narrow_run<Format::tf32>(source, static_cast<float*>(destination), n);
    case Format::fp16:
      return narrow_fp16_run(source, words, n);
    case Format::bf16:
      return narrow_bf16_run(source, words, n);
    case Format::fp8_e4m3:
      return narrow_run<Format::fp8_e4m3>(source, bytes, n);
    case Format::fp8_e5m2:
      return narrow_run<Format::fp8_e5m2>(source, bytes, n);
    case Format::fp64:
      return narrow_run<Format::fp64>(source, static_cast<double*>(destination), n);
    case Format::i32:
      break;
  }
  __builtin_trap();
}

/// The same with double as the compute type (gradient checks): exact, and one rounding straight from double.
ULPSCOPE_BODY void widen_tile(Format from, const void* source, double* destination, std::size_t n) {
  const auto* words = static_cast<const std::uint16_t*>(source);
  const auto* bytes = static_cast<const std::uint8_t*>(source);
  switch (from) {
    case Format::fp32:
    case Format::tf32:
      return widen_run<Format::fp32>(static_cast<const float*>(source), destination, n);
    case Format::fp16:
      return widen_run<Format::fp16>(words, destination, n);
    case Format::bf16:
      return widen_run<Format::bf16>(words, destination, n);
    case Format::fp8_e4m3:
      return widen_run<Format::fp8_e4m3>(bytes, destination, n);
    case Format::fp8_e5m2:
      return widen_run<Format::fp8_e5m2>(bytes, destination, n);
    case Format::fp64:
      return widen_run<Format::fp64>(static_cast<const double*>(source), destination, n);
    case Format::i32:
      break;
  }
  __builtin_trap();
}
ULPSCOPE_BODY void narrow_tile(Format to, const double* source, void* destination, std::size_t n) {
  auto* words = static_cast<std::uint16_t*>(destination);
  auto* bytes = static_cast<std::uint8_t*>(destination);
  switch (to) {
    case Format::fp32:
      return narrow_run<Format::fp32>(source, static_cast<float*>(destination), n);
    case Format::tf32:
      return narrow_run<Format::tf32>(source, static_cast<float*>(destination), n);
    case Format::fp16:
      return narrow_run<Format::fp16>(source, words, n);
    case Format::bf16:
      return narrow_run<Format::bf16>(source, words, n);
    case Format::fp8_e4m3:
      return narrow_run<Format::fp8_e4m3>(source, bytes, n);
    case Format::fp8_e5m2:
      return narrow_run<Format::fp8_e5m2>(source, bytes, n);
    case Format::fp64:
      return narrow_run<Format::fp64>(source, static_cast<double*>(destination), n);
    case Format::i32:
      break;
  }
  __builtin_trap();
}

}  // namespace ulpscope
