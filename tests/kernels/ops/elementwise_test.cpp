// Every element-wise operation with one result, in every combination of storage formats that makes sense.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/ops/clamp.h"
#include "tests/kernels/ops/op_case.h"

namespace ulpscope::test {
namespace {

using L = long double;
using Function = Expected (*)(const L* x);

/// factor: error of the formula in units of the compute format's roundoff, from the bounds of math/elementary.h (an
/// error of k ulps is up to 2k units) and half an ulp for every further operation.
struct Row {
  const char* operation;
  int inputs;
  double low, high;  ///< range of the first input
  double factor;
  Function reference;
};

constexpr L pi = 3.14159265358979323846264338327950288L;
L sigmoid(L x) { return 1 / (1 + std::exp(-x)); }
L cdf(L x) { return (1 + std::erf(x / std::sqrt(2.0L))) / 2; }
L tanh_inner(L x) { return std::sqrt(2 / pi) * (x + L(0.044715) * x * x * x); }

const Row rows[] = {
    {"neg", 1, -3, 3, 0, [](const L* x) -> Expected { return -x[0]; }},
    {"abs", 1, -3, 3, 0, [](const L* x) -> Expected { return std::fabs(x[0]); }},
    {"square", 1, -3, 3, 1, [](const L* x) -> Expected { return x[0] * x[0]; }},
    {"sqrt", 1, 0, 9, 1, [](const L* x) -> Expected { return std::sqrt(x[0]); }},
    {"rsqrt", 1, 0.01, 9, 3, [](const L* x) -> Expected { return 1 / std::sqrt(x[0]); }},
    {"reciprocal", 1, 0.1, 5, 1, [](const L* x) -> Expected { return 1 / x[0]; }},
    {"exp", 1, -9, 9, 2.1, [](const L* x) -> Expected { return std::exp(x[0]); }},
    {"log", 1, 0.01, 30, 2.1, [](const L* x) -> Expected { return std::log(x[0]); }},
    {"sin", 1, -20, 20, 1.5, [](const L* x) -> Expected { return std::sin(x[0]); }},
    {"cos", 1, -20, 20, 1.5, [](const L* x) -> Expected { return std::cos(x[0]); }},
    {"erf", 1, -4, 4, 3.1, [](const L* x) -> Expected { return std::erf(x[0]); }},
    {"tanh", 1, -5, 5, 4.1, [](const L* x) -> Expected { return std::tanh(x[0]); }},
    {"scale", 1, -3, 3, 2, [](const L* x) -> Expected { return x[0] * L(0.37); }},
    {"scale_by_loss_scale", 1, -3, 3, 1, [](const L* x) -> Expected { return x[0] * 1024; }},
    {"sigmoid", 1, -8, 8, 5, [](const L* x) -> Expected { return sigmoid(x[0]); }},
    {"relu", 1, -3, 3, 0, [](const L* x) -> Expected { return x[0] > 0 ? x[0] : 0; }},
    {"silu", 1, -8, 8, 5, [](const L* x) -> Expected { return x[0] * sigmoid(x[0]); }},
    {"gelu", 1, -6, 6, 4,
     [](const L* x) -> Expected {
       return {x[0] * cdf(x[0]), std::fabs(x[0])};
     }},
    {"gelu_tanh", 1, -6, 6, 5,
     [](const L* x) -> Expected {
       return {x[0] / 2 * (1 + std::tanh(tanh_inner(x[0]))), std::fabs(x[0])};
     }},
    {"add", 2, -3, 3, 1, [](const L* x) -> Expected { return x[0] + x[1]; }},
    {"sub", 2, -3, 3, 1, [](const L* x) -> Expected { return x[0] - x[1]; }},
    {"mul", 2, -3, 3, 1, [](const L* x) -> Expected { return x[0] * x[1]; }},
    {"div", 2, -3, 3, 1, [](const L* x) -> Expected { return x[0] / x[1]; }},
    {"maximum", 2, -3, 3, 0, [](const L* x) -> Expected { return std::fmax(x[0], x[1]); }},
    {"tanh_backward", 2, -1, 1, 3,
     [](const L* x) -> Expected {
       return {x[1] * (1 - x[0] * x[0]), std::fabs(x[1])};
     }},
    {"sigmoid_backward", 2, 0, 1, 3,
     [](const L* x) -> Expected {
       return {x[1] * (1 - x[0]) * x[0], std::fabs(x[1] * x[0])};
     }},
    {"sqrt_backward", 2, 0.1, 3, 1, [](const L* x) -> Expected { return x[1] / (2 * x[0]); }},
    {"exp_backward", 2, 0, 3, 1, [](const L* x) -> Expected { return x[1] * x[0]; }},
    {"relu_backward", 2, -3, 3, 0, [](const L* x) -> Expected { return x[0] > 0 ? x[1] : 0; }},
    {"silu_backward", 2, -8, 8, 8,
     [](const L* x) -> Expected {
       const L s = sigmoid(x[0]);
       return {x[1] * s * (1 + x[0] * (1 - s)), std::fabs(x[1] * s) * (1 + std::fabs(x[0]))};
     }},
    {"gelu_backward", 2, -6, 6, 6,
     [](const L* x) -> Expected {
       const L density = std::exp(-x[0] * x[0] / 2) / std::sqrt(2 * pi);
       return {x[1] * (cdf(x[0]) + x[0] * density),
               std::fabs(x[1]) * (1 + std::fabs(x[0]) * density * (1 + x[0] * x[0]))};
     }},
    {"gelu_tanh_backward", 2, -6, 6, 8,
     [](const L* x) -> Expected {
       const L t = std::tanh(tanh_inner(x[0]));
       const L slope = std::sqrt(2 / pi) * (1 + 3 * L(0.044715) * x[0] * x[0]);
       return {x[1] * ((1 + t) / 2 + x[0] / 2 * (1 - t * t) * slope), std::fabs(x[1]) * (2 + std::fabs(x[0] * slope))};
     }},
};

struct Formats {
  Format a, b, y;
};
const Formats combinations[] = {
    {Format::fp32, Format::fp32, Format::fp32}, {Format::fp16, Format::fp16, Format::fp16},
    {Format::bf16, Format::bf16, Format::bf16}, {Format::fp32, Format::fp16, Format::fp16},
    {Format::fp16, Format::fp32, Format::fp32}, {Format::fp32, Format::bf16, Format::bf16},
    {Format::fp32, Format::fp32, Format::fp16}, {Format::tf32, Format::fp32, Format::fp32},
    {Format::fp64, Format::fp64, Format::fp64},
};

OpCase make_case(const Row& row, const Formats& formats, const Shape& a, const Shape& b, const Shape& y) {
  OpCase c;
  c.operation = row.operation;
  c.in.assign(1, a);
  c.in_format.assign(1, formats.a);
  if (row.inputs == 2) {
    c.in.push_back(b);
    c.in_format.push_back(formats.b);
  }
  c.out = {y};
  c.out_format = {formats.y};
  c.compute = formats.y == Format::fp64 ? Format::fp64 : Format::fp32;
  c.factor = row.factor;
  c.set_params(ScaleParams{0.37});
  c.state.loss_scale = 1024.0f;
  c.fill = [&row](int k, std::int64_t, double u) {
    return k == 0 ? row.low + (row.high - row.low) * u : 6.0 * u - 3.0;
  };
  // Broadcasting by plain index arithmetic.
  c.reference = [&row, a, b, y](const std::vector<Values>& in) {
    const auto at = [&y](const Shape& s, std::int64_t flat) {
      std::int64_t index = 0, step = 1;
      for (int axis = y.rank - 1; axis >= 0; --axis) {
        const std::int64_t coordinate = flat % y[axis];
        flat /= y[axis];
        const int own = axis - (y.rank - s.rank);
        if (own < 0) continue;
        if (s[own] != 1) index += coordinate * step;
        step *= s[own];
      }
      return static_cast<std::size_t>(index);
    };
    std::vector<Expected> out;
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      const L x[] = {in[0][at(a, i)], row.inputs == 2 ? in[1][at(b, i)] : 0};
      out.push_back(row.reference(x));
    }
    return std::vector<std::vector<Expected>>{out};
  };
  return c;
}

class Elementwise : public ::testing::TestWithParam<int> {
 protected:
  const Row& row() const { return rows[GetParam()]; }
};

TEST_P(Elementwise, EveryFormatAndOddLength) {
  for (const Formats& formats : combinations) {
    for (const std::int64_t n : {1, 3, 17, 255, 257, 1025}) {
      check(make_case(row(), formats, {n}, {n}, {n}));
      if (HasFatalFailure()) return;
    }
  }
}

TEST_P(Elementwise, StridedPermutedAndBroadcast) {
  for (const Formats& formats : {combinations[0], combinations[1], combinations[5]}) {
    for (const Layout layout : {Layout::padded, Layout::permuted}) {
      OpCase c = make_case(row(), formats, {5, 7, 37}, {5, 7, 37}, {5, 7, 37});
      c.layout = layout;
      check(c);
    }
    check(make_case(row(), formats, {7, 300}, {300}, {7, 300}));
    check(make_case(row(), formats, {7, 300}, {7, 1}, {7, 300}));
    check(make_case(row(), formats, {1, 300, 1}, {7, 1, 3}, {7, 300, 3}));
    check(make_case(row(), formats, {4, 300}, {}, {4, 300}));
    if (HasFatalFailure()) return;
  }
}

TEST_P(Elementwise, InPlaceAndWithThreads) {
  for (const Formats& formats : {combinations[0], combinations[2]}) {
    OpCase c = make_case(row(), formats, {33, 1025}, {33, 1025}, {33, 1025});
    c.alias_first = true;
    c.threads = true;
    check(c);
    if (HasFatalFailure()) return;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Elementwise, ::testing::Range(0, static_cast<int>(std::size(rows))),
                         [](const auto& p) { return std::string(rows[p.param].operation); });

/// Special values go through as IEEE and PyTorch have it.
TEST(ElementwiseSpecial, NonFinite) {
  const double inf = HUGE_VAL, nan = std::nan("");
  const struct {
    const char* operation;
    double a, b, expected;
  } cases[] = {
      {"relu", nan, 0, nan},     {"relu", -inf, 0, 0},         {"relu", inf, 0, inf},      {"maximum", nan, 1, nan},
      {"maximum", 1, nan, nan},  {"maximum", -inf, -2, -2},    {"exp", -inf, 0, 0},        {"exp", inf, 0, inf},
      {"exp", 89, 0, inf},       {"log", 0, 0, -inf},          {"log", -1, 0, nan},        {"sqrt", -1, 0, nan},
      {"sigmoid", -inf, 0, 0},   {"sigmoid", inf, 0, 1},       {"tanh", -inf, 0, -1},      {"erf", inf, 0, 1},
      {"gelu", inf, 0, inf},     {"gelu", -inf, 0, nan},       {"sub", inf, inf, nan},     {"mul", 0, inf, nan},
      {"div", 1, 0, inf},        {"relu_backward", nan, 3, 3}, {"relu_backward", 0, 3, 0}, {"abs", -inf, 0, inf},
      {"reciprocal", 0, 0, inf}, {"neg", inf, 0, -inf},        {"rsqrt", 0, 0, inf},
  };
  for (const auto& test : cases) {
    for (const InstructionSet set : instruction_sets()) {
      TestTensor a({33}, Format::fp32), b({33}, Format::fp32), y({33}, Format::fp32);
      for (int i = 0; i < 33; ++i) a.set(i, test.a), b.set(i, test.b);
      const bool binary = std::string(test.operation).find("backward") != std::string::npos ||
                          std::string("maximum sub mul div").find(test.operation) != std::string::npos;
      std::vector<Tensor> in = {a.view()};
      if (binary) in.push_back(b.view());
      execute(test.operation, Format::fp32, in, {y.view()}, nullptr, {}, set, 1);
      for (int i = 0; i < 33; ++i) {
        const bool same = std::isnan(test.expected) ? std::isnan(y.get(i)) : y.get(i) == test.expected;
        ASSERT_TRUE(same) << test.operation << "(" << test.a << ", " << test.b << ") = " << y.get(i);
      }
    }
  }
}

/// Bounds that fp16 holds: results are exact in every format, on every instruction set; fp64 checks the gradient's.
TEST(ElementwiseSpecial, Clamp) {
  const double inf = HUGE_VAL, nan = std::nan("");
  const ClampParams bounds{-0.75, 2.5};
  const struct {
    double x, y, dx;   ///< dx: of a gradient of 3
  } cases[] = {{-0.75, -0.75, 3}, {-0.5, -0.5, 3}, {0, 0, 3},       {2.5, 2.5, 3},   {2.501953125, 2.5, 0},
               {-0.8125, -0.75, 0}, {inf, 2.5, 0}, {-inf, -0.75, 0}, {nan, nan, 0}};
  for (const Format format : {Format::fp32, Format::fp16})
    for (const InstructionSet set : instruction_sets())
      for (const auto& each : cases) {
        TestTensor x({33}, format), dy({33}, format), y({33}, format), dx({33}, format);
        for (int i = 0; i < 33; ++i) x.set(i, each.x), dy.set(i, 3);
        execute("clamp", Format::fp32, {x.view()}, {y.view()}, &bounds, {}, set, 1);
        execute("clamp_backward", Format::fp32, {x.view(), dy.view()}, {dx.view()}, &bounds, {}, set, 1);
        for (int i = 0; i < 33; ++i) {
          ASSERT_TRUE(std::isnan(each.y) ? std::isnan(y.get(i)) : y.get(i) == each.y) << each.x << " -> " << y.get(i);
          ASSERT_EQ(dx.get(i), each.dx) << each.x;
        }
      }
}

TEST(ElementwiseSpecial, MseLossBackward) {
  OpCase c;
  c.operation = "mse_loss_backward";
  c.in = {{31, 9}, {31, 9}, {}};
  c.out = {{31, 9}};
  c.factor = 4;
  c.reference = [](const std::vector<Values>& in) {
    std::vector<Expected> out;
    for (std::size_t i = 0; i < in[0].size(); ++i) {
      out.push_back(2.0L / static_cast<L>(in[0].size()) * (in[0][i] - in[1][i]) * in[2][0]);
    }
    return std::vector<std::vector<Expected>>{out};
  };
  for (const Format f : {Format::fp32, Format::fp16, Format::bf16, Format::fp64}) check(c.set_formats(f));
}

}  // namespace
}  // namespace ulpscope::test
