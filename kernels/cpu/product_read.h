// Operands on their way into a product: read, widened, and rounded to what the multiplier sees.
// Included only by sources compiled once per instruction set.
#pragma once

#include "kernels/matmul_plan.h"
#include "kernels/cpu/product.h"
#include "kernels/cpu/product_vector.h"
#include "kernels/formats/tile.h"

namespace ulpscope::ULPSCOPE_ISA {
namespace {

/// What is read. Formats that training does not use go through `other`: correct, not fast.
enum class Reads { fp32, tf32, fp16, bf16, other };

ULPSCOPE_BODY Reads reads_of(const ProductSource& s) {
  const bool rounds = needs_rounding(s.format, s.multiply);
  if (s.format == Format::fp32 || s.format == Format::tf32) {
    if (!rounds) return Reads::fp32;
    return s.multiply == Format::tf32 ? Reads::tf32 : Reads::other;
  }
  if (rounds) return Reads::other;
  if (s.format == Format::fp16) return Reads::fp16;
  return s.format == Format::bf16 ? Reads::bf16 : Reads::other;
}

ULPSCOPE_BODY void round_to_multiply(Format multiply, float* x, std::int64_t n) {
  switch (multiply) {
    case Format::tf32:
      for (std::int64_t i = 0; i < n; ++i) x[i] = tf32_round(x[i]);
      return;
    case Format::fp16:
      for (std::int64_t i = 0; i < n; ++i) x[i] = fp16_to_float(fp16_from_float(x[i]));
      return;
    case Format::bf16:
      for (std::int64_t i = 0; i < n; ++i) x[i] = bf16_to_float(bf16_from_float(x[i]));
      return;
    default:
      return;
  }
}

ULPSCOPE_BODY const void* at(const ProductSource& s, std::int64_t element) {
  return static_cast<const unsigned char*>(s.data) + element * info(s.format).storage_bytes;
}

/// As tf32_round, ties away from zero.
ULPSCOPE_BODY Vector round_to_tf32(Vector v) {
#if defined(__AVX512F__)
  const __m512i bits = _mm512_castps_si512(v);
  const __m512i magnitude = _mm512_and_epi32(bits, _mm512_set1_epi32(0x7fffffff));
  const __m512i infinity = _mm512_set1_epi32(0x7f800000);
  __m512i x =
      _mm512_mask_add_epi32(bits, _mm512_cmplt_epi32_mask(magnitude, infinity), bits, _mm512_set1_epi32(0x1000));
  x = _mm512_mask_or_epi32(x, _mm512_cmpgt_epi32_mask(magnitude, infinity), x, _mm512_set1_epi32(0x00400000));
  return _mm512_castsi512_ps(_mm512_and_epi32(x, _mm512_set1_epi32(-0x2000)));
#elif defined(__AVX2__)
  const __m256i bits = _mm256_castps_si256(v);
  const __m256i magnitude = _mm256_and_si256(bits, _mm256_set1_epi32(0x7fffffff));
  const __m256i finite = _mm256_cmpgt_epi32(_mm256_set1_epi32(0x7f800000), magnitude);
  const __m256i nan = _mm256_cmpgt_epi32(magnitude, _mm256_set1_epi32(0x7f800000));
  __m256i x = _mm256_add_epi32(bits, _mm256_and_si256(finite, _mm256_set1_epi32(0x1000)));
  x = _mm256_or_si256(x, _mm256_and_si256(nan, _mm256_set1_epi32(0x00400000)));
  return _mm256_castsi256_ps(_mm256_and_si256(x, _mm256_set1_epi32(-0x2000)));
#else
  for (int i = 0; i < vector_length; ++i) v[i] = tf32_round(v[i]);
  return v;
#endif
}

template <Reads reads>
inline constexpr std::int64_t bytes_of = reads == Reads::fp16 || reads == Reads::bf16 ? 2 : 4;

/// vector_length neighbouring numbers as fp32.
template <Reads reads>
ULPSCOPE_BODY Vector read(const void* from) {
  if constexpr (reads == Reads::fp32 || reads == Reads::tf32) {
    const Vector v = load(static_cast<const float*>(from));
    if constexpr (reads == Reads::tf32) return round_to_tf32(v);
    return v;
  } else {
#if defined(__AVX512F__)
    const __m256i half = _mm256_loadu_si256(static_cast<const __m256i*>(from));
    if constexpr (reads == Reads::fp16) return _mm512_maskz_cvtph_ps(0xffff, half);
    const __m512i word = _mm512_maskz_cvtepu16_epi32(0xffff, half);
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, word, 16));
#elif defined(__AVX2__)
    const __m128i half = _mm_loadu_si128(static_cast<const __m128i*>(from));
    if constexpr (reads == Reads::fp16) return _mm256_cvtph_ps(half);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
#else
    const auto* half = static_cast<const std::uint16_t*>(from);
    Vector v;
    for (int i = 0; i < vector_length; ++i)
      v[i] = reads == Reads::fp16 ? fp16_to_float(half[i]) : bf16_to_float(half[i]);
    return v;
#endif
  }
}
template <Reads reads>
ULPSCOPE_BODY Vector read(const void* data, std::int64_t element) {
  return read<reads>(static_cast<const unsigned char*>(data) + element * bytes_of<reads>);
}

