// Convolutions and their gradients against direct sums in double; bits that depend on the products of the instruction
// set alone; counts.
#include <gtest/gtest.h>

#include "kernels/error.h"
#include "tests/kernels/products/product_run.h"

namespace ulpscope::test {
namespace {

struct Sizes {
  std::int64_t n, c, h, w, o, kh, kw;
  ConvParams params;

  std::int64_t oh() const {
    return (h + 2 * params.window.padding[0] - params.window.dilation[0] * (kh - 1) - 1) / params.window.stride[0] + 1;
  }
  std::int64_t ow() const {
    return (w + 2 * params.window.padding[1] - params.window.dilation[1] * (kw - 1) - 1) / params.window.stride[1] + 1;
  }
  std::int64_t inputs() const { return c / params.groups; }
  Shape x() const { return {n, c, h, w}; }
  Shape weight() const { return {o, inputs(), kh, kw}; }
  Shape y() const { return {n, o, oh(), ow()}; }

  /// f(index in y, in x, in the weight) for every product.
  template <class F>
  void each(F f) const {
    const Window& window = params.window;
    for (std::int64_t in = 0; in < n; ++in)
      for (std::int64_t out = 0; out < o; ++out)
        for (std::int64_t r = 0; r < oh(); ++r)
          for (std::int64_t s = 0; s < ow(); ++s)
            for (std::int64_t k = 0; k < inputs() * kh * kw; ++k) {
              const std::int64_t channel = out / (o / params.groups) * inputs() + k / (kh * kw);
              const std::int64_t i = r * window.stride[0] - window.padding[0] + k / kw % kh * window.dilation[0];
              const std::int64_t j = s * window.stride[1] - window.padding[1] + k % kw * window.dilation[1];
              if (i < 0 || i >= h || j < 0 || j >= w) continue;
              f(static_cast<std::size_t>(((in * o + out) * oh() + r) * ow() + s),
                static_cast<std::size_t>(((in * c + channel) * h + i) * w + j),
                static_cast<std::size_t>(out * inputs() * kh * kw + k));
            }
  }
};

Sizes make(std::int64_t n, std::int64_t c, std::int64_t h, std::int64_t w, std::int64_t o, std::int64_t kh,
           std::int64_t kw, Window window = {}, std::int64_t groups = 1) {
  Sizes s{n, c, h, w, o, kh, kw, {}};
  window.kernel[0] = kh;
  window.kernel[1] = kw;
  s.params.window = window;
  s.params.groups = groups;
  return s;
}

std::vector<Sizes> cases() {
  return {make(2, 3, 5, 6, 4, 3, 2),
          make(2, 2, 9, 8, 3, 3, 3, {{}, {2, 3}, {1, 2}, {1, 1}}),
          make(3, 4, 7, 7, 6, 3, 3, {{}, {1, 1}, {2, 2}, {2, 2}}, 2),
          make(1, 1, 1, 20, 2, 1, 5, {{}, {1, 2}, {0, 2}, {1, 1}}),
          make(2, 5, 4, 4, 7, 1, 1),
          make(20, 8, 12, 12, 16, 3, 3, {{}, {1, 1}, {1, 1}, {1, 1}}),
          make(17, 6, 6, 5, 6, 3, 3, {{}, {1, 1}, {1, 1}, {1, 1}}, 6),
          make(1, 2, 2, 2, 3, 3, 3, {{}, {1, 1}, {3, 3}, {2, 2}})};
}

/// Largest difference, relative to the sum of magnitudes of an element.
double difference(const Array& got, const std::vector<double>& exact, const std::vector<double>& size) {
  double worst = 0.0;
  for (std::size_t i = 0; i < exact.size(); ++i) {
    const double e = std::abs(got.at(static_cast<std::int64_t>(i)) - exact[i]) / (size[i] + 1e-30);
    worst = std::isnan(e) ? HUGE_VAL : std::max(worst, e);
  }
  return worst;
}

struct Formats {
  Format stored, multiply, result;
};

class Convolution : public ::testing::TestWithParam<Formats> {
 protected:
  double seen(const Array& a, std::size_t i) const {
    return seen_by(a.format, GetParam().multiply, a.at(static_cast<std::int64_t>(i)));
  }
  /// fp32 sums of at most some hundred terms, then one rounding to the result's format.
  double tolerance() const {
    return GetParam().stored == Format::fp64
               ? 1e-14
               : 1e-6 + (is_16bit(GetParam().result) ? info(GetParam().result).unit_roundoff : 0.0);
  }
  Format compute() const { return GetParam().stored == Format::fp64 ? Format::fp64 : Format::fp32; }

