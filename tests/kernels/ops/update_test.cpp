// The end of a step: unscale and finite check, SGD, AdamW.
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "kernels/error.h"
#include "tests/kernels/ops/op_case.h"

namespace ulpscope::test {
namespace {

using L = long double;
const double inf = HUGE_VAL;

TEST(UnscaleCheck, MultipliesAndKeepsTheFlag) {
  for (const auto& [where, kernels] : all_kernels()) {
    for (const int threads : {1, 2, 3}) {
      TestTensor a({40000}, Format::fp32), b({3, 17}, Format::fp16, Layout::padded), c({}, Format::bf16);
      for (int i = 0; i < 40000; ++i) a.set(i, i);
      for (int i = 0; i < 51; ++i) b.set(i, 1024.0 * i);
      c.set(0, 3e38);  // large, but finite once scaled
      StepState state;
      state.inverse_scale = 1.0f / 1024;
      const std::vector<Tensor> g = {a.view(), b.view(), c.view()};
      const StepState after = execute(kernels, "unscale_check", Format::fp32, g, g, nullptr, state, threads);
      EXPECT_EQ(after.finite, 1);
      for (int i = 0; i < 40000; ++i) ASSERT_EQ(a.get(i), i / 1024.0);
      for (int i = 0; i < 51; ++i) ASSERT_EQ(b.get(i), i);
      EXPECT_TRUE(b.guards_intact());
      EXPECT_NEAR(c.get(0), 3e38 / 1024, 3e38 / 1024 * 0x1p-7);
      // One element anywhere clears the flag, and nothing sets it again.
      for (const double bad : {inf, -inf, static_cast<double>(NAN)}) {
        for (const std::int64_t at : {0, 1023, 1024, 39999}) {
          const double kept = a.get(at);
          a.set(at, bad);
          EXPECT_EQ(execute(kernels, "unscale_check", Format::fp32, g, g, nullptr, state, threads).finite, 0)
              << bad << " at " << at << " " << where;
          a.set(at, kept);
        }
        c.set(0, bad);
        EXPECT_EQ(execute(kernels, "unscale_check", Format::fp32, g, g, nullptr, state, threads).finite, 0);
        c.set(0, 1);
      }
      state.finite = 0;
      EXPECT_EQ(execute(kernels, "unscale_check", Format::fp32, g, g, nullptr, state, threads).finite, 0);
    }
  }
}

TEST(UnscaleCheck, SeesOverflowOfTheStoredGradient) {
  // A scale under one enlarges: 40000 / 0.5 does not fit fp16.
  TestTensor g({20}, Format::fp16);
  for (int i = 0; i < 20; ++i) g.set(i, 1);
  StepState state;
  state.inverse_scale = 2.0f;
  g.set(7, 32752);  // 65504
  EXPECT_EQ(execute("unscale_check", Format::fp32, {g.view()}, {g.view()}, nullptr, state, InstructionSet::portable, 1)
                .finite,
            1);
  EXPECT_EQ(g.get(7), 65504);
  EXPECT_EQ(execute("unscale_check", Format::fp32, {g.view()}, {g.view()}, nullptr, state, InstructionSet::portable, 1)
                .finite,
            0);
  EXPECT_EQ(g.get(7), inf);
}

struct Update {
  L p, m, v;
};

OpCase update_case(const char* operation, std::int64_t n, int outputs) {
  OpCase c;
  c.operation = operation;
  c.in = {{n}};
  c.out.assign(static_cast<std::size_t>(outputs), Shape{n});
  c.updates = true;
  c.threads = n > 20000;
  c.state.learning_rate = 0.01;
  c.state.clip_coefficient = 0.5f;
  c.fill = [](int k, std::int64_t, double u) { return k == 3 ? u * u : 2 * u - 1; };
  return c;
}

/// Master weights and state in fp32, whatever the gradient's format; pure 16-bit modes; gradient checks.
void for_formats(OpCase c) {
  for (const Format f : {Format::fp32, Format::bf16, Format::fp16, Format::fp64}) {
    check(c.set_formats(f));
    if (::testing::Test::HasFatalFailure()) return;
  }
  c.set_formats(Format::fp32).in_format[0] = Format::fp16;
  check(c);
}

TEST(AdamW, MatchesPyTorchsFormula) {
  for (const std::int64_t n : {1, 17, 1025, 30001}) {
    for (const std::int64_t applied : {0, 1, 999}) {
      for (const double beta1 : {0.9, 0.3}) {
        if (n > 2000 && (applied != 999 || beta1 != 0.9)) continue;  // threads: once is enough
        const AdamWParams params{beta1, 0.95, 1e-8, 0.1};
        OpCase c = update_case("adamw", n, 3);
        c.set_params(params);
        c.state.applied = applied;
        c.state.iteration = applied + 5;  // skipped steps do not count
        c.factor = 12;
        c.reference = [=](const std::vector<Values>& in) {
          std::vector<std::vector<Expected>> out(3);
          const L t = static_cast<L>(applied + 1), lr = 0.01;
          for (std::size_t i = 0; i < in[0].size(); ++i) {
            const L g = in[0][i] * 0.5L, p = in[1][i] * (1 - lr * params.weight_decay);
            const L m = params.beta1 * in[2][i] + (1 - params.beta1) * g;
            const L v = params.beta2 * in[3][i] + (1 - params.beta2) * g * g;
            const L corrected = std::sqrt(v / (1 - std::pow(static_cast<L>(params.beta2), t)));
            const L step = lr / (1 - std::pow(static_cast<L>(params.beta1), t)) / (corrected + params.epsilon);
            const L m_size = std::fabs(in[2][i]) + std::fabs(g);
            out[0].emplace_back(p - step * m, std::fabs(p) + step * m_size);
            out[1].emplace_back(m, m_size);
            out[2].emplace_back(v);
          }
          return out;
        };
        for_formats(c);
        if (HasFatalFailure()) return;
      }
    }
  }
}

TEST(Sgd, MatchesPyTorchsFormula) {
  for (const bool nesterov : {false, true}) {
    for (const float momentum : {0.0f, 0.9f}) {
      for (const std::int64_t applied : {0, 3}) {
        for (const std::int64_t n : {17, 1025, 30001}) {
          if (n > 2000 && (applied != 3 || !nesterov)) continue;  // threads: once is enough
          const SgdParams params{momentum, 0.125f, nesterov};
          const bool with_buffer = momentum != 0;
          OpCase c = update_case("sgd", n, with_buffer ? 2 : 1);
          c.set_params(params);
          c.state.applied = applied;
          c.factor = 6;
          c.reference = [=](const std::vector<Values>& in) {
            std::vector<std::vector<Expected>> out(with_buffer ? 2 : 1);
            const L lr = 0.01;
            for (std::size_t i = 0; i < in[0].size(); ++i) {
              const L p = in[1][i], g = in[0][i] * 0.5L + 0.125L * p, size = std::fabs(in[0][i]) + std::fabs(p);
              if (!with_buffer) {
                out[0].emplace_back(p - lr * g, std::fabs(p) + size);
                continue;
              }
              const L buffer = applied == 0 ? g : static_cast<L>(momentum) * in[2][i] + g;
              const L d = nesterov ? g + static_cast<L>(momentum) * buffer : buffer;
              out[0].emplace_back(p - lr * d, std::fabs(p) + size + std::fabs(in[2][i]));
              out[1].emplace_back(buffer, size + std::fabs(in[2][i]));
            }
            return out;
          };
          for_formats(c);
          if (HasFatalFailure()) return;
        }
      }
    }
  }
}

TEST(Sgd, HasABufferIfItIsGivenOne) {
  TestTensor g({40}, Format::fp32), p({40}, Format::fp32), buffer({40}, Format::fp32);
  for (int i = 0; i < 40; ++i) g.set(i, 1), p.set(i, 2), buffer.set(i, 3);
  StepState state;
  state.learning_rate = 0.5;
  state.applied = 4;
  SgdParams params;   // momentum 0
  execute("sgd", Format::fp32, {g.view()}, {p.view(), buffer.view()}, &params, state, InstructionSet::portable, 1);
  for (int i = 0; i < 40; ++i) ASSERT_TRUE(p.get(i) == 1.5 && buffer.get(i) == 1);
  params.momentum = 0.5f;
  EXPECT_THROW(execute("sgd", Format::fp32, {g.view()}, {p.view()}, &params, state, InstructionSet::portable, 1), Error);
}

TEST(Update, WritesNothingUnlessTheStepIsGood) {
  for (const auto& [where, kernels] : all_kernels()) {
    for (const int variant : {0, 1, 2, 3}) {
      const bool adamw = variant % 2 != 0;
      const Layout layout = variant < 2 ? Layout::contiguous : Layout::padded;
      TestTensor g({1500}, Format::fp32), p({1500}, Format::fp32, layout), m({1500}, Format::fp32, layout), v({1500}, Format::fp32, layout);
      for (int i = 0; i < 1500; ++i) g.set(i, 1), p.set(i, 2), m.set(i, 3), v.set(i, 4);
      const AdamWParams adamw_params;
      const SgdParams sgd_params{0.9f, 0.0f, false};
      const KernelTable& table = kernels;
      std::vector<RoundingCounts*> counts;
      const auto step = [&](std::int32_t finite, std::int32_t halt) {
        StepState state;
        state.learning_rate = 0.1;
        state.finite = finite;
        state.halt = halt;
        if (adamw)
          execute(table, "adamw", Format::fp32, {g.view()}, {p.view(), m.view(), v.view()}, &adamw_params, state, 2, counts);
        if (!adamw)
          execute(table, "sgd", Format::fp32, {g.view()}, {p.view(), m.view()}, &sgd_params, state, 2, counts);
      };
      step(0, 0);
      step(1, 1);
      step(0, 1);
      RoundingCounts of_p, of_m;   // nothing is counted either
      counts = adamw ? std::vector<RoundingCounts*>{&of_p, &of_m, nullptr} : std::vector<RoundingCounts*>{&of_p, &of_m};
      step(0, 0);
      EXPECT_EQ(of_p.elements + of_m.elements, 0) << where;
      counts.clear();
      for (int i = 0; i < 1500; ++i) ASSERT_TRUE(p.get(i) == 2 && m.get(i) == 3 && v.get(i) == 4) << where;
      step(1, 0);
      for (int i = 0; i < 1500; ++i) ASSERT_TRUE(p.get(i) != 2 && m.get(i) != 3);
    }
  }
}

TEST(Update, StagnatesInSixteenBitsWhereFp32DoesNot) {
  // 1 - 0.001 rounds back to 1 in bf16: the update is lost, as it is on a GPU.
  for (const Format f : {Format::bf16, Format::fp32}) {
    TestTensor g({33}, f), p({33}, f);
    for (int i = 0; i < 33; ++i) g.set(i, 1), p.set(i, 1);
    StepState state;
    state.learning_rate = 0.001;
    const SgdParams params;
    execute("sgd", Format::fp32, {g.view()}, {p.view()}, &params, state, InstructionSet::portable, 1);
    EXPECT_EQ(p.get(20) == 1.0, f == Format::bf16);
  }
}

}  // namespace
}  // namespace ulpscope::test
