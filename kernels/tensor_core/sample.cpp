#include "kernels/tensor_core/sample.h"

#include <algorithm>
#include <cmath>

#include "kernels/math/random.h"

namespace ulpscope::tensor_core {

void SumDifference::add(double unit, double plain) {
  if (!std::isfinite(unit) || !std::isfinite(plain)) {
    ++not_finite;
    return;
  }
  ++elements;
  const double difference = unit - plain;
  greatest = std::max(greatest, std::fabs(difference));
  squares += difference * difference;
  plain_squares += plain * plain;
  grown += std::fabs(unit) - std::fabs(plain);
  plain_magnitude += std::fabs(plain);
}

void SumDifference::merge(const SumDifference& other) {
  elements += other.elements;
  not_finite += other.not_finite;
  greatest = std::max(greatest, other.greatest);
  squares += other.squares;
  plain_squares += other.plain_squares;
  grown += other.grown;
  plain_magnitude += other.plain_magnitude;
}

std::optional<double> SumDifference::relative_rms() const {
  if (plain_squares <= 0.0) return std::nullopt;
  return std::sqrt(squares / plain_squares);
}
std::optional<double> SumDifference::relative_greatest() const {
  if (plain_squares <= 0.0) return std::nullopt;
  return greatest / std::sqrt(plain_squares / static_cast<double>(elements));
}
std::optional<double> SumDifference::relative_bias() const {
  if (plain_magnitude <= 0.0) return std::nullopt;
  return grown / plain_magnitude;
}

float plain_sum(const float* a, std::int64_t a_stride, const float* b, std::int64_t b_stride, std::int64_t k) {
  float sum = 0.0f;
  for (std::int64_t i = 0; i < k; ++i)
    sum = static_cast<float>(static_cast<double>(sum) + static_cast<double>(a[i * a_stride]) * static_cast<double>(b[i * b_stride]));
  return sum;
}

std::int64_t sampled_element(std::uint64_t key, std::int64_t i, std::int64_t elements) {
  return static_cast<std::int64_t>(math::splitmix64(key ^ math::splitmix64(static_cast<std::uint64_t>(i))) % static_cast<std::uint64_t>(elements));
}

std::int64_t sample_size(double share, std::int64_t elements) {
  const double wanted = std::ceil(share * static_cast<double>(elements));
  return std::min(elements, static_cast<std::int64_t>(std::clamp(wanted, static_cast<double>(least_sampled), static_cast<double>(most_sampled))));
}

}  // namespace ulpscope::tensor_core
