#include "reports/analysis/statistics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace ulpscope::reports {

std::optional<double> mean(const std::vector<double>& sample) {
  if (sample.empty()) return std::nullopt;
  return std::accumulate(sample.begin(), sample.end(), 0.0) / static_cast<double>(sample.size());
}

std::optional<double> standard_deviation(const std::vector<double>& sample) {
  if (sample.size() < 2) return std::nullopt;
  const double centre = *mean(sample);
  double squares = 0.0;
  for (const double x : sample) squares += (x - centre) * (x - centre);
  return std::sqrt(squares / static_cast<double>(sample.size() - 1));
}

std::optional<double> quantile(std::vector<double> sample, double p) {
  if (sample.empty()) return std::nullopt;
  if (std::any_of(sample.begin(), sample.end(), [](double x) { return std::isnan(x); }))
    return std::numeric_limits<double>::quiet_NaN();
  std::sort(sample.begin(), sample.end());
  const double place = p * static_cast<double>(sample.size() - 1);
  const auto below = static_cast<std::size_t>(place);
  const double share = place - static_cast<double>(below);
  if (share == 0.0 || sample[below] == sample[below + 1]) return sample[below];  // no inf − inf
  return sample[below] + share * (sample[below + 1] - sample[below]);
}

namespace {

// The continued fraction of the incomplete beta function by Lentz's method: Abramowitz & Stegun 26.5.8, NIST
// DLMF 8.17.22.
double beta_fraction(double a, double b, double x) {
  constexpr double tiny = 1e-300;
  const auto not_zero = [](double value) { return std::fabs(value) < tiny ? tiny : value; };
  double c = 1.0;
  double d = 1.0 / not_zero(1.0 - (a + b) * x / (a + 1.0));
  double fraction = d;
  for (int m = 1; m <= 500; ++m) {
    const double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
    d = 1.0 / not_zero(1.0 + even * d);
    c = not_zero(1.0 + even / c);
    fraction *= d * c;
    const double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
    d = 1.0 / not_zero(1.0 + odd * d);
    c = not_zero(1.0 + odd / c);
    const double change = d * c;
    fraction *= change;
    if (std::fabs(change - 1.0) < 1e-16) break;
  }
  return fraction;
}

}  // namespace

double incomplete_beta(double a, double b, double x) {
  if (x <= 0.0) return 0.0;
  if (x >= 1.0) return 1.0;
  const double front =
      std::exp(std::lgamma(a + b) - std::lgamma(a) - std::lgamma(b) + a * std::log(x) + b * std::log1p(-x));
  if (x < (a + 1.0) / (a + b + 2.0)) return front * beta_fraction(a, b, x) / a;
  return 1.0 - front * beta_fraction(b, a, 1.0 - x) / b;
}

double student_t_cdf(double t, double degrees) {
  // 1 − P(|T| ≤ |t|) = I_{n/(n+t²)}(n/2, 1/2): DLMF 8.17, A & S 26.7.1.
  const double tail = 0.5 * incomplete_beta(0.5 * degrees, 0.5, degrees / (degrees + t * t));
  return t > 0.0 ? 1.0 - tail : tail;
}

double student_t_quantile(double p, double degrees) {
  if (p == 0.5) return 0.0;
  if (p < 0.5) return -student_t_quantile(1.0 - p, degrees);
  double low = 0.0;
  double high = 1.0;
  while (student_t_cdf(high, degrees) < p && high < 1e300) high *= 2.0;
  for (int i = 0; i < 200 && low < high; ++i) {
    const double middle = 0.5 * (low + high);
    if (middle == low || middle == high) break;
    (student_t_cdf(middle, degrees) < p ? low : high) = middle;
  }
  return 0.5 * (low + high);
}

std::optional<Interval> mean_interval(const std::vector<double>& sample, double confidence) {
  if (sample.size() < 2) return std::nullopt;
  const double centre = *mean(sample);
  const auto n = static_cast<double>(sample.size());
  const double reach = student_t_quantile(0.5 + 0.5 * confidence, n - 1.0) * *standard_deviation(sample) / std::sqrt(n);
  if (!std::isfinite(centre) || !std::isfinite(reach)) return std::nullopt;
  return Interval{centre - reach, centre + reach};
}

}  // namespace ulpscope::reports
