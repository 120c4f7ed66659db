// How an element of each float format is kept in memory, read and written: what a kernel body is instantiated with.
//
//   Storage<F>::type               the element in memory (tf32: a float whose lower bits are zero)
//   Storage<F>::widen(type)        its value, as float (fp64: as double); exact
//   Storage<F>::round(float)       one rounding to nearest (ties to even; tf32: ties away); from double likewise,
//   rounded once
//
// fp8 does not saturate here (nosat): an overflow is to be seen. FormatInfo::overflow_threshold says the same.
#pragma once

#include <cstdint>

#include "kernels/formats/bf16.h"
#include "kernels/formats/format.h"
#include "kernels/formats/fp16.h"
#include "kernels/formats/fp8.h"
#include "kernels/formats/tf32.h"
#include "kernels/portable.h"

namespace ulpscope {

template <Format F>
struct Storage;

template <>
struct Storage<Format::fp32> {
  using type = float;
  ULPSCOPE_BODY float widen(float x) { return x; }
  ULPSCOPE_BODY float round(float x) { return x; }
  ULPSCOPE_BODY float round(double x) { return static_cast<float>(x); }
};

template <>
struct Storage<Format::fp64> {
  using type = double;
  ULPSCOPE_BODY double widen(double x) { return x; }
  ULPSCOPE_BODY double round(float x) { return static_cast<double>(x); }
  ULPSCOPE_BODY double round(double x) { return x; }
};

template <>
struct Storage<Format::tf32> {
  using type = float;
  ULPSCOPE_BODY float widen(float x) { return x; }
  ULPSCOPE_BODY float round(float x) { return tf32_round(x); }
  ULPSCOPE_BODY float round(double x) { return tf32_from_double(x); }
};

template <>
struct Storage<Format::fp16> {
  using type = std::uint16_t;
  ULPSCOPE_BODY float widen(std::uint16_t x) { return fp16_to_float(x); }
  ULPSCOPE_BODY std::uint16_t round(float x) { return fp16_from_float(x); }
  ULPSCOPE_BODY std::uint16_t round(double x) { return fp16_from_double(x); }
};

template <>
struct Storage<Format::bf16> {
  using type = std::uint16_t;
  ULPSCOPE_BODY float widen(std::uint16_t x) { return bf16_to_float(x); }
  ULPSCOPE_BODY std::uint16_t round(float x) { return bf16_from_float(x); }
  ULPSCOPE_BODY std::uint16_t round(double x) { return bf16_from_double(x); }
};

template <>
struct Storage<Format::fp8_e4m3> {
  using type = std::uint8_t;
  ULPSCOPE_BODY float widen(std::uint8_t x) { return fp8_e4m3_to_float(x); }
  ULPSCOPE_BODY std::uint8_t round(float x) { return fp8_e4m3_from_float(x, Fp8Saturation::nosat); }
  ULPSCOPE_BODY std::uint8_t round(double x) { return fp8_e4m3_from_double(x, Fp8Saturation::nosat); }
};

template <>
struct Storage<Format::fp8_e5m2> {
  using type = std::uint8_t;
  ULPSCOPE_BODY float widen(std::uint8_t x) { return fp8_e5m2_to_float(x); }
  ULPSCOPE_BODY std::uint8_t round(float x) { return fp8_e5m2_from_float(x, Fp8Saturation::nosat); }
  ULPSCOPE_BODY std::uint8_t round(double x) { return fp8_e5m2_from_double(x, Fp8Saturation::nosat); }
};

}  // namespace ulpscope
