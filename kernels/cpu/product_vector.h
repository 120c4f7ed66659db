// The vector of one instruction set and its multiply-add. Included only by sources compiled once per instruction set.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/portable.h"

#if defined(__AVX2__)
#include <immintrin.h>
#endif

namespace ulpscope::ULPSCOPE_ISA {
namespace {

#if defined(__AVX512F__)
constexpr int vector_length = 16;
constexpr int tile_rows = 14;    // 28 accumulators, 2 vectors of B, one broadcast: 31 of 32 registers
constexpr int narrow_rows = 14;  // of a tile with one vector of B
using Vector = __m512;
ULPSCOPE_BODY Vector zero() { return _mm512_setzero_ps(); }
ULPSCOPE_BODY Vector load(const float* p) { return _mm512_loadu_ps(p); }
ULPSCOPE_BODY void store(float* p, Vector v) { _mm512_storeu_ps(p, v); }
ULPSCOPE_BODY Vector broadcast(float x) { return _mm512_set1_ps(x); }
ULPSCOPE_BODY Vector multiply_add(Vector a, Vector b, Vector c) { return _mm512_fmadd_ps(a, b, c); }
ULPSCOPE_BODY __mmask16 first_lanes(std::int64_t n) { return static_cast<__mmask16>((1u << n) - 1u); }
/// The first n < vector_length numbers; the others are zero, or stay as they are in memory.
ULPSCOPE_BODY Vector load_part(const float* p, std::int64_t n) { return _mm512_maskz_loadu_ps(first_lanes(n), p); }
ULPSCOPE_BODY void store_part(float* p, Vector v, std::int64_t n) { _mm512_mask_storeu_ps(p, first_lanes(n), v); }
#elif defined(__AVX2__)
constexpr int vector_length = 8;
constexpr int tile_rows = 6;  // 12 accumulators, 2 vectors of B, one broadcast: 15 of 16 registers
constexpr int narrow_rows = 12;
using Vector = __m256;
ULPSCOPE_BODY Vector zero() { return _mm256_setzero_ps(); }
ULPSCOPE_BODY Vector load(const float* p) { return _mm256_loadu_ps(p); }
ULPSCOPE_BODY void store(float* p, Vector v) { _mm256_storeu_ps(p, v); }
ULPSCOPE_BODY Vector broadcast(float x) { return _mm256_set1_ps(x); }
ULPSCOPE_BODY Vector multiply_add(Vector a, Vector b, Vector c) { return _mm256_fmadd_ps(a, b, c); }
ULPSCOPE_BODY __m256i first_lanes(std::int64_t n) {
  const __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return _mm256_cmpgt_epi32(_mm256_set1_epi32(static_cast<int>(n)), lane);
}
ULPSCOPE_BODY Vector load_part(const float* p, std::int64_t n) { return _mm256_maskload_ps(p, first_lanes(n)); }
ULPSCOPE_BODY void store_part(float* p, Vector v, std::int64_t n) { _mm256_maskstore_ps(p, first_lanes(n), v); }
#else
constexpr int vector_length = 4;
constexpr int tile_rows = 4;  // 8 accumulators, 2 vectors of B
constexpr int narrow_rows = 8;
typedef float Vector __attribute__((vector_size(16)));
ULPSCOPE_BODY Vector zero() { return Vector{}; }
ULPSCOPE_BODY Vector load(const float* p) {
  Vector v;
  __builtin_memcpy(&v, p, sizeof v);
  return v;
}
ULPSCOPE_BODY void store(float* p, Vector v) { __builtin_memcpy(p, &v, sizeof v); }
ULPSCOPE_BODY Vector broadcast(float x) { return Vector{x, x, x, x}; }
ULPSCOPE_BODY Vector multiply_add(Vector a, Vector b, Vector c) { return a * b + c; }
ULPSCOPE_BODY Vector load_part(const float* p, std::int64_t n) {
  Vector v{};
  for (int i = 0; i < n; ++i) v[i] = p[i];
  return v;
}
ULPSCOPE_BODY void store_part(float* p, Vector v, std::int64_t n) {
  for (int i = 0; i < n; ++i) p[i] = v[i];
}
#endif

constexpr int tile_vectors = 2;
constexpr int tile_columns = tile_vectors * vector_length;

}  // namespace
}  // namespace ulpscope::ULPSCOPE_ISA
