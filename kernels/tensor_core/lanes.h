// The vectors of the product with a unit's sums: one lane for each column of the result. Included only by sources compiled once
// per instruction set.
#pragma once

#include <cstdint>
#include <cstring>

#include "kernels/portable.h"

namespace ulpscope::tensor_core::ULPSCOPE_ISA {
namespace {

#if defined(__AVX512F__)
#define ULPSCOPE_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define ULPSCOPE_VECTOR_BYTES 32
#else
#define ULPSCOPE_VECTOR_BYTES 16
#endif

constexpr int lanes = ULPSCOPE_VECTOR_BYTES / 4;
constexpr int half_lanes = lanes / 2;
typedef float Floats __attribute__((vector_size(ULPSCOPE_VECTOR_BYTES)));
typedef std::int32_t Ints __attribute__((vector_size(ULPSCOPE_VECTOR_BYTES)));
typedef std::uint32_t Words __attribute__((vector_size(ULPSCOPE_VECTOR_BYTES)));  // sums wrap where a lane is given up
typedef double Doubles __attribute__((vector_size(ULPSCOPE_VECTOR_BYTES)));       // of half the lanes
typedef std::int64_t Longs __attribute__((vector_size(ULPSCOPE_VECTOR_BYTES)));
typedef float HalfFloats __attribute__((vector_size(ULPSCOPE_VECTOR_BYTES / 2)));
typedef std::int32_t HalfInts __attribute__((vector_size(ULPSCOPE_VECTOR_BYTES / 2)));

#undef ULPSCOPE_VECTOR_BYTES

template <class V>
ULPSCOPE_BODY V load(const void* from) {
  V v;
  __builtin_memcpy(&v, from, sizeof v);
  return v;
}
template <class V>
ULPSCOPE_BODY void store(void* to, const V& v) {
  __builtin_memcpy(to, &v, sizeof v);
}
/// The same bits as another vector.
template <class To, class From>
ULPSCOPE_BODY To as(const From& v) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  __builtin_memcpy(&to, &v, sizeof to);
  return to;
}
template <class V>
ULPSCOPE_BODY V greater(const V& a, const V& b) {
  return a > b ? a : b;
}
ULPSCOPE_BODY Ints ints(std::int32_t x) { return Ints{} + x; }
ULPSCOPE_BODY Longs longs(std::int64_t x) { return Longs{} + x; }
ULPSCOPE_BODY Doubles doubles(double x) { return Doubles{} + x; }

/// Whether any bit is set.
template <class V>
ULPSCOPE_BODY bool any(const V& v) {
  const Longs x = as<Longs>(v);
  std::int64_t all = 0;
  for (int i = 0; i < half_lanes; ++i) all |= x[i];
  return all != 0;
}

}  // namespace
}  // namespace ulpscope::tensor_core::ULPSCOPE_ISA
