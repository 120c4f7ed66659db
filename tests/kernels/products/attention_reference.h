// Attention in double, element by element, and what its tests share.
#pragma once

#include <cmath>
#include <cstdint>
#include <vector>

#include "kernels/math/random.h"
#include "tests/kernels/products/product_run.h"

namespace ulpscope::test {

struct Sizes {
  std::int64_t b = 2, h = 3, tq = 9, tk = 9, d = 8;
  Shape q() const { return {b, h, tq, d}; }
  Shape k() const { return {b, h, tk, d}; }
  Shape probs() const { return {b, h, tq, tk}; }
};

inline AttentionParams make_params(const Sizes& s, bool causal, Format multiply, float rate = 0.0f) {
  AttentionParams p;
  p.scale = static_cast<float>(1.0 / std::sqrt(static_cast<double>(s.d)));
  p.causal = causal;
  p.multiply = multiply;
  p.dropout = {rate, 42, math::hash_name("block0.attention")};
  return p;
}

struct Result {
  std::vector<double> probs, o;
};

/// Attention in double, one element after the other, from numbers as the multiplier sees them. Probabilities are
/// rounded to `stored` (significant bits) before the second product, dropped ones once more.
inline Result reference(const Sizes& s, const Array& q, const Array& k, const Array& v, const AttentionParams& p,
                 const StepState& state, int stored_bits = 53) {
  Result r;
  const double keep = 1.0 / (1.0 - static_cast<double>(p.dropout.rate));
  for (std::int64_t bh = 0; bh < s.b * s.h; ++bh) {
    for (std::int64_t i = 0; i < s.tq; ++i) {
      std::vector<double> row;
      double sum = 0.0;
      for (std::int64_t j = 0; j < s.tk; ++j) {
        double score = 0.0;
        for (std::int64_t d = 0; d < s.d; ++d) {
          score += seen_by(q.format, p.multiply, q.at((bh * s.tq + i) * s.d + d)) *
                   seen_by(k.format, p.multiply, k.at((bh * s.tk + j) * s.d + d));
        }
        const bool hidden = p.causal && j > i + s.tk - s.tq;
        row.push_back(hidden ? 0.0 : std::exp(score * static_cast<double>(p.scale)));  // scores here are small
        sum += row.back();
      }
      for (std::int64_t d = 0; d < s.d; ++d) r.o.push_back(0.0);
      for (std::int64_t j = 0; j < s.tk; ++j) {
        double x = round_to_bits(row[static_cast<std::size_t>(j)] / sum, stored_bits);
        r.probs.push_back(x);
        if (p.dropout.rate > 0.0f) {
          const auto index = static_cast<std::uint64_t>((bh * s.tq + i) * s.tk + j);
          const float u = math::random_uniform(math::random_key(p.dropout.seed, p.dropout.key), index, state.iteration,
                                               state.micro_batch);
          x = u >= p.dropout.rate ? round_to_bits(x * keep, stored_bits) : 0.0;
        }
        x = stored_bits > info(p.multiply).mantissa_bits + 1
                ? round_to_bits(x, info(p.multiply).mantissa_bits + 1, p.multiply == Format::tf32)
                : x;
        for (std::int64_t d = 0; d < s.d; ++d) {
          r.o[r.o.size() - static_cast<std::size_t>(s.d - d)] +=
              x * seen_by(v.format, p.multiply, v.at((bh * s.tk + j) * s.d + d));
        }
      }
    }
  }
  return r;
}

/// Largest difference, relative to the largest magnitude.
inline double difference(const Array& got, const std::vector<double>& exact) {
  double error = 0.0;
  double size = 0.0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double e = std::abs(got.at(static_cast<std::int64_t>(i)) - exact[i]);
    error = std::isnan(e) ? HUGE_VAL : std::max(error, e);
    size = std::max(size, std::abs(exact[i]));
  }
  return error / size;
}

/// fp32 sums and elementary functions are good to about 1e-6; a stored format adds its roundings. With up to 40 terms
/// whose sum is at most 1 in weight, one misrounded probability moves a result by less than one place of the format.
inline double tolerance(Format stored) { return stored == Format::fp32 ? 3e-6 : 1.6 * info(stored).unit_roundoff; }

}  // namespace ulpscope::test
