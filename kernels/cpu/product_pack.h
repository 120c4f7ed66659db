// Operands on their way into a product: widened, rounded to what the multiplier sees, and laid out for the register tile.
// Included only by sources compiled once per instruction set.
#pragma once

#include "kernels/cpu/matmul_plan.h"
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

/// n neighbouring numbers as fp32.
inline void convert_line(const ProductSource& s, std::int64_t first, std::int64_t n, float* to) {
  widen_tile(s.format, at(s, first), to, static_cast<std::size_t>(n));
  if (needs_rounding(s.format, s.multiply)) round_to_multiply(s.multiply, to, n);
}

/// vector_length neighbouring numbers as fp32.
template <Reads reads>
ULPSCOPE_BODY Vector read(const void* data, std::int64_t element) {
  if constexpr (reads == Reads::fp32 || reads == Reads::tf32) {
    Vector v = load(static_cast<const float*>(data) + element);
    if constexpr (reads == Reads::tf32) {
      float x[vector_length];
      store(x, v);
      for (int i = 0; i < vector_length; ++i) x[i] = tf32_round(x[i]);
      v = load(x);
    }
    return v;
  } else {
    const auto* from = static_cast<const std::uint16_t*>(data) + element;
#if defined(__AVX512F__)
    const __m256i half = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
    if constexpr (reads == Reads::fp16) return _mm512_maskz_cvtph_ps(0xffff, half);
    const __m512i word = _mm512_maskz_cvtepu16_epi32(0xffff, half);
    return _mm512_castsi512_ps(_mm512_maskz_slli_epi32(0xffff, word, 16));
#elif defined(__AVX2__)
    const __m128i half = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
    if constexpr (reads == Reads::fp16) return _mm256_cvtph_ps(half);
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(half), 16));
#else
    float x[vector_length];
    for (int i = 0; i < vector_length; ++i) {
      x[i] = reads == Reads::fp16 ? fp16_to_float(from[i]) : bf16_to_float(from[i]);
    }
    return load(x);
#endif
  }
}

/// to[column * stride + line] = line's number `column`, for vector_length lines of vector_length numbers.
ULPSCOPE_BODY void store_transposed(const Vector* line, float* to, std::int64_t stride) {
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
    store(to + j * stride, _mm512_maskz_shuffle_f32x4(0xffff, x0, y0, 0x88));
    store(to + (4 + j) * stride, _mm512_maskz_shuffle_f32x4(0xffff, x1, y1, 0x88));
    store(to + (8 + j) * stride, _mm512_maskz_shuffle_f32x4(0xffff, x0, y0, 0xdd));
    store(to + (12 + j) * stride, _mm512_maskz_shuffle_f32x4(0xffff, x1, y1, 0xdd));
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
    store(to + j * stride, _mm256_permute2f128_ps(r[j], r[4 + j], 0x20));
    store(to + (4 + j) * stride, _mm256_permute2f128_ps(r[j], r[4 + j], 0x31));
  }
#else
  for (int i = 0; i < vector_length; ++i)
    for (int j = 0; j < vector_length; ++j) to[j * stride + i] = line[i][j];
#endif
}

/// B's rows are contiguous.
template <Reads reads>
inline void pack_rows(const ProductSource& b, std::int64_t k0, std::int64_t length, std::int64_t column, float* to) {
  for (std::int64_t k = 0; k < length; ++k) {
    const std::int64_t from = (k0 + k) * b.row_stride + column;
#pragma GCC unroll 2
    for (int v = 0; v < tile_vectors; ++v)
      store(to + k * tile_columns + v * vector_length, read<reads>(b.data, from + v * vector_length));
  }
}

/// B's columns are contiguous: blocks of vector_length × vector_length are transposed in registers.
template <Reads reads>
inline std::int64_t pack_columns(const ProductSource& b, std::int64_t k0, std::int64_t length, std::int64_t column, float* to) {
  std::int64_t k = 0;
  for (; k + vector_length <= length; k += vector_length) {
#pragma GCC unroll 2
    for (int v = 0; v < tile_vectors; ++v) {
      Vector line[vector_length];
#pragma GCC unroll 16
      for (int j = 0; j < vector_length; ++j)
        line[j] = read<reads>(b.data, (column + v * vector_length + j) * b.column_stride + k0 + k);
      store_transposed(line, to + k * tile_columns + v * vector_length, tile_columns);
    }
  }
  return k;   // what is left is packed number by number
}

/// Any layout, any width: for edges and rare formats.
inline void pack_edge(const ProductSource& b, std::int64_t k0, std::int64_t first, std::int64_t length, std::int64_t column,
                      std::int64_t width, float* to) {
  if (first == length) return;
  if (b.column_stride == 1) {
    for (std::int64_t k = first; k < length; ++k) {
      float* line = to + k * tile_columns;
      convert_line(b, (k0 + k) * b.row_stride + column, width, line);
      for (std::int64_t j = width; j < tile_columns; ++j) line[j] = 0.0f;
    }
    return;
  }
  float line[deepest_block];
  for (std::int64_t j = 0; j < tile_columns; ++j) {
    if (j < width) convert_line(b, (k0 + first) * b.row_stride + (column + j) * b.column_stride, length - first, line);
    for (std::int64_t k = first; k < length; ++k) to[k * tile_columns + j] = j < width ? line[k - first] : 0.0f;
  }
}

template <Reads reads>
inline void pack_panel(const ProductSource& b, std::int64_t k0, std::int64_t length, std::int64_t column, std::int64_t width,
                       float* to) {
  std::int64_t done = 0;
  if constexpr (reads != Reads::other) {
    if (width == tile_columns && b.column_stride == 1) {
      pack_rows<reads>(b, k0, length, column, to);
      done = length;
    } else if (width == tile_columns && b.row_stride == 1) {
      done = pack_columns<reads>(b, k0, length, column, to);
    }
  }
  pack_edge(b, k0, done, length, column, width, to);
}

}  // namespace
}  // namespace ulpscope::ULPSCOPE_ISA
