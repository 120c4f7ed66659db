#include "kernels/cpu/matmul_lines.h"

#include <type_traits>

#include "kernels/matmul_plan.h"
#include "kernels/formats/tile.h"
#include "kernels/ops/round_and_count.h"

namespace ulpscope::ULPSCOPE_ISA {
namespace {

/// Calls f(std::integral_constant<Format, format>) for every float format.
template <class Function>
ULPSCOPE_BODY void with_format(Format format, Function f) {
  switch (format) {
    case Format::fp32:
      return f(std::integral_constant<Format, Format::fp32>{});
    case Format::tf32:
      return f(std::integral_constant<Format, Format::tf32>{});
    case Format::fp16:
      return f(std::integral_constant<Format, Format::fp16>{});
    case Format::bf16:
      return f(std::integral_constant<Format, Format::bf16>{});
    case Format::fp8_e4m3:
      return f(std::integral_constant<Format, Format::fp8_e4m3>{});
    case Format::fp8_e5m2:
      return f(std::integral_constant<Format, Format::fp8_e5m2>{});
    case Format::fp64:
      return f(std::integral_constant<Format, Format::fp64>{});
    case Format::i32:
      return;
  }
}

/// From fp64 by way of round-to-odd if another rounding follows, so that both together are one.
template <class T, Format F>
ULPSCOPE_BODY T widened(typename Storage<F>::type x, bool rounded_again) {
  if constexpr (F == Format::fp64 && std::is_same_v<T, float>) {
    return rounded_again ? float_from_double_to_odd(x) : static_cast<float>(x);
  } else {
    return static_cast<T>(Storage<F>::widen(x));
  }
}

template <class T>
void load(Format format, const void* line, std::int64_t stride, T* to, std::int64_t n, Format multiply) {
  const bool rounds = std::is_same_v<T, float> && multiply != Format::fp32 && needs_rounding(format, multiply);
  if (stride == 1 && !(rounds && format == Format::fp64)) {
    widen_tile(format, line, to, static_cast<std::size_t>(n));
  } else {
    with_format(format, [=](auto f) {
      const auto* from = static_cast<const typename Storage<f()>::type*>(line);
      for (std::int64_t i = 0; i < n; ++i) to[i] = widened<T, f()>(from[i * stride], rounds);
    });
  }
  if (!rounds) return;
  with_format(multiply, [=](auto m) {
    for (std::int64_t i = 0; i < n; ++i) to[i] = static_cast<T>(Storage<m()>::widen(Storage<m()>::round(to[i])));
  });
}

template <class T>
ULPSCOPE_BODY void round_line(const T* from, Format format, void* line, std::int64_t stride, std::int64_t n) {
  if (stride == 1) return narrow_tile(format, from, line, static_cast<std::size_t>(n));
  with_format(format, [=](auto f) {
    auto* to = static_cast<typename Storage<f()>::type*>(line);
    for (std::int64_t i = 0; i < n; ++i) to[i * stride] = Storage<f()>::round(from[i]);
  });
}

/// Rounds a line and counts what that changed. It is stored where elements follow each other; else that is left to do.
template <class T>
void count_line(const T* from, Format format, void* line, std::int64_t stride, std::int64_t n, RoundingTally& tally) {
  const T least_normal = static_cast<T>(info(format).min_normal);
  const T limit = static_cast<T>(info(format).overflow_threshold);
  const bool own = format == (sizeof(T) == 4 ? Format::fp32 : Format::fp64);
  alignas(64) T rounded[count_block_elements];
  alignas(64) std::uint64_t raw[count_block_elements];
  for (std::int64_t start = 0; start < n; start += count_block_elements) {
    const auto length = static_cast<int>(n - start < count_block_elements ? n - start : count_block_elements);
    const auto size = static_cast<std::size_t>(length);
    const T* before = from + start;
    void* place = static_cast<unsigned char*>(line) + start * storage_bytes(format);
    if (stride != 1) place = raw;
    if (place != static_cast<const void*>(before)) narrow_tile(format, before, place, size);
    if (range_only(tally)) {
      count_range(before, length, limit, tally);
      continue;
    }
    const T* after = before;
    if (!own) {
      widen_tile(format, place, rounded, size);
      after = rounded;
    }
    count_block(before, after, length, least_normal, tally);
  }
}

template <class T>
void finish(T* sum, std::int64_t parts, std::int64_t part_stride, const T* bias, Format format, void* line,
            std::int64_t stride, std::int64_t n, RoundingTally* tally) {
  for (std::int64_t part = 1; part < parts; ++part) {
    const T* more = sum + part * part_stride;
    for (std::int64_t i = 0; i < n; ++i) sum[i] += more[i];
  }
  if (bias != nullptr) {
    for (std::int64_t i = 0; i < n; ++i) sum[i] += bias[i];
  }
  if (tally != nullptr) count_line(static_cast<const T*>(sum), format, line, stride, n, *tally);
  if (tally != nullptr && stride == 1) return;
  if (line != static_cast<void*>(sum)) round_line(sum, format, line, stride, n);
}

constexpr ProductLines<float> float_lines{load<float>, finish<float>};
constexpr ProductLines<double> double_lines{load<double>, finish<double>};

}  // namespace

template <>
const ProductLines<float>& product_lines<float>() {
  return float_lines;
}
template <>
const ProductLines<double>& product_lines<double>() {
  return double_lines;
}

}  // namespace ulpscope::ULPSCOPE_ISA
