// copy: casts between all formats, permutations, slices, expansion; dropout's mask; embedding.
#include <gtest/gtest.h>

#include <cmath>
#include <set>
#include <vector>

#include "kernels/error.h"
#include "tests/kernels/ops/op_case.h"
#include "tests/kernels/same_counts.h"

namespace ulpscope::test {
namespace {

using L = long double;
const Format all_formats[] = {Format::fp32, Format::tf32,     Format::fp16,    Format::bf16,
                              Format::fp64, Format::fp8_e4m3, Format::fp8_e5m2};

TEST(Copy, CastsEveryFormatToEveryOther) {
  for (const Format from : all_formats) {
    for (const Format to : all_formats) {
      for (const InstructionSet set : instruction_sets()) {
        const Format compute = from == Format::fp64 || to == Format::fp64 ? Format::fp64 : Format::fp32;
        TestTensor x({1025}, from), y({1025}, to);
        Uniform uniform(3);
        for (int i = 0; i < 1025; ++i) x.set(i, (uniform() - 0.5) * 200.0);
        execute("copy", compute, {x.view()}, {y.view()}, nullptr, {}, set, 1);
        for (int i = 0; i < 1025; ++i) {
          const double expected = static_cast<double>(rounded(x.get(i), to));
          if (to == Format::tf32) {  // ties away: at most half a unit off, and the same but for ties
            ASSERT_LE(std::fabs(y.get(i) - x.get(i)), std::fabs(x.get(i)) * 0x1p-11);
          } else {
            ASSERT_EQ(y.get(i), expected) << name(from) << " -> " << name(to) << " of " << x.get(i);
          }
        }
      }
    }
  }
}

/// y in row-major order from x by strides.
void check_strided(Format from, Format to, const Shape& shape, const std::vector<std::int64_t>& stride,
                   std::int64_t offset, std::int64_t memory, int threads) {
  for (const InstructionSet set : instruction_sets()) {
    TestTensor x({memory}, from), y(shape, to);
    for (std::int64_t i = 0; i < memory; ++i) x.set(i, static_cast<double>(i % 509) - 254);  // exact in bf16 too
    Tensor view = x.view();
    view.data = static_cast<char*>(view.data) + offset * storage_bytes(from);
    view.shape = shape;
    for (std::size_t axis = 0; axis < stride.size(); ++axis) view.stride[axis] = stride[axis];
    execute("copy", Format::fp32, {view}, {y.view()}, nullptr, {}, set, threads);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      std::int64_t rest = i, at = offset;
      for (int axis = shape.rank - 1; axis >= 0; --axis) {
        at += rest % shape[axis] * stride[static_cast<std::size_t>(axis)];
        rest /= shape[axis];
      }
      ASSERT_EQ(y.get(i), static_cast<double>(rounded(x.get(at), to))) << i;
    }
    EXPECT_TRUE(y.guards_intact());
    // And back: scatter into the strided place what was gathered.
    if (from != to) continue;
    for (std::int64_t i = 0; i < memory; ++i) x.set(i, 0);
    if (std::find(stride.begin(), stride.end(), 0) != stride.end()) continue;
    execute("copy", Format::fp32, {y.view()}, {view}, nullptr, {}, set, threads);
    for (std::int64_t i = 0; i < y.elements(); ++i) {
      std::int64_t rest = i, at = offset;
      for (int axis = shape.rank - 1; axis >= 0; --axis) {
        at += rest % shape[axis] * stride[static_cast<std::size_t>(axis)];
        rest /= shape[axis];
      }
      ASSERT_EQ(x.get(at), y.get(i));
    }
  }
}

TEST(Copy, PermutesSlicesAndExpands) {
  for (const auto& [from, to] : std::vector<std::pair<Format, Format>>{{Format::fp32, Format::fp32},
                                                                       {Format::fp16, Format::fp16},
                                                                       {Format::fp32, Format::bf16},
                                                                       {Format::fp16, Format::fp32},
                                                                       {Format::fp8_e5m2, Format::fp8_e5m2},
                                                                       {Format::fp64, Format::fp64}}) {
    check_strided(from, to, {300, 200}, {1, 300}, 0, 60000, 3);              // transpose
    check_strided(from, to, {2, 3, 40, 16}, {1920, 16, 48, 1}, 0, 3840, 1);  // [B, T, H, D] to [B, H, T, D]
    check_strided(from, to, {5, 7}, {20, 2}, 3, 120, 1);                     // slice with steps
    check_strided(from, to, {4, 50}, {0, 1}, 0, 50, 1);                      // expand
    check_strided(from, to, {50, 4}, {1, 0}, 0, 50, 1);
    check_strided(from, to, {2, 3, 2, 3, 2, 3}, {1, 2, 6, 12, 36, 72}, 0, 216, 1);  // six dimensions, all reversed
    check_strided(from, to, {}, {}, 0, 1, 1);
    check_strided(from, to, {0, 4}, {4, 1}, 0, 4, 1);  // nothing
    if (HasFatalFailure()) return;
  }
}

TEST(Copy, ShapesThatDoNotFitAreRefused) {
  TestTensor x({3, 4}, Format::fp32), y({3, 5}, Format::fp32), indices({3, 5}, Format::i32);
  const auto message = [](const std::vector<Tensor>& in, const std::vector<Tensor>& out) -> std::string {
    try {
      execute("copy", Format::fp32, in, out, nullptr, {}, InstructionSet::portable, 1);
    } catch (const Error& error) {
      return error.what();
    }
    return "nothing was thrown";
  };
  EXPECT_EQ(message({x.view()}, {y.view()}), "copy: shape [3, 4] does not broadcast to [3, 5]");
  EXPECT_EQ(message({x.view(), x.view()}, {y.view()}), "copy: 1 inputs and 1 outputs expected, not 2 and 1");
  EXPECT_EQ(message({indices.view()}, {y.view()}), "copy: input 0 is i32, not a float format");
}

TEST(KernelTable, UnknownOperationsAreRefusedWithTheValidOnes) {
  try {
    execute("sofmax", Format::fp32, {}, {}, nullptr, {}, InstructionSet::portable, 1);
    FAIL() << "nothing was thrown";
  } catch (const Error& error) {
    EXPECT_NE(std::string(error.what()).find("no kernel for operation 'sofmax' computing in fp32"), std::string::npos);
    EXPECT_NE(std::string(error.what()).find("softmax, softmax_backward"), std::string::npos);
  }
}

std::vector<double> dropout(const TestTensor& x, Format out, const DropoutParams& params, const StepState& state,
                            const KernelTable& kernels, int threads, RoundingCounts* counts = nullptr) {
  TestTensor y(x.view().shape, out);
  execute(kernels, "dropout", Format::fp32, {x.view()}, {y.view()}, &params, state, threads, {counts});
  std::vector<double> values;
  for (std::int64_t i = 0; i < y.elements(); ++i) values.push_back(y.get(i));
  return values;
}

TEST(Dropout, DependsOnItsKeyAndNothingElse) {
  TestTensor x({60, 1025}, Format::fp32), wide({60, 1025}, Format::fp32, Layout::permuted);
  for (std::int64_t i = 0; i < x.elements(); ++i) x.set(i, 1), wide.set(i, 1);
  const DropoutParams params{0.25f, 11, 22};
  StepState state;
  state.iteration = 3;
  const auto first = dropout(x, Format::fp32, params, state, kernels_of(InstructionSet::portable), 1);
  RoundingCounts counted;
  const std::int64_t dropped = std::count(first.begin(), first.end(), 0.0);
  // 61500 elements: four standard deviations of the binomial distribution.
  EXPECT_NEAR(static_cast<double>(dropped), 61500 * 0.25, 4 * std::sqrt(61500 * 0.25 * 0.75));
  for (const double y : first) ASSERT_TRUE(y == 0.0 || y == static_cast<double>(1.0f / 0.75f));
  for (const auto& [where, kernels] : all_kernels()) {
    SCOPED_TRACE(where);
    for (const int threads : {1, 2, 3}) {
      EXPECT_EQ(dropout(x, Format::fp32, params, state, kernels, threads), first);
      EXPECT_EQ(dropout(wide, Format::fp32, params, state, kernels, threads), first);
      RoundingCounts counts;
      const auto half = dropout(x, Format::fp16, params, state, kernels, threads, &counts);
      if (counted.elements == 0) counted = counts;
      EXPECT_TRUE(same_counts(counts, counted));
      for (std::size_t i = 0; i < half.size(); ++i) ASSERT_EQ(half[i] == 0.0, first[i] == 0.0);
    }
  }
  const auto differs = [&](DropoutParams p, StepState s) {
    return dropout(x, Format::fp32, p, s, kernels_of(InstructionSet::portable), 1) != first;
  };
  EXPECT_FALSE(differs(params, state));
  EXPECT_TRUE(differs({0.25f, 12, 22}, state));
  EXPECT_TRUE(differs({0.25f, 11, 23}, state));
  StepState other = state;
  other.iteration = 4;
  EXPECT_TRUE(differs(params, other));
  other = state;
  other.micro_batch = 1;
  EXPECT_TRUE(differs(params, other));
  other = state;
  other.applied = 9;  // counts committed steps: it keys nothing
  EXPECT_FALSE(differs(params, other));
}

TEST(Dropout, GradientUsesTheSameMaskAndRateBoundsHold) {
  TestTensor x({999}, Format::fp32), dy({999}, Format::fp32);
  for (int i = 0; i < 999; ++i) x.set(i, 1 + i), dy.set(i, -2.0 - i);
  const DropoutParams params{0.5f, 1, 2};
  for (const auto& [where, kernels] : all_kernels()) {
    SCOPED_TRACE(where);
    const auto y = dropout(x, Format::fp32, params, {}, kernels, 1);
    const auto dx = dropout(dy, Format::fp32, params, {}, kernels, 1);
    for (std::size_t i = 0; i < 999; ++i) {
      ASSERT_EQ(y[i] == 0, dx[i] == 0);
      ASSERT_EQ(dx[i], dx[i] == 0 ? 0 : 2 * (-2.0 - static_cast<double>(i)));
    }
    const auto kept = dropout(x, Format::fp32, {0.0f, 1, 2}, {}, kernels, 1);
    for (std::size_t i = 0; i < 999; ++i) ASSERT_EQ(kept[i], 1.0 + static_cast<double>(i));
    const auto none = dropout(x, Format::fp32, {1.0f, 1, 2}, {}, kernels, 1);
    for (std::size_t i = 0; i < 999; ++i) ASSERT_EQ(none[i], 0);
  }
}

TEST(Embedding, GathersRows) {
  for (const auto& [from, to] : std::vector<std::pair<Format, Format>>{{Format::fp32, Format::fp32},
                                                                       {Format::fp32, Format::fp16},
                                                                       {Format::bf16, Format::bf16},
                                                                       {Format::fp64, Format::fp64}}) {
    OpCase c;
    c.operation = "embedding";
    c.in = {{11, 1030}, {4, 17}};
    c.in_format = {from, Format::i32};
    c.out = {{4, 17, 1030}};
    c.out_format = {to};
    c.compute = from == Format::fp64 ? Format::fp64 : Format::fp32;
    c.fill = [](int k, std::int64_t i, double u) { return k == 0 ? u - 0.5 : static_cast<double>(i * 7 % 11); };
    c.factor = 0;
    c.threads = true;
    c.reference = [](const std::vector<Values>& in) {
      std::vector<Expected> out;
      for (const L index : in[1]) {
        for (std::size_t i = 0; i < 1030; ++i) out.emplace_back(in[0][static_cast<std::size_t>(index) * 1030 + i]);
      }
      return std::vector<std::vector<Expected>>{out};
    };
    check(c);
    c.layout = Layout::padded;
    check(c);
  }
}

TEST(EmbeddingBackward, MatchesTheReference) {
  for (const Format f : {Format::fp32, Format::fp16, Format::bf16, Format::fp64}) {
    OpCase c;
    c.operation = "embedding_backward";
    c.in = {{6, 70, 130}, {6, 70}};
    c.in_format = {f, Format::i32};
    c.out = {{13, 130}};
    c.fill = [](int k, std::int64_t i, double u) {
      return k == 0 ? u - 0.5 : static_cast<double>(i * i % 12);
    };  // 12 never
    c.factor = 420;
    c.threads = true;
    c.rejects_narrow = f == Format::fp32;
    c.reference = [](const std::vector<Values>& in) {
      std::vector<L> sum(13 * 130, 0), size(13 * 130, 0);
      for (std::size_t p = 0; p < in[1].size(); ++p) {
        for (std::size_t i = 0; i < 130; ++i) {
          sum[static_cast<std::size_t>(in[1][p]) * 130 + i] += in[0][p * 130 + i];
          size[static_cast<std::size_t>(in[1][p]) * 130 + i] += std::fabs(in[0][p * 130 + i]);
        }
      }
      std::vector<Expected> out;
      for (std::size_t i = 0; i < sum.size(); ++i) out.emplace_back(sum[i], size[i]);
      return std::vector<std::vector<Expected>>{out};
    };
    check(c.set_formats(f));
  }
}

TEST(EmbeddingBackward, RepeatedIndicesAddInAscendingPosition) {
  // 2^24, then 1, then -2^24: in this order the one is lost; in any other it is not.
  for (const InstructionSet set : instruction_sets()) {
    for (const int threads : {1, 2, 3}) {
      TestTensor dy({5, 2}, Format::fp32), index({5}, Format::i32), table({3, 2}, Format::fp32);
      const double rows[] = {16777216, 5, 1, -16777216, 6};
      const int to[] = {2, 0, 2, 2, 0};
      for (int p = 0; p < 5; ++p) index.set(p, to[p]), dy.set(2 * p, rows[p]), dy.set(2 * p + 1, rows[p]);
      execute("embedding_backward", Format::fp32, {dy.view(), index.view()}, {table.view()}, nullptr, {}, set, threads);
      EXPECT_EQ(table.get(0), 11);
      EXPECT_EQ(table.get(2), 0);  // no position: zero
      EXPECT_EQ(table.get(5), 0);
    }
  }
}

}  // namespace
}  // namespace ulpscope::test
