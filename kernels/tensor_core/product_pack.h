// Operands on their way into a unit's product: widened, put into the order in which they are added, and beside every number the
// exponent that the unit compares. Included only by sources compiled once per instruction set.
#pragma once

#include "kernels/formats/tile.h"
#include "kernels/tensor_core/lanes.h"
#include "kernels/tensor_core/product.h"

namespace ulpscope::tensor_core::ULPSCOPE_ISA {
namespace {

/// Exponents that stand for something else. Sums of two with a marker are still told apart: no exponent is beyond ±1000.
constexpr std::int32_t zero_exponent = -(1 << 20);     ///< of a zero that does not take part
constexpr std::int32_t special_exponent = 1 << 24;     ///< of an infinity or a NaN
constexpr std::int32_t special_from = 1 << 20;         ///< a sum above holds one

/// Of the numbers that are neither zero nor special.
struct ExponentRange {
  std::int32_t least = 1 << 20, greatest = -(1 << 20);
};

ULPSCOPE_BODY void round_line(Format multiply, float* x, std::int64_t n) {
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
    case Format::fp8_e4m3:
      for (std::int64_t i = 0; i < n; ++i) x[i] = Storage<Format::fp8_e4m3>::widen(Storage<Format::fp8_e4m3>::round(x[i]));
      return;
    case Format::fp8_e5m2:
      for (std::int64_t i = 0; i < n; ++i) x[i] = Storage<Format::fp8_e5m2>::widen(Storage<Format::fp8_e5m2>::round(x[i]));
      return;
    default:
      return;
  }
}

template <Format F>
ULPSCOPE_BODY void gather(const void* data, std::int64_t first, std::int64_t stride, std::int64_t n, float* to) {
  const auto* from = static_cast<const typename Storage<F>::type*>(data);
  for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<float>(Storage<F>::widen(from[first + i * stride]));
}

/// n numbers from `first` on, `stride` apart.
inline void load_line(const Operand& x, std::int64_t first, std::int64_t stride, std::int64_t n, float* to) {
  if (stride == 1) {
    const auto* from = static_cast<const unsigned char*>(x.data) + first * info(x.format).storage_bytes;
    widen_tile(x.format, from, to, static_cast<std::size_t>(n));
  } else {
    switch (x.format) {
      case Format::fp16:
        gather<Format::fp16>(x.data, first, stride, n, to);
        break;
      case Format::bf16:
        gather<Format::bf16>(x.data, first, stride, n, to);
        break;
      case Format::fp8_e4m3:
        gather<Format::fp8_e4m3>(x.data, first, stride, n, to);
        break;
      case Format::fp8_e5m2:
        gather<Format::fp8_e5m2>(x.data, first, stride, n, to);
        break;
      default:
        gather<Format::fp32>(x.data, first, stride, n, to);
        break;
    }
  }
  if (x.multiply != x.format) round_line(x.multiply, to, n);
}

/// exponents[i] of values[i], n numbers.
ULPSCOPE_BODY void exponents_of(const SumRule& rule, const float* values, std::int64_t n, std::int32_t* exponents,
                                ExponentRange& range) {
  const std::int32_t least = least_exponent(rule.operands);
  const std::int32_t zero = rule.zeros == ZeroProducts::included ? -126 : zero_exponent;
  std::int32_t low = range.least, high = range.greatest;
  for (std::int64_t i = 0; i < n; ++i) {
    const auto bits = static_cast<std::int32_t>(float_bits(values[i]) & 0x7fffffffu);
    const std::int32_t biased = bits >> 23;
    const std::int32_t plain = biased - 127 > least ? biased - 127 : least;
    const bool none = bits == 0, special = biased == 255;
    exponents[i] = none ? zero : special ? special_exponent : plain;
    low = none || special || plain > low ? low : plain;
    high = none || special || plain < high ? high : plain;
  }
  range.least = low;
  range.greatest = high;
}

/// Numbers and exponents: [line][depth] of A, [panel][depth][lanes] of B.
struct Packed {
  float* value;
  std::int32_t* exponent;
  std::int64_t depth;  ///< padded with zeros to whole periods
};

/// k in [first, first + length) of m rows of A.
inline void pack_rows(const SumRule& rule, const Operand& a, std::int64_t row, std::int64_t m, std::int64_t first,
                      std::int64_t length, const Packed& to, float* line, ExponentRange& range) {
  const int step = period(rule);
  for (std::int64_t r = 0; r < m; ++r) {
    float* value = to.value + r * to.depth;
    const bool turned = rule.order != BlockOrder::consecutive;
    float* from = turned ? line : value;
    load_line(a, (row + r) * a.row_stride + first * a.column_stride, a.column_stride, length, from);
    for (std::int64_t i = length; i < to.depth; ++i) from[i] = 0.0f;
    for (std::int64_t start = 0; turned && start < to.depth; start += step)
      for (int i = 0; i < step; ++i) value[start + i] = from[start + place_of(rule, i)];
    exponents_of(rule, value, to.depth, to.exponent + r * to.depth, range);
  }
}

/// k in [first, first + length) of n columns of B.
inline void pack_panels(const SumRule& rule, const Operand& b, std::int64_t column, std::int64_t n, std::int64_t first,
                        std::int64_t length, const Packed& to, float* line, ExponentRange& range) {
  const int step = period(rule);
  const std::int64_t panels = (n + lanes - 1) / lanes;
  std::memset(to.value, 0, static_cast<std::size_t>(panels * to.depth * lanes) * sizeof(float));
  if (b.column_stride == 1) {
    for (std::int64_t i = 0; i < to.depth; ++i) {
      const std::int64_t k = i / step * step + place_of(rule, static_cast<int>(i % step));
      if (k >= length) continue;
      load_line(b, (first + k) * b.row_stride + column, 1, n, line);
      for (std::int64_t j = 0; j < n; j += lanes) {
        const std::int64_t wide = n - j < lanes ? n - j : lanes;
        std::memcpy(to.value + (j / lanes * to.depth + i) * lanes, line + j, static_cast<std::size_t>(wide) * sizeof(float));
      }
    }
  } else {
    for (std::int64_t j = 0; j < n; ++j) {
      load_line(b, (column + j) * b.column_stride + first * b.row_stride, b.row_stride, length, line);
      float* value = to.value + j / lanes * to.depth * lanes + j % lanes;
      for (std::int64_t i = 0; i < to.depth; ++i) {
        const std::int64_t k = i / step * step + place_of(rule, static_cast<int>(i % step));
        if (k < length) value[i * lanes] = line[k];
      }
    }
  }
  exponents_of(rule, to.value, panels * to.depth * lanes, to.exponent, range);
}

}  // namespace
}  // namespace ulpscope::tensor_core::ULPSCOPE_ISA
