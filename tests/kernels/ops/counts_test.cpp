// What is counted of a launch is the same for every instruction set, number of threads, and on the emulated grid: to the bit, sums
// of doubles too. And so is what is stored.
#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "tests/kernels/ops/op_case.h"
#include "tests/kernels/same_counts.h"

namespace ulpscope::test {
namespace {

struct Operand {
  Shape shape;
  Format format = Format::fp16;
  Layout layout = Layout::contiguous;
  double scale = 4.0;      ///< values lie in ± this, some are 0,
  bool positive = false;   ///< or from 0
};
Operand i32(const Shape& shape, double below) { return {shape, Format::i32, Layout::contiguous, below, true}; }

using Tensors = std::vector<std::unique_ptr<TestTensor>>;

Tensors made(const std::vector<Operand>& operands, std::uint64_t seed) {
  Tensors tensors;
  Uniform uniform(seed);
  for (const Operand& o : operands) {
    tensors.push_back(std::make_unique<TestTensor>(o.shape, o.format, o.layout));
    for (std::int64_t i = 0; i < tensors.back()->elements(); ++i)
      tensors.back()->set(i, i % 19 == 3 ? 0.0 : o.positive ? o.scale * uniform() : o.scale * (2.0 * uniform() - 1.0));
  }
  return tensors;
}

struct Case {
  std::string operation;
  std::vector<Operand> in, out;
  const void* params = nullptr;
  StepState state = {};
  bool in_place = false;   ///< output o is input o, as far as there are inputs
};

struct Outcome {
  Tensors out;
  std::vector<RoundingCounts> counts;
  StepState state;
};

enum class Look { nothing, range, everything };

Outcome run(const Case& c, Format compute, const KernelTable& kernels, int threads, Look look) {
  Tensors in = made(c.in, 3);
  Outcome result;
  result.out = made(c.out, 5);
  std::vector<Tensor> in_views, out_views;
  for (std::size_t o = 0; o < result.out.size(); ++o)
    if (c.in_place && o < in.size()) result.out[o] = in[o]->clone();
  for (std::size_t i = 0; i < in.size(); ++i)
    in_views.push_back(c.in_place && i < result.out.size() ? result.out[i]->view() : in[i]->view());
  for (const auto& t : result.out) out_views.push_back(t->view());
  result.counts.resize(result.out.size());
  std::vector<RoundingCounts*> pointers;
  for (std::size_t o = 0; o < result.counts.size(); ++o) {
    result.counts[o].range_only = look == Look::range;
    if (look != Look::nothing) pointers.push_back(is_float(c.out[o].format) ? &result.counts[o] : nullptr);
  }
  result.state = execute(kernels, c.operation, compute, in_views, out_views, c.params, c.state, threads, pointers);
  return result;
}

void expect_same(const Outcome& a, const Outcome& b, const std::string& where) {
  for (std::size_t o = 0; o < a.out.size(); ++o) {
    EXPECT_TRUE(same_counts(a.counts[o], b.counts[o])) << where << ", output " << o;
    for (std::int64_t i = 0; i < a.out[o]->elements(); ++i)
      ASSERT_EQ(a.out[o]->bits(i), b.out[o]->bits(i)) << where << ", output " << o << "[" << i << "]";
  }
  EXPECT_EQ(a.state.finite, b.state.finite) << where;
  EXPECT_EQ(a.state.gradient_norm, b.state.gradient_norm) << where;
  EXPECT_EQ(a.state.clip_coefficient, b.state.clip_coefficient) << where;
}

/// Returns the counts of the first output. In fp64 too: operands in fp16 and fp32 stay.
RoundingCounts same_everywhere(const Case& c, const std::vector<Look>& looks = {Look::nothing, Look::range, Look::everything}) {
  RoundingCounts counts;
  for (const Format compute : {Format::fp32, Format::fp64})
    for (const Look look : looks) {
      const Outcome first = run(c, compute, all_kernels().front().kernels, 1, look);
      EXPECT_EQ(first.counts[0].elements > 0, look != Look::nothing) << c.operation;
      if (compute == Format::fp32 && look == Look::everything) counts = first.counts[0];
      for (const auto& [where, kernels] : all_kernels())
        if (where != "avx2" && (grids_have_the_bits_of(compute) || &kernels != &grid_kernels().front().kernels))
          expect_same(run(c, compute, kernels, 3, look), first, c.operation + " " + where + " " + name(compute));
    }
  return counts;
}

TEST(Counts, OfReductions) {
  const Operand pairs = {{66, 270}}, y = {{}};
  for (const char* operation : {"sum_all", "mean_all"}) same_everywhere({operation, {pairs}, {y}});
  for (const char* operation : {"mse_loss", "l1_loss", "bce_with_logits"}) same_everywhere({operation, {pairs, pairs}, {y}});
  same_everywhere({"sum_trailing", {pairs}, {{{66}}}});
  same_everywhere({"sum_trailing", {{{70, 1030}}}, {{{70}, Format::bf16}}});
}

TEST(Counts, OfColumns) {
  const Operand x = {{200, 1100}}, rows = {{200}, Format::fp32}, columns = {{1100}};
  same_everywhere({"sum_leading", {x}, {columns}});
  same_everywhere({"layer_norm_backward_weights", {x, rows, rows, x}, {columns, columns}});
  same_everywhere({"rms_norm_backward_weights", {x, rows, x}, {columns}});
}

TEST(Counts, OfAnEmbedding) {
  for (const std::int64_t columns : {40, 64, 130}) {   // the gradient is cut into pieces of 64 columns
    const Operand table = {{300, columns}}, index = i32({1500}, 300.0), y = {{1500, columns}};
    same_everywhere({"embedding", {table, index}, {y}});
    same_everywhere({"embedding_backward", {y, index}, {table}});
  }
  const Operand table = {{70000, 2}}, index = i32({3000}, 70000.0), y = {{3000, 2}};   // indices of three bytes
  same_everywhere({"embedding_backward", {y, index}, {table}}, {Look::nothing});
}

TEST(Counts, OfGradients) {
  const ClipParams clip{1.0f};
  for (const float inverse_scale : {1.0f, 0.125f, 40000.0f}) {
    StepState state;
    state.inverse_scale = inverse_scale;
    const Operand large = {{3, 11000}}, padded = {{40, 30}, Format::bf16, Layout::padded}, wide = {{5000}, Format::fp32};
    same_everywhere({"unscale_check", {large, padded, wide}, {large, padded, wide}, nullptr, state, true});
    same_everywhere({"global_norm", {large, padded, wide}, {{{}, Format::fp16}}, &clip, state});
    same_everywhere({"unscale_norm", {large, padded, wide}, {large, padded, wide, {{}, Format::fp32}}, &clip, state, true});
  }
  const std::vector<Operand> many(40, {{7}});   // more than a kernel could be handed
  std::vector<Operand> out = many;
  out.push_back({{}, Format::fp32});
  same_everywhere({"unscale_check", many, many, nullptr, {}, true});
  // Three lists' worth, of every format and size: none, one element, a chunk and one, several chunks; some in pieces.
  std::vector<Operand> all;
  const Format formats[] = {Format::fp32, Format::fp16, Format::bf16, Format::tf32, Format::fp8_e4m3, Format::fp8_e5m2};
  const std::int64_t sizes[] = {1, 0, 7, 300, 16385, 1024, 40000, 16384};
  for (std::size_t i = 0; i < 150; ++i)
    all.push_back({{2, sizes[i % 8] / (i < 16 ? 1 : 8)}, formats[i % 6], i % 11 == 5 ? Layout::padded : Layout::contiguous});
  std::vector<Operand> with_norm = all;
  with_norm.push_back({{}, Format::fp32});
  for (const float inverse_scale : {1.0f, 0.125f}) {
    StepState state;
    state.inverse_scale = inverse_scale;
    same_everywhere({"unscale_check", all, all, nullptr, state, true}, {Look::nothing});
    same_everywhere({"unscale_norm", all, with_norm, &clip, state, true}, {Look::nothing});
    same_everywhere({"global_norm", all, {{{}, Format::fp32}}, &clip, state}, {Look::nothing});
  }
}

TEST(Counts, OfPersistentValues) {
  const EmaParams ema{0.1};
  const Operand x = {{70, 50}}, sum = {{70, 50}, Format::bf16, Layout::contiguous, 400.0};
  same_everywhere({"ema", {sum, x}, {x}, &ema});
  const AccumulateParams accumulate{true};
  for (const std::int32_t micro_batch : {0, 1}) {
    StepState state;
    state.micro_batch = micro_batch;
    state.inverse_scale = 0.5f;
    const RoundingCounts counts = same_everywhere({"accumulate", {x, sum}, {sum}, &accumulate, state});
    EXPECT_EQ(counts.lost_updates > 0, micro_batch == 1);
  }
  for (const std::int32_t finite : {0, 1}) {
    StepState state;
    state.finite = finite;
    same_everywhere({"commit_buffer", {}, {x, {{70, 50}, Format::bf16, Layout::permuted}}, nullptr, state});
  }
}

TEST(Counts, OfBatchNorm) {
  const BatchNormParams params;
  // Channels fewer and more than the shards counts are gathered in, runs shorter and longer than a block of them.
  const Shape shapes[] = {{3, 70, 37}, {4, 5, 1100}};
  for (const Shape& shape : shapes) {
    const Operand x = {shape}, vector = {{shape[1]}, Format::fp32}, positive = {{shape[1]}, Format::fp32, Layout::contiguous, 2.0, true};
    same_everywhere({"batch_norm", {x, vector, vector}, {x, vector, vector, vector}, &params});
    same_everywhere({"batch_norm_inference", {x, vector, vector, vector, positive}, {x}, &params});
    same_everywhere({"batch_norm_backward", {x, vector, vector, positive, x}, {x, vector, vector}});
    same_everywhere({"sum_channels", {x}, {{{shape[1]}}}});
  }
}

TEST(Counts, OfPools) {
  const PoolParams params{{{3, 2}, {2, 1}, {1, 0}, {1, 1}}};
  const Operand x = {{70, 9, 12}}, y = {{70, 5, 11}};
  same_everywhere({"max_pool", {x}, {y, {{70, 5, 11}, Format::i32}}, &params});
  same_everywhere({"avg_pool", {x}, {y}, &params});
  same_everywhere({"avg_pool_backward", {y}, {x}, &params});
  const PoolParams whole{{{150, 130}, {1, 1}, {0, 0}, {1, 1}}};   // more than a chunk of the reduction tree
  same_everywhere({"avg_pool", {{{2, 150, 130}}}, {{{2, 1, 1}, Format::fp32}}, &whole});
}

TEST(Counts, OfUpdates) {
  StepState state;
  state.learning_rate = 0.001;
  state.clip_coefficient = 0.5f;
  state.iteration = 7;
  for (const std::int64_t applied : {0, 5})
    for (const bool each : {false, true})
      for (const UpdateRounding rounding : {UpdateRounding::nearest, UpdateRounding::stochastic, UpdateRounding::kahan})
        for (const Format weights : {Format::bf16, Format::fp16, Format::fp32}) {
          state.applied = applied;
          const Operand g = {{43, 50}, Format::fp16}, p = {{43, 50}, weights}, m = {{43, 50}, Format::bf16, Layout::permuted};
          const Operand v = {{43, 50}, Format::fp32, Layout::contiguous, 2.0, true};
          const UpdateNumerics numerics{each, rounding, 11, 13};
          const bool kahan = rounding == UpdateRounding::kahan;
          const auto with_kahan = [&](std::vector<Operand> out) {
            if (kahan) out.push_back({{43, 50}, Format::bf16, Layout::contiguous, 0.001});
            return out;
          };
          SCOPED_TRACE(std::string(name(weights)) + (each ? " each " : " once ") + std::to_string(static_cast<int>(rounding)));
          const AdamWParams adamw{0.9, 0.95, 1e-8, 0.1, numerics};
          const RoundingCounts counts = same_everywhere({"adamw", {g}, with_kahan({p, m, v}), &adamw, state});
          if (weights == Format::bf16 && rounding == UpdateRounding::nearest) {
            EXPECT_GT(counts.lost_updates, 0);
          }
          for (const bool nesterov : {false, true}) {
            const SgdParams sgd{0.9f, 0.01f, nesterov, numerics};
            same_everywhere({"sgd", {g}, with_kahan({p, m}), &sgd, state});
          }
          const SgdParams plain{0.0f, 0.0f, false, numerics};
          same_everywhere({"sgd", {g}, with_kahan({p}), &plain, state});
          if (HasFailure()) return;
        }
}

}  // namespace
}  // namespace ulpscope::test