/// The first n <= vector_length of them, then zeros. Reads nothing beyond.
template <Reads reads>
ULPSCOPE_BODY Vector read_part(const void* data, std::int64_t element, std::int64_t n) {
  const unsigned char* from = static_cast<const unsigned char*>(data) + element * bytes_of<reads>;
  if constexpr (reads == Reads::fp32) return load_part(reinterpret_cast<const float*>(from), n);
  if constexpr (reads == Reads::tf32) return round_to_tf32(load_part(reinterpret_cast<const float*>(from), n));
#if defined(__AVX512F__)
  const __m256i half = _mm256_maskz_loadu_epi16(first_lanes(n), from);
  if constexpr (reads == Reads::fp16) return _mm512_maskz_cvtph_ps(0xffff, half);
  return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, _mm512_maskz_cvtepu16_epi32(0xffff, half), 16));
#else
  if (n == vector_length) return read<reads>(from);
  unsigned char line[vector_length * bytes_of<reads>] = {};
  for (std::int64_t i = 0; i < n * bytes_of<reads>; ++i) line[i] = from[i];
  return read<reads>(line);
#endif
}

/// n numbers, to be converted into `to`.
template <Reads reads>
inline void convert_numbers(const ProductSource& s, std::int64_t first, std::int64_t n, float* to) {
  if (n < vector_length) return store_part(to, read_part<reads>(s.data, first, n), n);
  for (std::int64_t i = 0; i + vector_length <= n; i += vector_length) store(to + i, read<reads>(s.data, first + i));
  // The end once more: the last vector overlaps the one before it.
  store(to + n - vector_length, read<reads>(s.data, first + n - vector_length));
}

/// n neighbouring numbers as fp32.
inline void convert_line(const ProductSource& s, std::int64_t first, std::int64_t n, float* to) {
  if (n == 0) return;
  switch (reads_of(s)) {
    case Reads::fp32:
      return convert_numbers<Reads::fp32>(s, first, n, to);
    case Reads::tf32:
      return convert_numbers<Reads::tf32>(s, first, n, to);
    case Reads::fp16:
      return convert_numbers<Reads::fp16>(s, first, n, to);
    case Reads::bf16:
      return convert_numbers<Reads::bf16>(s, first, n, to);
    case Reads::other:
      widen_tile(s.format, at(s, first), to, static_cast<std::size_t>(n));
      if (needs_rounding(s.format, s.multiply)) round_to_multiply(s.multiply, to, n);
  }
}

