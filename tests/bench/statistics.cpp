#include "tests/bench/statistics.h"

#include <algorithm>
#include <cmath>
#include <string>

#include "kernels/error.h"

namespace ulpscope::bench {
namespace {

/// P(X < k) for X ~ Binomial(n, 1/2): that fewer than k of n values lie below the median.
double fewer_than(std::size_t k, std::size_t n) {
  double term = std::pow(0.5, static_cast<double>(n)), sum = 0.0;
  for (std::size_t i = 0; i < k; ++i) {
    sum += term;
    term *= static_cast<double>(n - i) / static_cast<double>(i + 1);
  }
  return sum;
}

}  // namespace

Estimate estimate(std::vector<double> values) {
  const std::size_t n = values.size();
  for (const double v : values)
    if (!std::isfinite(v)) throw Error("bench: a measured value is not finite");
  if (n < least_values)
    throw Error("bench: " + std::to_string(n) + " values; an interval needs at least " + std::to_string(least_values));
  std::sort(values.begin(), values.end());
  Estimate e;
  e.median = n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
  if (values.front() == values.back()) return {e.median, e.median, e.median, 1.0};
  std::size_t k = 1;
  while (2 * (k + 1) <= n && 2.0 * fewer_than(k + 1, n) <= 1.0 - confidence) ++k;
  e.low = values[k - 1];
  e.high = values[n - k];
  e.coverage = 1.0 - 2.0 * fewer_than(k, n);
  return e;
}

double geometric_mean(const std::vector<double>& values) {
  if (values.empty()) throw Error("bench: the geometric mean of nothing");
  double sum = 0.0;
  for (const double v : values) {
    if (!(v > 0.0) || !std::isfinite(v)) throw Error("bench: the geometric mean takes positive numbers");
    sum += std::log(v);
  }
  return std::exp(sum / static_cast<double>(values.size()));
}

const char* name(Verdict verdict) {
  switch (verdict) {
    case Verdict::ok:
      return "ok";
    case Verdict::undecided:
      return "undecided";
    case Verdict::beyond:
      return "beyond the bar";
  }
  return "?";
}

Verdict judge(const Estimate& e, const Bar& bar) {
  const auto bad = [&](double value) { return bar.at_most ? value > bar.bar : value < bar.bar; };
  if (bad(e.low) && bad(e.high)) return Verdict::beyond;
  return bad(e.low) || bad(e.high) ? Verdict::undecided : Verdict::ok;
}

bool reaches_aim(const Estimate& e, const Bar& bar) { return bar.at_most ? e.median <= bar.aim : e.median >= bar.aim; }

}  // namespace ulpscope::bench
