#include "reports/export/numbers.h"

#include <fmt/format.h>

#include <cmath>

#include "reports/export/layout.h"

namespace ulpscope::reports {
namespace {

std::string not_finite(double value) { return std::isnan(value) ? "NaN" : value > 0 ? "inf" : "-inf"; }

}  // namespace

bool whole(FigureStyle style) {
  return style == FigureStyle::count || style == FigureStyle::bytes || style == FigureStyle::scale;
}

std::string exact(const Number& value, FigureStyle style) {
  if (!value) return "";
  if (std::isnan(*value)) return "NaN";
  if (std::isinf(*value)) return *value > 0 ? "Infinity" : "-Infinity";
  if (whole(style) && *value == std::floor(*value) && std::fabs(*value) < 9007199254740992.0)
    return fmt::format("{}", static_cast<std::int64_t>(*value));
  return fmt::format("{}", *value);
}

std::string number_text(double value, int digits) {
  if (!std::isfinite(value)) return not_finite(value);
  if (value == 0.0) return "0";
  const double magnitude = std::fabs(value);
  if (magnitude < 1e-3 || magnitude >= 1e6) return fmt::format("{:.{}e}", value, std::max(0, digits - 4));
  const int before = magnitude < 1.0 ? 1 : static_cast<int>(std::floor(std::log10(magnitude))) + 1;
  return fmt::format("{:.{}f}", value, std::max(0, digits - before));
}

std::string difference_text(double value) {
  if (value == 0.0) return "0";
  return std::isfinite(value) ? fmt::format("{:+.3g}", value) : not_finite(value);
}

std::string seconds_text(double seconds) {
  if (!std::isfinite(seconds)) return not_finite(seconds);
  const double magnitude = std::fabs(seconds);
  if (magnitude >= 1.0 || magnitude == 0.0) return fmt::format("{:.4g} s", seconds);
  if (magnitude >= 1e-3) return fmt::format("{:.4g} ms", seconds * 1e3);
  return fmt::format("{:.4g} µs", seconds * 1e6);
}

std::string bytes_text(double bytes) {
  if (!std::isfinite(bytes)) return not_finite(bytes);
  static constexpr const char* units[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  std::size_t unit = 0;
  while (std::fabs(bytes) >= 1024.0 && unit + 1 < std::size(units)) {
    bytes /= 1024.0;
    ++unit;
  }
  return unit == 0 ? fmt::format("{:.0f} B", bytes) : fmt::format("{:.4g} {}", bytes, units[unit]);
}

std::string scale_text(double scale) {
  if (!std::isfinite(scale)) return not_finite(scale);
  int exponent = 0;
  const bool power = scale > 0.0 && std::frexp(scale, &exponent) == 0.5;
  if (power && (scale >= 1e5 || scale < 1.0)) return fmt::format("2^{}", exponent - 1);
  return fmt::format("{:.6g}", scale);
}

std::string cell_text(const Figure& figure, FigureStyle style, std::size_t width) {
  if (!figure.value) return range_text(figure, style).empty() ? "unknown" : range_text(figure, style);
  const double value = *figure.value;
  switch (style) {
    case FigureStyle::count:
      return std::fabs(value) < 1e12 ? fmt::format("{:.0f}", value) : number_text(value, 4);
    case FigureStyle::scale:
      return scale_text(value);
    case FigureStyle::seconds:
      return seconds_text(value);
    case FigureStyle::rate:
      return std::fabs(value) >= 1000.0 && std::fabs(value) < 1e12 ? fmt::format("{:.0f}", value)
                                                                   : number_text(value, 4);
    case FigureStyle::ratio:
      return std::fabs(value) >= 0.01 && std::fabs(value) < 1e6 ? fmt::format("{:.2f}", value) : number_text(value, 4);
    case FigureStyle::bytes:
      return bytes_text(value);
    case FigureStyle::difference:
      return difference_text(value);
    case FigureStyle::loss:
      break;
  }
  for (int digits = 5; digits > 2 && figure.spread && std::isfinite(value); --digits) {
    const std::string text = fmt::format("{} ±{}", number_text(value, digits), fmt::format("{:.2g}", *figure.spread));
    if (columns(text) <= width) return text;
  }
  return number_text(value);
}

std::string range_text(const Figure& figure, FigureStyle style) {
  if (!figure.low || !figure.high) return "";
  if (style == FigureStyle::scale)
    return *figure.low == *figure.high ? scale_text(*figure.low)
                                       : fmt::format("{}…{}", scale_text(*figure.low), scale_text(*figure.high));
  if (style == FigureStyle::seconds) {
    // One unit for both ends, that of the upper.
    const double high = *figure.high;
    const double factor = high >= 1.0 || !std::isfinite(high) ? 1.0 : high >= 1e-3 ? 1e3 : 1e6;
    const char* unit = factor == 1.0 ? "s" : factor == 1e3 ? "ms" : "µs";
    const double low = *figure.low * factor;
    const std::string text = fmt::format("{}…{} {}", number_text(low, 4), number_text(high * factor, 4), unit);
    return columns(text) <= 14 ? text : fmt::format("{:.2g}…{:.2g} {}", low, high * factor, unit);  // far apart
  }
  return fmt::format("{}…{}", number_text(*figure.low, 4), number_text(*figure.high, 4));
}

}  // namespace ulpscope::reports