/// column[j] = number j of every line, for vector_length lines of vector_length numbers.
ULPSCOPE_BODY void transpose(const Vector* line, Vector* column) {
#if defined(__AVX512F__)
  __m512 r[16], t[16];
#pragma GCC unroll 8
  for (int i = 0; i < 8; ++i) {
    t[2 * i] = _mm512_maskz_unpacklo_ps(0xffff, line[2 * i], line[2 * i + 1]);
    t[2 * i + 1] = _mm512_maskz_unpackhi_ps(0xffff, line[2 * i], line[2 * i + 1]);
  }
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    const __m512d a = _mm512_castps_pd(t[4 * i]), b = _mm512_castps_pd(t[4 * i + 1]);
    const __m512d c = _mm512_castps_pd(t[4 * i + 2]), d = _mm512_castps_pd(t[4 * i + 3]);
    r[4 * i] = _mm512_castpd_ps(_mm512_maskz_unpacklo_pd(0xff, a, c));
    r[4 * i + 1] = _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(0xff, a, c));
    r[4 * i + 2] = _mm512_castpd_ps(_mm512_maskz_unpacklo_pd(0xff, b, d));
    r[4 * i + 3] = _mm512_castpd_ps(_mm512_maskz_unpackhi_pd(0xff, b, d));
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    const __m512 x0 = _mm512_maskz_shuffle_f32x4(0xffff, r[j], r[4 + j], 0x88);
    const __m512 x1 = _mm512_maskz_shuffle_f32x4(0xffff, r[j], r[4 + j], 0xdd);
    const __m512 y0 = _mm512_maskz_shuffle_f32x4(0xffff, r[8 + j], r[12 + j], 0x88);
    const __m512 y1 = _mm512_maskz_shuffle_f32x4(0xffff, r[8 + j], r[12 + j], 0xdd);
    column[j] = _mm512_maskz_shuffle_f32x4(0xffff, x0, y0, 0x88);
    column[4 + j] = _mm512_maskz_shuffle_f32x4(0xffff, x1, y1, 0x88);
    column[8 + j] = _mm512_maskz_shuffle_f32x4(0xffff, x0, y0, 0xdd);
    column[12 + j] = _mm512_maskz_shuffle_f32x4(0xffff, x1, y1, 0xdd);
  }
#elif defined(__AVX2__)
  __m256 t[8], r[8];
#pragma GCC unroll 4
  for (int i = 0; i < 4; ++i) {
    t[2 * i] = _mm256_unpacklo_ps(line[2 * i], line[2 * i + 1]);
    t[2 * i + 1] = _mm256_unpackhi_ps(line[2 * i], line[2 * i + 1]);
  }
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    r[4 * i] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0x44);
    r[4 * i + 1] = _mm256_shuffle_ps(t[4 * i], t[4 * i + 2], 0xee);
    r[4 * i + 2] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0x44);
    r[4 * i + 3] = _mm256_shuffle_ps(t[4 * i + 1], t[4 * i + 3], 0xee);
  }
#pragma GCC unroll 4
  for (int j = 0; j < 4; ++j) {
    column[j] = _mm256_permute2f128_ps(r[j], r[4 + j], 0x20);
    column[4 + j] = _mm256_permute2f128_ps(r[j], r[4 + j], 0x31);
  }
#else
  for (int j = 0; j < vector_length; ++j) column[j] = Vector{line[0][j], line[1][j], line[2][j], line[3][j]};
#endif
}

/// A square of vector_length numbers turned in registers: turned[i] = number i of each of vector_length columns, of
/// which `wide` columns and `deep` numbers exist; the others are zero.
template <Reads reads>
ULPSCOPE_BODY void read_turned(const ProductSource& b, std::int64_t from, std::int64_t deep, std::int64_t wide,
                               Vector* turned) {
  Vector line[vector_length];
  if (deep == vector_length && wide == vector_length) {
#pragma GCC unroll 16
    for (int j = 0; j < vector_length; ++j) line[j] = read<reads>(b.data, from + j * b.column_stride);
  } else {
    for (int j = 0; j < vector_length; ++j) {
      line[j] = j >= wide              ? zero()
                : deep < vector_length ? read_part<reads>(b.data, from + j * b.column_stride, deep)
                                       : read<reads>(b.data, from + j * b.column_stride);
    }
  }
  transpose(line, turned);
}
}  // namespace
}  // namespace ulpscope::ULPSCOPE_ISA
