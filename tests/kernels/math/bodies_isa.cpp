#include "kernels/formats/stochastic.h"
#include "kernels/math/elementary.h"
#include "kernels/math/random.h"
#include "kernels/math/reduction_tree.h"
#include "tests/kernels/math/bodies.h"

namespace ulpscope::ULPSCOPE_ISA {
namespace {

void apply(int function, const float* x, float* y, std::int64_t n) {
  const auto loop = [=](auto f) {
    for (std::int64_t i = 0; i < n; ++i) y[i] = f(x[i]);
  };
  switch (function) {
    case 0:
      return loop([](float v) { return math::exp(v); });
    case 1:
      return loop([](float v) { return math::log(v); });
    case 2:
      return loop([](float v) { return math::tanh(v); });
    case 3:
      return loop([](float v) { return math::erf(v); });
    case 4:
      return loop([](float v) { return math::sin(v); });
    case 5:
      return loop([](float v) { return math::cos(v); });
    case 6:
      return loop([](float v) { return math::sqrt(v); });
    case 7:
      return loop([](float v) { return math::rsqrt(v); });
    default:
      return loop([](float v) { return fp16_to_float(fp16_stochastic(v, float_bits(v) * 0x9e3779b9u)); });
  }
}

float reduce(int reduction, const float* x, std::int64_t n) {
  if (reduction == 0) return math::tree_sum<float>(n, [=](std::int64_t i) { return x[i]; });
  return math::tree_max<float>(n, [=](std::int64_t i) { return x[i]; });
}

void normals(std::uint64_t key, float* y, std::int64_t n) {
  for (std::int64_t i = 0; i < n; ++i) y[i] = math::random_normal(key, static_cast<std::uint64_t>(i), 3, 1);
}

}  // namespace

bodies_test::Bodies test_bodies();
bodies_test::Bodies test_bodies() { return {apply, reduce, normals}; }

}  // namespace ulpscope::ULPSCOPE_ISA