  /// Runs with every instruction set and number of threads; the same bits for any threads and for both fused sets.
  void run(const char* operation, std::vector<Array*> in, Array& out, const ConvParams& params) {
    std::vector<unsigned char> fused;
    for (const InstructionSet set : available_sets()) {
      std::vector<unsigned char> first;
      for (const int threads : {1, 2, 3}) {
        RoundingCounts counts;
        launch(operation, in, {&out.nan()}, &params, {.compute = compute(), .threads = threads, .set = set});
        if (threads == 1) first = out.bytes;
        ASSERT_TRUE(out.bytes == first) << operation << ": other bits with " << threads << " threads";
        launch(operation, in, {&out.nan()}, &params,
               {.compute = compute(), .threads = threads, .set = set, .counts = {&counts}});
        ASSERT_TRUE(out.bytes == first) << operation << ": other bits when observed";
        ASSERT_EQ(counts.elements, out.size());
      }
      if (set == InstructionSet::portable) continue;
      if (fused.empty()) fused = first;
      ASSERT_TRUE(fused == first) << operation << ": " << name(set) << " has other bits";
    }
  }
};

TEST_P(Convolution, AgreesWithDirectSums) {
  unsigned seed = 1;
  for (Sizes s : cases()) {
    s.params.multiply = GetParam().multiply;
    const Format f = GetParam().stored, r = GetParam().result;
    Array x(f, s.x()), weight(f, s.weight()), bias(f, Shape{s.o}), y(r, s.y()), plain(r, s.y()), dy(f, s.y()),
        dx(r, s.x()), dw(r, s.weight());
    x.normal(seed++), weight.normal(seed++), bias.normal(seed++), dy.normal(seed++);
    const auto zeros = [](const Array& a) { return std::vector<double>(static_cast<std::size_t>(a.size())); };
    std::vector<double> ey = zeros(y), sy = ey, ex = zeros(dx), sx = ex, ew = zeros(dw), sw = ew, ep;
    const auto add = [](std::vector<double>& sum, std::vector<double>& size, std::size_t i, double term) {
      sum[i] += term, size[i] += std::abs(term);
    };
    s.each([&](std::size_t iy, std::size_t ix, std::size_t iw) {
      add(ey, sy, iy, seen(x, ix) * seen(weight, iw));
      add(ex, sx, ix, seen(dy, iy) * seen(weight, iw));
      add(ew, sw, iw, seen(x, ix) * seen(dy, iy));
    });
    ep = ey;
    const std::vector<double> sp = sy;
    for (std::size_t i = 0; i < ey.size(); ++i)
      add(ey, sy, i, bias.at(static_cast<std::int64_t>(i) / (s.oh() * s.ow()) % s.o));
    run("conv2d", {&x, &weight, &bias}, y, s.params);
    run("conv2d", {&x, &weight}, plain, s.params);
    run("conv2d_backward_input", {&weight, &dy}, dx, s.params);
    run("conv2d_backward_weight", {&x, &dy}, dw, s.params);
    if (HasFatalFailure()) return;
    EXPECT_LE(difference(y, ey, sy), tolerance());
    EXPECT_LE(difference(plain, ep, sp), tolerance());
    EXPECT_LE(difference(dx, ex, sx), tolerance());
    EXPECT_LE(difference(dw, ew, sw), tolerance());
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, Convolution,
                         ::testing::Values(Formats{Format::fp32, Format::fp32, Format::fp32},
                                           Formats{Format::fp32, Format::tf32, Format::fp32},
                                           Formats{Format::fp16, Format::fp16, Format::fp16},
                                           Formats{Format::bf16, Format::bf16, Format::bf16},
                                           Formats{Format::bf16, Format::bf16, Format::fp32},
                                           Formats{Format::fp64, Format::fp64, Format::fp64}),
                         [](const auto& p) {
                           return std::string(name(p.param.stored)) + "_" + name(p.param.multiply) + "_" +
                                  name(p.param.result);
                         });

TEST(ConvolutionContract, RefusesShapesThatDoNotFit) {
  const Sizes s = make(2, 3, 5, 6, 4, 3, 2);
  Array x(Format::fp32, s.x()), weight(Format::fp32, s.weight()), y(Format::fp32, {2, 4, 3, 6});
  EXPECT_THROW(launch("conv2d", {&x, &weight}, {&y}, &s.params), Error);
  ConvParams groups = s.params;
  groups.groups = 2;
  Array right(Format::fp32, s.y());
  EXPECT_THROW(launch("conv2d", {&x, &weight}, {&right}, &groups), Error);
}

}  // namespace
}  // namespace ulpscope::test
