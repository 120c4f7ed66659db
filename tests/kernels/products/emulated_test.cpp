// The products of GPUs, where they can be held to more than a tolerance: sums of small integers and of one term are exact in any
// order, so the bits are those of the CPU. And what a plan hands to cuBLASLt.
#include <gtest/gtest.h>

#include <cstdlib>

#include "kernels/cuda/lt_plan.h"
#include "kernels/cuda/product.h"
#include "kernels/error.h"
#include "kernels/matmul.h"
#include "tests/kernels/products/attention_reference.h"
#include "tests/kernels/same_counts.h"

namespace ulpscope::test {
namespace {

Device& gpu() { return device_for(best_instruction_set()); }
Device& cpu() { return cpu_for(best_instruction_set()); }

Array& integers(Array& a, unsigned seed, int most = 3) {
  std::mt19937 generator(seed);
  return a.fill([&](std::int64_t) { return static_cast<double>(static_cast<int>(generator() % static_cast<unsigned>(2 * most + 1)) - most); });
}

/// Sums of the counts are added in another order than on the CPU.
bool same_but_for_sums(const RoundingCounts& a, RoundingCounts b) {
  for (double RoundingCounts::*sum : {&RoundingCounts::sum, &RoundingCounts::sum_of_squares, &RoundingCounts::sum_of_errors,
                                      &RoundingCounts::sum_of_squared_errors}) {
    if (std::abs(a.*sum - b.*sum) > 1e-12 * a.sum_of_squares) return false;
    b.*sum = a.*sum;
  }
  return same_counts(a, b);
}

/// Runs on both; outputs have the same bits and the same counts.
void expect_same(const std::string& operation, const std::vector<Array*>& in, const std::vector<Array*>& out, const void* params,
                 Options options, const std::string& where) {
  std::vector<RoundingCounts> counts[2] = {std::vector<RoundingCounts>(out.size()), std::vector<RoundingCounts>(out.size())};
  std::vector<std::vector<unsigned char>> bytes[2];
  for (const bool counted : {false, true}) {
    for (int which = 0; which < 2; ++which) {
      options.counts.clear();
      for (RoundingCounts& c : counts[which])
        if (counted) options.counts.push_back(&c);
      for (Array* a : out) a->nan();
      launch_on(which == 0 ? cpu() : gpu(), operation, in, out, params, options);
      for (Array* a : out) bytes[which].push_back(a->bytes);
    }
  }
  EXPECT_TRUE(bytes[0] == bytes[1]) << operation << " " << where;
  for (std::size_t i = 0; i < out.size(); ++i)
    EXPECT_TRUE(same_but_for_sums(counts[0][i], counts[1][i])) << operation << " " << where << ": counts of " << i;
}

constexpr Format floats[] = {Format::fp32, Format::tf32, Format::fp16, Format::bf16, Format::fp8_e4m3, Format::fp8_e5m2, Format::fp64};

TEST(EmulatedMatmul, SumsOfOneTermHaveTheBitsOfTheCpuInEveryCombinationOfFormats) {
  for (const Format fa : floats)
    for (const Format fb : floats)
      for (const Format fc : floats)
        for (const Format multiply : {Format::fp32, Format::tf32, Format::fp16, Format::bf16}) {
          // From fp64 the CPU rounds once to what it multiplies in; here, by way of fp32, twice.
          if (multiply != Format::fp32 && (fa == Format::fp64 || fb == Format::fp64)) continue;
          Array a(fa, {9, 1}), b(fb, {1, 8}), c(fc, {9, 8});
          a.normal(1, 3.0), b.normal(2, 3.0);
          const MatmulParams params{false, false, multiply};
          Array right = c;
          launch_on(cpu(), "matmul", {&a, &b}, {&right}, &params);
          launch_on(gpu(), "matmul", {&a, &b}, {&c.nan()}, &params);
          ASSERT_TRUE(c.bytes == right.bytes) << name(fa) << " " << name(fb) << " " << name(fc) << " " << name(multiply);
        }
}

TEST(EmulatedMatmul, SumsOfIntegersHaveTheBitsAndTheCountsOfTheCpu) {
  for (const Format f : {Format::fp32, Format::fp16, Format::bf16})
    for (const Format multiply : {Format::fp32, Format::tf32, Format::fp16})
      for (const Format result : {Format::fp32, Format::fp16, Format::bf16, Format::fp8_e4m3})
        for (const Format bias_format : {Format::fp32, Format::fp16, Format::i32}) {
          Array a(f, {2, 3, 5, 40}), b(f, {2, 3, 40, 16}), c(result, {2, 3, 5, 16}), bias(bias_format == Format::i32 ? Format::fp32 : bias_format, {16});
          integers(a, 1, 40), integers(b, 2), integers(bias, 3, 9);
          const MatmulParams params{false, false, multiply};
          std::vector<Array*> in = {&a, &b};
          if (bias_format != Format::i32) in.push_back(&bias);
          expect_same("matmul", in, {&c}, &params, {}, std::string(name(f)) + " " + name(multiply) + " " + name(result) + " " + name(bias_format));
        }
}

TEST(EmulatedConvolution, SumsOfIntegersHaveTheBitsAndTheCountsOfTheCpu) {
  for (const Format f : {Format::fp32, Format::fp16, Format::fp8_e4m3})
    for (const std::int64_t groups : {1, 2})
      for (const std::int64_t kernel : {1, 3}) {
        ConvParams p;
        for (int axis = 0; axis < 2; ++axis) {
          p.window.kernel[axis] = kernel;
          p.window.stride[axis] = kernel == 3 ? 2 - axis : 1;
          p.window.padding[axis] = kernel == 3 ? 1 + axis : 0;
        }
        p.groups = groups;
        p.multiply = f == Format::fp32 ? f : Format::fp16;
        const std::int64_t h = kernel == 3 ? 5 : 9, w = kernel == 3 ? 12 : 10;
        const Shape sx{37, 4, 9, 10}, sw{6, 4 / groups, kernel, kernel}, sy{37, 6, h, w};
        Array x(f, sx), weight(f, sw), bias(Format::fp32, {6}), y(f, sy), dy(f, sy), dx(f, sx), dw(f, sw);
        integers(x, 1), integers(weight, 2), integers(bias, 3), integers(dy, 4);
        const std::string where = std::string(name(f)) + " groups " + std::to_string(groups) + " kernel " + std::to_string(kernel);
        expect_same("conv2d", {&x, &weight}, {&y}, &p, {}, where);
        expect_same("conv2d", {&x, &weight, &bias}, {&y}, &p, {}, where + " bias");
        expect_same("conv2d_backward_input", {&weight, &dy}, {&dx}, &p, {}, where);
        expect_same("conv2d_backward_weight", {&x, &dy}, {&dw}, &p, {}, where);
      }
}

TEST(EmulatedConvolution, OfNoImagesGivesAGradientOfZeros) {
  ConvParams p;
  Array x(Format::fp32, {0, 2, 4, 4}), dy(Format::fp32, {0, 3, 4, 4}), dw(Format::fp32, {3, 2, 1, 1});
  x.bytes.resize(4), dy.bytes.resize(4);
  launch_on(gpu(), "conv2d_backward_weight", {&x, &dy}, {&dw.nan()}, &p);
  for (std::int64_t i = 0; i < dw.size(); ++i) EXPECT_EQ(dw.at(i), 0.0);
}

/// Scores of integers are exact: the softmax, what is stored of it and dropout's bits are the CPU's. Rows of 40 keys are a warp's,
/// of 2000 a block's, of 13000 too long for a block's memory.
TEST(EmulatedAttention, ProbabilitiesHaveTheBitsOfTheCpu) {
  StepState state;
  state.iteration = 3;
  for (const std::int64_t keys : {40, 2000, 13000})
    for (const Format f : {Format::fp32, Format::fp16}) {
      const Sizes s{2, 2, 3, keys, 4};
      AttentionParams p = make_params(s, keys == 2000, f, 0.25f);
      p.scale = 0.25f;
      Array q(f, s.q()), k(f, s.k()), v(f, s.k()), o(f, s.q()), dout(f, s.q()), visible(Format::fp32, {2, keys});
      Array probs[2] = {{f, s.probs()}, {f, s.probs()}};
      integers(q, 1), integers(k, 2), v.normal(3), dout.normal(4);
      visible.format = Format::i32;
      for (std::int64_t i = 0; i < 2 * keys; ++i) {
        const std::int32_t seen = i % 7 != 3 ? 1 : 0;
        std::memcpy(visible.bytes.data() + i * 4, &seen, sizeof seen);
      }
      RoundingCounts counts[2];
      for (int which = 0; which < 2; ++which)
        launch_on(which == 0 ? cpu() : gpu(), "attention", {&q, &k, &v, &visible}, {&o.nan(), &probs[which].nan()}, &p,
                  {.counts = {nullptr, &counts[which]}, .state = &state});
      EXPECT_TRUE(probs[0].bytes == probs[1].bytes) << keys << " " << name(f);
      EXPECT_EQ(counts[0].zero, counts[1].zero);
      EXPECT_EQ(counts[0].flushed, counts[1].flushed);
      EXPECT_EQ(counts[0].subnormal, counts[1].subnormal);
      EXPECT_EQ(counts[0].greatest_magnitude, counts[1].greatest_magnitude);
      EXPECT_NEAR(counts[0].sum, counts[1].sum, 1e-9 * counts[0].sum);
      // Backwards through the same probabilities: the sums differ in their last bits alone.
      Array got[2][3] = {{{f, s.q()}, {f, s.k()}, {f, s.k()}}, {{f, s.q()}, {f, s.k()}, {f, s.k()}}};
      for (int which = 0; which < 2; ++which)
        launch_on(which == 0 ? cpu() : gpu(), "attention_backward", {&q, &k, &v, &probs[0], &dout},
                  {&got[which][0].nan(), &got[which][1].nan(), &got[which][2].nan()}, &p, {.state = &state});
      for (int i = 0; i < 3; ++i) {
        std::vector<double> right;
        for (std::int64_t e = 0; e < got[0][i].size(); ++e) right.push_back(got[0][i].at(e));
        EXPECT_LE(difference(got[1][i], right), f == Format::fp32 ? 3e-6 : 2.0 * info(f).unit_roundoff) << keys << " " << name(f) << " " << i;
      }
    }
}

/// The other operands are the unit matrix: what the kernels between the products make is the result, through one product each.
TEST(EmulatedAttention, OperandsOfTheSecondProductsHaveTheBitsOfTheCpu) {
  StepState state;
  state.micro_batch = 2;
  for (const Format f : {Format::fp32, Format::fp16, Format::bf16})
    for (const Format multiply : {Format::fp32, Format::tf32, Format::fp16, Format::bf16}) {
      const Sizes s{2, 3, 8, 8, 8};
      AttentionParams p = make_params(s, true, multiply, 0.25f);
      p.scale = 0.5f;
      const auto unit = [](std::int64_t i) { return i / 8 % 8 == i % 8 ? 1.0 : 0.0; };
      Array q(f, s.q()), k(f, s.k()), v(f, s.k()), ones(f, s.q()), probs(f, s.probs()), weights(f, s.probs());
      integers(q, 1), integers(k, 2), integers(v, 3), ones.fill(unit), weights.normal(4);
      // Forwards: o = P. Backwards: dq = dS, dk and dv the transposes of dS and P.
      Array o(Format::fp32, s.q()), dq(Format::fp32, s.q()), dk(Format::fp32, s.k()), dv(Format::fp32, s.k());
      const std::string where = std::string(name(f)) + " " + name(multiply);
      expect_same("attention", {&q, &k, &ones}, {&o}, &p, {.state = &state}, where);
      expect_same("attention_backward", {&ones, &ones, &v, &weights, &ones}, {&dq, &dk, &dv}, &p, {.state = &state}, where);
    }
}

TEST(EmulatedProducts, ChooseOnceForEachShapeAndSayWhat) {
  if (on_gpu()) GTEST_SKIP() << "a GPU's choices are in its module";
  Array a(Format::bf16, {11, 24}), b(Format::bf16, {24, 8}), c(Format::bf16, {11, 8}), bias(Format::bf16, {8});
  a.normal(1), b.normal(2), bias.normal(3);
  const MatmulParams params{false, false, Format::bf16};
  const std::size_t before = cuda::product_choices().size();
  for (int i = 0; i < 3; ++i) launch_on(gpu(), "matmul", {&a, &b, &bias}, {&c}, &params);
  const std::vector<cuda::ProductChoice> choices = cuda::product_choices();
  ASSERT_EQ(choices.size(), before + 1);
  const cuda::ProductChoice& made = choices.back();
  EXPECT_EQ(made.rows, 11);
  EXPECT_EQ(made.columns, 8);
  EXPECT_EQ(made.depth, 24);
  EXPECT_EQ(made.a, Format::bf16);
  EXPECT_TRUE(made.bias);
  EXPECT_FALSE(made.transposed_a);
  EXPECT_STREQ(made.compute, "fp32");
  launch_on(gpu(), "matmul", {&a, &b}, {&c}, &params);
  EXPECT_EQ(cuda::product_choices().size(), before + 2);
}

TEST(EmulatedProducts, TakeNoEpilogue) {
  EXPECT_FALSE(gpu().kernels().find("matmul", Format::fp32).takes_epilogue);
  Array a(Format::fp32, {2, 2}), c(Format::fp32, {2, 2});
  const MatmulParams params;
  const Epilogue epilogue;
  EXPECT_THROW(launch_on(gpu(), "matmul", {&a, &a}, {&c}, &params, {.epilogue = &epilogue}), Error);
}

/// NUMERICS of tf32: 1 + 2^-11 is a tie, which goes away from zero, to even (1) or is cut off (1); 1 + 3 * 2^-11 is one that away and even
/// take to 1 + 4 * 2^-11; 1 + 3 * 2^-12 is none, and only cutting off keeps it at 1.
TEST(Gpu, SaysHowItRoundsToTf32) {
  if (!on_gpu()) GTEST_SKIP() << "ULPSCOPE_TEST_GPU names no GPU";
  constexpr std::int64_t n = 64;   // large enough for every kind of kernel
  const double values[] = {1 + 0x1p-11, 1 + 3 * 0x1p-11, 1 + 3 * 0x1p-12};
  Array a(Format::fp32, {n, n}), one(Format::fp32, {n, n}), c(Format::fp32, {n, n});
  a.fill([&](std::int64_t i) { return i % n == 0 ? values[i / n % 3] : 0.0; });
  one.fill([](std::int64_t i) { return i / n == i % n ? 1.0 : 0.0; });
  const MatmulParams params{false, false, Format::tf32};
  launch_on(gpu(), "matmul", {&a, &one}, {&c.nan()}, &params, {.as_they_are = true});
  const double got[] = {c.at(0), c.at(n), c.at(2 * n)};
  const bool none = got[0] == values[0], nearest = got[2] == 1 + 0x1p-10, away = got[0] == 1 + 0x1p-10, cut = got[2] == 1.0;
  const std::string rule = none ? "not at all: fp32" : !nearest && cut ? "towards zero" : away ? "to nearest, ties away from zero" : "to nearest, ties to even";
  EXPECT_TRUE(none || nearest || cut) << got[0] << ' ' << got[1] << ' ' << got[2];
  RecordProperty("tf32_rounding", rule);
  std::printf("tf32 operands of fp32 are rounded %s\n", rule.c_str());
}

TEST(Tf32Override, IsRead) {
  unsetenv("NVIDIA_TF32_OVERRIDE");
  EXPECT_EQ(cuda::tf32_override(), "");
  setenv("NVIDIA_TF32_OVERRIDE", "0", 1);
  EXPECT_EQ(cuda::tf32_override(), "0");
  unsetenv("NVIDIA_TF32_OVERRIDE");
}

cuda::ProductPlan plan(const Tensor& a, const Tensor& b, const Tensor& c, const MatmulParams& params, const Tensor* bias = nullptr,
                       Format compute = Format::fp32) {
  const Tensor in[] = {a, b, bias != nullptr ? *bias : Tensor()};
  Launch l;
  l.in = in;
  l.in_count = bias != nullptr ? 3 : 2;
  l.out = &c;
  l.out_count = 1;
  l.params = &params;
  return cuda::plan_product(l, compute, 0);
}
Tensor view(Format f, const Shape& shape) { return Tensor(nullptr, f, shape); }

TEST(LtPlan, SwapsTheOperandsOfRowMajorMatrices) {
  const cuda::ProductPlan p = plan(view(Format::fp16, {5, 7}), view(Format::fp16, {3, 7}), view(Format::fp16, {5, 3}), {false, true, Format::fp16});
  EXPECT_EQ(p.copy_count, 0);
  EXPECT_FALSE(p.finishes);
  EXPECT_EQ(p.call.compute, cuda::LtCompute::fp32);
  const cuda::LtLayout a{Format::fp16, 7, 3, 7, 0}, b{Format::fp16, 7, 5, 7, 0}, d{Format::fp16, 3, 5, 3, 0};
  EXPECT_EQ(p.call.a, a);   // our B, stored [3, 7]
  EXPECT_TRUE(p.call.transpose_a);
  EXPECT_EQ(p.call.b, b);
  EXPECT_FALSE(p.call.transpose_b);
  EXPECT_EQ(p.call.d, d);
  EXPECT_EQ(p.call.depth(), 7);
}

TEST(LtPlan, NeverAsksForNarrowerProductsThanTheModes) {
  for (const Format stored : floats)
    for (const Format result : floats) {
      const auto compute = [&](Format multiply, Format in) {
        return plan(view(stored, {8, 8}), view(stored, {8, 8}), view(result, {8, 8}), {false, false, multiply}, nullptr, in).call;
      };
      if (info(stored).mantissa_bits > 10) {   // narrower operands are exact in narrower products: library_test.cpp
        EXPECT_EQ(compute(Format::fp32, Format::fp32).compute, cuda::LtCompute::fp32_pedantic);
        EXPECT_EQ(compute(Format::fp32, Format::fp32).a.format, Format::fp32);
        EXPECT_EQ(compute(Format::tf32, Format::fp32).compute, cuda::LtCompute::fast_tf32);
      }
      EXPECT_EQ(compute(Format::bf16, Format::fp32).a.format, Format::bf16);
      EXPECT_THROW(compute(Format::fp8_e4m3, Format::fp32), Error);
      EXPECT_EQ(compute(Format::bf16, Format::fp64).compute, cuda::LtCompute::fp64);
    }
}

TEST(LtPlan, ConvertsOnlyWhatTheMultiplierDoesNotSee) {
  const Shape s{8, 8};
  EXPECT_EQ(plan(view(Format::fp32, s), view(Format::fp16, s), view(Format::fp16, s), {false, false, Format::fp16}).copy_count, 1);
  EXPECT_EQ(plan(view(Format::fp32, s), view(Format::fp32, s), view(Format::fp32, s), {false, false, Format::tf32}).copy_count, 0);
  Tensor gaps = view(Format::fp32, {8, 8});
  gaps.stride = {16, 2};
  EXPECT_EQ(plan(gaps, view(Format::fp32, s), view(Format::fp32, s), {}).copy_count, 1);
  EXPECT_TRUE(plan(view(Format::fp32, s), view(Format::fp32, s), gaps, {}).finishes);
}

TEST(LtPlan, LeavesTheBiasToTheLibraryWhereItsFormatHoldsIt) {
  const Shape s{8, 8};
  const auto with = [&](Format result, Format bias) {
    const Tensor b = view(bias, {8});
    return plan(view(Format::fp16, s), view(Format::fp16, s), view(result, s), {false, false, Format::fp16}, &b);
  };
  EXPECT_TRUE(with(Format::fp16, Format::fp16).call.bias);
  EXPECT_TRUE(with(Format::fp32, Format::fp16).call.bias);
  EXPECT_TRUE(with(Format::fp32, Format::fp32).call.bias);
  for (const Format bias : {Format::fp32, Format::bf16}) {
    EXPECT_FALSE(with(Format::fp16, bias).call.bias) << name(bias);
    EXPECT_TRUE(with(Format::fp16, bias).bias_after) << name(bias);
    EXPECT_EQ(with(Format::fp16, bias).call.d.format, Format::fp32) << name(bias);
  }
}

TEST(LtPlan, MakesOneCallOfABatchWhereStridesAllowIt) {
  const MatmulParams params;
  const auto dense = plan(view(Format::fp32, {4, 3, 5, 6}), view(Format::fp32, {4, 3, 6, 7}), view(Format::fp32, {4, 3, 5, 7}), params);
  EXPECT_EQ(dense.calls, 1);
  EXPECT_EQ(dense.call.batch, 12);
  EXPECT_EQ(dense.call.b.batch_stride, 30);
  // A weight for all: one product of many rows.
  const auto shared = plan(view(Format::fp32, {4, 3, 5, 6}), view(Format::fp32, {6, 7}), view(Format::fp32, {4, 3, 5, 7}), params);
  EXPECT_EQ(shared.calls * shared.call.batch, 1);
  EXPECT_EQ(shared.call.d.columns, 60);
  // Heads side by side in a row.
  Tensor heads = view(Format::fp32, {4, 3, 5, 6});
  heads.stride = {5 * 18, 6, 18, 1};
  const auto interleaved = plan(heads, view(Format::fp32, {4, 3, 6, 7}), view(Format::fp32, {4, 3, 5, 7}), params);
  EXPECT_EQ(interleaved.calls, 3);   // the shorter dimension
  EXPECT_EQ(interleaved.call.batch, 4);
  EXPECT_EQ(interleaved.b_step, 6);
  EXPECT_EQ(interleaved.call.b.leading, 18);
  // The same matrix for every index of the batch.
  Tensor same = view(Format::fp32, {4, 1, 6, 7});
  const auto broadcast = plan(view(Format::fp32, {4, 3, 5, 6}), same, view(Format::fp32, {4, 3, 5, 7}), params);
  EXPECT_EQ(broadcast.calls * broadcast.call.batch, 4);   // its three matrices of A are one of 15 rows
}

void run_right(const Launch& l) { gpu().kernels().find("matmul", Format::fp32).run(l); }
void change(const Tensor& c, std::int64_t element, float by) {
  float x = 0.0f;
  auto* place = static_cast<unsigned char*>(c.data) + element * storage_bytes(c.format);
  if (c.format != Format::fp32) return;
  gpu().copy_to_host(&x, place, sizeof x);
  x += by;
  gpu().copy_to_device(place, &x, sizeof x);
}
void last_element_wrong(const Launch& l) {
  run_right(l);
  change(l.out[0], l.out[0].elements() - 1, 1.0f);
}
void writes_nothing(const Launch&) {}
void leaves_tiles_unwritten(const Launch& l) {
  run_right(l);
  if (l.out[0].shape.rank == 3 && l.out[0].shape[1] == 136) gpu().fill(static_cast<unsigned char*>(l.out[0].data) + 4096, 0xff, 256);
}
void adds_the_bias_to_what_was_rounded(const Launch& l) {
  if (l.in_count < 3) return run_right(l);
  Launch without = l;
  without.in_count = 2;
  run_right(without);
}

TEST(EmulatedSelfTest, PassesOnADeviceWithMemoryOfItsOwn) {
  const std::size_t live = gpu().live_bytes();
  EXPECT_NO_THROW(matmul_self_test(gpu()));
  EXPECT_EQ(gpu().live_bytes(), live);
  EXPECT_EQ(gpu().peak_bytes(), live);
}

TEST(EmulatedSelfTest, RefusesWrongProductsAsADeviceFault) {
  for (void (*wrong)(const Launch&) : {last_element_wrong, writes_nothing, leaves_tiles_unwritten, adds_the_bias_to_what_was_rounded})
    EXPECT_THROW(matmul_self_test(gpu(), wrong), Error);
  const auto message = [] {
    try {
      matmul_self_test(gpu(), leaves_tiles_unwritten);
    } catch (const Error& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  const DeviceDescription& d = gpu().description();
  for (const std::string& part : {std::string("device fault"), d.matmul_library, "this GPU (" + d.name + ")", std::string("136x150"), std::string("nan"),
                                  std::string("ULPSCOPE_CUDA_LIBRARIES")})
    EXPECT_NE(message().find(part), std::string::npos) << part << " not in: " << message();
  setenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "30", 1);
  EXPECT_NE(message().find("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE=30"), std::string::npos);
  unsetenv("CUDA_MPS_ACTIVE_THREAD_PERCENTAGE");
  if (on_gpu()) return;   // its library reads the next one
  setenv("NVIDIA_TF32_OVERRIDE", "1", 1);
  EXPECT_NE(message().find("NVIDIA_TF32_OVERRIDE=1"), std::string::npos);
  unsetenv("NVIDIA_TF32_OVERRIDE");
}

}  // namespace
}  // namespace ulpscope::test
