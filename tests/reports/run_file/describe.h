// Fills records with awkward values and prints every column, so that two records can be compared.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <string>
#include <type_traits>

#include "reports/run_file/columns.h"
#include "reports/run_file/limits.h"

namespace ulpscope::reports {

inline std::string show(std::int64_t value) { return std::to_string(value); }
inline std::string show(bool value) { return value ? "true" : "false"; }
inline std::string show(const std::string& value) { return "\"" + value + "\""; }
inline std::string show(const Number& value) { return value ? fmt::format("{:a}", *value) : "unknown"; }
inline std::string show(const ExponentHistogram& value) {
  return fmt::format("{}:{}", value.first, fmt::join(value.counts, ","));
}
inline std::string show(const TensorRanges& value) {
  std::string text;
  for (const TensorRange& r : value)
    text += fmt::format("{}:{:a}{}{};", static_cast<std::int64_t>(r.tensor), r.greatest_magnitude, r.not_finite ? "!" : "", r.overflowed ? "^" : "");
  return text;
}
inline std::string show(const Signature& value) {
  return fmt::format("{} [{}] {}", value.format, fmt::join(value.shape, ","), value.tensor ? static_cast<std::int64_t>(*value.tensor) : -1);
}
template <class T>
requires std::is_enum_v<T> std::string show(T value) { return std::to_string(static_cast<std::int64_t>(value)); }
template <class T>
std::string show(const std::vector<T>& values) {
  std::string text;
  for (const T& value : values) text += show(value) + ";";
  return text;
}
template <class T>
std::string show(const std::optional<T>& value) {
  return value ? show(*value) : "unknown";
}

template <class R>
std::string describe(const R& record) {
  std::string text = Table<R>::name;
  Table<R>::columns(record, [&text](const char* column, const auto& member) {
    text += fmt::format("\n  {} = {}", column, show(member));
  });
  return text;
}

/// Values for one column, within its limits; the variant says which: 0 unknown and empty, 1 NaN, 2 +inf, 3 -inf and extremes,
/// 4 ordinary.
struct Filler {
  int variant;
  int at = 0;
  Limits limits{};

  void operator()(std::int64_t& value) {
    using whole = std::numeric_limits<std::int64_t>;
    value = limits.of_elements ? variant : variant * 100 + at;
    if (variant != 3) return;
    const double extreme = at % 2 == 1 ? limits.greatest : limits.least;
    value = std::isfinite(extreme) ? static_cast<std::int64_t>(extreme) : extreme > 0 ? whole::max() : whole::min();
  }
  void operator()(bool& value) { value = (variant + at) % 2 == 1; }
  void operator()(std::string& value) {
    const std::string values[] = {"", "héllo — ✓ 日本語", "'quoted\" \n\t; DROP TABLE run; --",
                                  std::string("nul\0inside", 10), "nan"};
    value = values[variant];
  }
  void operator()(double& value) {
    using floating = std::numeric_limits<double>;
    const double nan = std::isfinite(limits.greatest) ? limits.greatest : floating::quiet_NaN();
    const double values[] = {0.0, nan, limits.greatest, limits.least, std::min(0.1 + at, limits.greatest)};
    value = values[variant];
    if (variant == 4 && at % 3 == 1) value = floating::denorm_min();
    if (variant == 4 && at % 3 == 2) value = std::min(4.0, limits.greatest);  // a whole number stays a floating-point number
  }
  void operator()(ExponentHistogram& value) {
    value = {.first = -149 + variant,
             .counts = {0, 1, variant == 3 ? std::uint64_t{1} << 52 : 7, static_cast<std::uint64_t>(at)}};   // of `elements`
    if (variant == 1) value.counts.clear();
  }
  void operator()(TensorRanges& value) {
    std::vector<TensorRange> list;
    for (int i = 0; i < variant; ++i)
      list.push_back({TensorId{i == 0 ? 2147483647 : i}, i == 0 ? std::numeric_limits<float>::max() : 0x1p-149f * static_cast<float>(i), i % 2 == 0, i % 3 == 0});
    value = TensorRanges(std::move(list));
  }
  void operator()(Signature& value) {
    value = {.shape = {variant, 0, 1}, .format = "fp16"};
    if (variant != 1) value.tensor = TensorId{variant * 10 + at};
  }
  template <class T>
  requires std::is_enum_v<T>
  void operator()(T& value) { value = static_cast<T>(sizeof(T) == 1 ? variant % 3 : variant * 10 + at); }
  void operator()(std::vector<std::int64_t>& shape) {
    shape.clear();
    for (int i = 0; i < variant; ++i) shape.push_back(100 * variant + i);
  }
  template <class T>
  void operator()(std::vector<T>& values) {
    values.clear();
    for (int i = 0; i < variant; ++i) (*this)(values.emplace_back());
  }
  template <class T>
  void operator()(std::optional<T>& value) {
    value.reset();
    if (variant != 0) (*this)(value.emplace());
  }
};

template <class R>
R filled(int variant) {
  R record{};
  Filler filler{variant};
  Table<R>::columns(record, [&filler](const char* column, auto& member) {
    ++filler.at;
    filler.limits = limits_of(Table<R>::name, column, std::is_same_v<std::remove_cvref_t<decltype(member)>, Number>);
    filler(member);
  });
  return record;
}

}  // namespace ulpscope::reports
