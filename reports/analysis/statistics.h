// Statistics of small samples. An empty sample, or one too small for the question, gives nothing.
#pragma once

#include <optional>
#include <utility>
#include <vector>

namespace ulpscope::reports {

std::optional<double> mean(const std::vector<double>& sample);

/// Square root of the unbiased variance (n − 1); needs two values.
std::optional<double> standard_deviation(const std::vector<double>& sample);

/// Linear interpolation between order statistics at (n − 1)·p, as R's type 7 and NumPy's default. 0 ≤ p ≤ 1.
/// Infinities count as the values they are; with a NaN in the sample the answer is NaN.
std::optional<double> quantile(std::vector<double> sample, double p);
inline std::optional<double> median(std::vector<double> sample) { return quantile(std::move(sample), 0.5); }

/// Regularised incomplete beta function I_x(a, b) for a, b > 0 and 0 ≤ x ≤ 1; absolute error below 1e-13.
double incomplete_beta(double a, double b, double x);

/// Student's t distribution with `degrees` > 0 degrees of freedom: P(T ≤ t), and its inverse for 0 < p < 1.
double student_t_cdf(double t, double degrees);
double student_t_quantile(double p, double degrees);

struct Interval {
  double low = 0.0;
  double high = 0.0;
};

/// The interval that covers the mean of the population with the given confidence; needs two finite values.
std::optional<Interval> mean_interval(const std::vector<double>& sample, double confidence = 0.95);

}  // namespace ulpscope::reports
