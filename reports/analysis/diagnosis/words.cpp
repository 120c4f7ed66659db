#include "reports/analysis/diagnosis/words.h"

#include <fmt/format.h>

#include <cmath>

#include "kernels/formats/storage.h"

namespace ulpscope::reports {

std::string amount(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "inf" : "-inf";
  const double size = std::fabs(value);
  if (size >= 1e7 || (size > 0 && size < 1e-4)) return fmt::format("{:.4g}", value);
  return fmt::format("{:.7g}", value);
}

std::string scale_power(double value) {
  int exponent = 0;
  const bool power = std::isfinite(value) && value > 0 && value != 1.0 && std::frexp(value, &exponent) == 0.5;
  return power ? fmt::format("2^{}", exponent - 1) : amount(value);
}

std::string scale_amount(double value) {
  const bool both = value > 1.0 && value < 1e6;  // short enough to be written out
  const std::string power = scale_power(value);
  return both && power.starts_with("2^") ? fmt::format("{} ({})", power, amount(value)) : power;
}

std::string percent(double share) {
  const double p = 100.0 * share;
  if (p > 0 && p < 1) return fmt::format("{:.2g} %", p);
  if (p > 99 && p < 100) return fmt::format("{:.4g} %", std::min(p, 99.99));
  return fmt::format("{:.3g} %", p);
}

std::string counted(std::int64_t n, const std::string& what) {
  return fmt::format("{} {}{}", n, what, n == 1 ? "" : "s");
}

std::int64_t shown(std::int64_t iteration) { return iteration + 1; }

// fp32 holds no number that it would itself round to infinity: there the limit is the largest finite.
double limit(Format format) {
  const FormatInfo& f = info(format);
  return std::isfinite(f.overflow_threshold) ? f.overflow_threshold : f.max_finite;
}

std::string held_against_limit(double magnitude, Format format) {
  if (format == Format::fp32 || format == Format::tf32)
    return fmt::format("{} (fp32 ends at {})", amount(magnitude), amount(info(Format::fp32).max_finite));
  const double edge = limit(format);
  const double times = magnitude / edge;
  return fmt::format("{} = {} x the {} limit ({} rounds to inf)", amount(magnitude),
                     times >= 100 || times < 0.1      ? fmt::format("{:.3g}", times)
                     : std::fabs(times - 1.0) < 0.002 ? fmt::format("{:.7g}", times)
                                                      : fmt::format("{:.4g}", times),
                     name(format), amount(edge));
}

double half_ulp_below(double magnitude, Format format) {
  const FormatInfo& f = info(format);
  if (!(magnitude > f.min_normal)) return f.min_subnormal / 2;
  int exponent = 0;
  const double fraction = std::frexp(magnitude, &exponent);  // magnitude = fraction 2^exponent, fraction in [0.5, 1)
  const int lower = fraction == 0.5 ? exponent - 2 : exponent - 1;  // a power of two has finer neighbours below
  return std::ldexp(f.unit_roundoff, lower);
}

double half_ulp_above(double magnitude, Format format) {
  const FormatInfo& f = info(format);
  if (!(magnitude >= f.min_normal)) return f.min_subnormal / 2;
  int exponent = 0;
  std::frexp(magnitude, &exponent);
  return std::ldexp(f.unit_roundoff, exponent - 1);
}

double half_ulp_towards(double weight, double step, Format format) {
  const bool away = weight == 0.0 || std::signbit(weight) != std::signbit(step);
  return away ? half_ulp_above(std::fabs(weight), format) : half_ulp_below(std::fabs(weight), format);
}

double rounded_to(double x, Format format) {
  switch (format) {
    case Format::fp16:
      return static_cast<double>(Storage<Format::fp16>::widen(Storage<Format::fp16>::round(x)));
    case Format::bf16:
      return static_cast<double>(Storage<Format::bf16>::widen(Storage<Format::bf16>::round(x)));
    default:
      return static_cast<double>(static_cast<float>(x));
  }
}

double longest_that_fits(double each, Format format) {
  const bool reached = std::isfinite(info(format).overflow_threshold);  // by which the sum is infinite
  const double n = limit(format) / each;
  return reached ? std::ceil(n) - 1.0 : std::floor(n);
}

Fact fact(std::string key, std::string label, double value, std::string text, Provenance provenance) {
  return {std::move(key), std::move(label), value, std::move(text), provenance};
}

Fact fact(std::string key, std::string label, std::string text, Provenance provenance) {
  return {std::move(key), std::move(label), std::nullopt, std::move(text), provenance};
}

}  // namespace ulpscope::reports
