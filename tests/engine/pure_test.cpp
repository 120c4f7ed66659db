// Pure 16-bit modes: what they keep, what a parameter costs, and what their updates lose.
#include <cmath>
#include <limits>
#include <map>

#include <gtest/gtest.h>

#include "engine/graph/operator.h"
#include "engine/train/parameter_bytes.h"
#include "kernels/formats/stochastic.h"
#include "kernels/formats/storage.h"
#include "kernels/math/random.h"
#include "kernels/ops/rounding_counts.h"
#include "tests/engine/support/graph_run.h"
#include "tests/engine/support/small_training.h"

namespace ulpscope::engine {
namespace {

using testing::SmallTraining;
using testing::always;
using Floats = std::vector<float>;

float fp16(double x) { return fp16_to_float(fp16_from_double(x)); }
float bf16(double x) { return bf16_to_float(bf16_from_double(x)); }

GptConfig gpt() {
  GptConfig m;
  m.context = 16;
  m.width = 32;
  m.layers = 2;
  m.heads = 2;
  return m;
}

TEST(PureModes, KeepEverythingButInnerResultsInSixteenBits) {
  const std::unique_ptr<Device> device = make_cpu_device({1, ""});
  for (const char* mode : {"fp16_pure", "bf16_pure"}) {
    const Format format = find_mode(mode).lower;
    const StepPlan plan = plan_step(*device, build_model(gpt(), 2, true), find_mode(mode), TrainConfig{});
    for (const Value& v : plan.graph.values()) {
      const bool weight = v.role == Role::parameter || v.role == Role::optimizer_state || v.role == Role::parameter_gradient;
      if (weight) {
        EXPECT_EQ(v.format, format) << v.name;
      }
      EXPECT_NE(v.role, Role::weight_copy) << v.name;
      // Statistics of norms, the loss and the log-sum of its rows: kept in fp32 inside of softmax, norms and losses.
      if (v.role == Role::activation && v.format == Format::fp32 && v.producer) {
        const std::string& op = plan.graph.node(v.producer).op->name;
        EXPECT_TRUE(op == "layer_norm" || op == "cross_entropy" || op == "global_norm") << v.name << " " << op;
      }
    }
    EXPECT_FALSE(scales_loss(find_mode(mode), TrainConfig{}));
    TrainConfig scaled;
    scaled.scale_pure = true;
    EXPECT_EQ(scales_loss(find_mode(mode), scaled), format == Format::fp16);
  }
}

TEST(PureModes, StartFromTheRoundedWeightsAndBatches) {
  const double start = 0.123456;
  SmallTraining t(testing::weighted_sum({static_cast<float>(start)}), "bf16_pure", testing::plain_training(OptimizerKind::sgd, 1.0),
                  always({1.00001f}));
  EXPECT_EQ(t.read(), Floats{bf16(start)});
  t.step();
  EXPECT_EQ(t.read(), Floats{bf16(bf16(start) - 1.0)});   // bf16(1.00001) = 1
}

// ---- bytes of a parameter (case-49)

/// Three layers without biases: everything is cast.
Model layers() {
  Model m;
  ValueId x = m.graph.add_input("x", Shape{4, 16}, Format::fp32);
  m.inputs = {x};
  for (int i = 0; i < 3; ++i) {
    const std::string name = "layer" + std::to_string(i);
    const ValueId w = m.graph.add_parameter(name + ".weight", Shape{16, 16}, {Initial::Kind::normal, 0.1, {}});
    x = m.graph.apply("linear", name, {x, w});
  }
  m.loss = m.graph.apply("mean", "loss", {m.graph.apply("mul", "square", {x, x})});
  return m;
}

ParameterBytes bytes_of(const char* mode, TrainConfig config = {}, WeightCopies copies = WeightCopies::keep) {
  const std::unique_ptr<Device> device = make_cpu_device({1, ""});
  config.weight_copies = copies;
  return parameter_bytes(plan_step(*device, layers(), find_mode(mode), config));
}

TEST(ParameterBytes, AreSixteenEighteenAndEight) {
  EXPECT_EQ(bytes_of("fp32").total(), 16.0);
  EXPECT_EQ(bytes_of("tf32").total(), 16.0);
  for (const char* mode : {"fp16", "bf16", "fp16+tf32"}) {
    EXPECT_EQ(bytes_of(mode).total(), 18.0) << mode;
    EXPECT_EQ(bytes_of(mode, {}, WeightCopies::recast).total(), 16.0 + 2.0 / 3.0) << mode << ": one copy of three at a time";
  }
  for (const char* mode : {"fp16_pure", "bf16_pure"}) {
    const ParameterBytes b = bytes_of(mode);
    EXPECT_EQ(b.total(), 8.0) << mode;
    EXPECT_EQ(b.weights, 2.0);
    EXPECT_EQ(b.gradients, 2.0);
    EXPECT_EQ(b.optimizer_state, 4.0);
  }
}

TEST(ParameterBytes, FollowTheFormatsChosen) {
  TrainConfig c;
  c.gradient_format = Format::fp16;
  EXPECT_EQ(bytes_of("fp16", c).total(), 16.0);   // fp16 weights and gradients, fp32 master and moments
  c = {};
  c.optimizer.moment_format = Format::bf16;
  EXPECT_EQ(bytes_of("fp32", c).total(), 12.0);
  c = {};
  c.optimizer.rounding = UpdateRounding::kahan;
  EXPECT_EQ(bytes_of("bf16_pure", c).total(), 10.0);
  c = {};
  c.micro_batches = 2;
  EXPECT_EQ(bytes_of("bf16_pure", c).total(), 10.0);   // the sum of gradients is fp32
  c.accumulator_format = Format::bf16;
  EXPECT_EQ(bytes_of("bf16_pure", c).total(), 8.0);
  c = {};
  c.optimizer.kind = OptimizerKind::sgd;
  c.optimizer.momentum = 0.0;
  EXPECT_EQ(bytes_of("fp32", c).total(), 8.0);
}

// ---- updates

/// Shares of weights whose update was rounded away, by step.
struct Lost {
  Subscription listener;
  std::vector<std::int64_t> counts;
  explicit Lost(SmallTraining& t) {
    t.trainer.observe([](const Node& node) { return node.phase == Phase::update; });
    listener = t.topics.tensor.subscribe([this, &t](const TensorEvent& e) {
      if (t.trainer.plan().graph.value(e.value).role == Role::parameter) counts.push_back(e.counts->lost_updates);
    });
  }
};

TrainConfig case_17() {
  TrainConfig c = testing::plain_training(OptimizerKind::adamw, 1e-4);
  c.optimizer.beta2 = 0.999;
  return c;
}

// case-17: eps 1e-8 and (1 - b2) g^2 are 0 in fp16: m / 0.
TEST(PureUpdates, AdamInFp16DividesByZero) {
  const Floats gradients{-0.001497f, 0.0001875f, -0.013176f, 0.0f}, start{0.25f, 0.25f, 0.5493f, 0.25f};
  SmallTraining t(testing::weighted_sum(start), "fp16_pure", case_17(), always(gradients));
  const Lost lost(t);
  EXPECT_FALSE(t.step().skipped);
  EXPECT_EQ(t.read("w.v"), (Floats{0.0f, 0.0f, 3 * 0x1p-24f, 0.0f}));   // 1.788e-7
  const Floats w = t.read();
  EXPECT_EQ(w[0], std::numeric_limits<float>::infinity());
  EXPECT_EQ(w[1], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(w[2], fp16(0.5493)) << "1e-4 is less than half an ulp, 2.44e-4";
  EXPECT_TRUE(std::isnan(w[3])) << "0 / 0";
  EXPECT_EQ(lost.counts, std::vector<std::int64_t>{1});
  SmallTraining healthy(testing::weighted_sum(start), "fp16", case_17(), always(gradients));
  healthy.step();
  for (int i = 0; i < 3; ++i) EXPECT_NEAR(healthy.read()[i], start[i] - (gradients[i] > 0 ? 1e-4 : -1e-4), 1e-7);
  EXPECT_EQ(healthy.read()[3], 0.25f);
}

/// Computed in fp32 and rounded once, v is still lost when it is stored, but not for the step that computes it.
TEST(PureUpdates, AdamInFp32ArithmeticDoesNot) {
  TrainConfig c = case_17();
  c.optimizer.arithmetic = UpdateArithmetic::fp32;
  SmallTraining t(testing::weighted_sum({0.25f}), "fp16_pure", c, always({-0.001497f}));
  t.step();
  EXPECT_EQ(t.read("w.v"), Floats{0.0f});
  EXPECT_EQ(t.read(), Floats{fp16(0.25 + 1e-4)});
}

TEST(PureUpdates, TheThresholdOfTheSecondMoment) {
  const double threshold = std::sqrt(0x1p-25 / 0.001);   // 5.459e-3
  for (const double share : {0.99, 1.01}) {
    SmallTraining t(testing::weighted_sum({1.0f}), "fp16_pure", case_17(), always({static_cast<float>(threshold * share)}));
    t.step();
    EXPECT_EQ(t.read("w.v").front() > 0.0f, share > 1.0);
  }
}

// case-23: 100 updates of 6e-4 downwards from 1.
TEST(PureUpdates, OfABf16WeightAreLost) {
  const std::map<std::string, float> expected{
      {"bf16_pure", 1.0f}, {"fp16_pure", 1.0f - 100 * 0x1p-11f}, {"fp32", 0.94f}, {"bf16", 0.94f}, {"fp16", 0.94f}};
  for (const auto& [mode, end] : expected) {
    SmallTraining t(testing::weighted_sum(Floats(16, 1.0f)), mode.c_str(), testing::plain_training(OptimizerKind::sgd, 6e-4),
                    always(Floats(16, 1.0f)));
    const Lost lost(t);
    t.steps(100);
    for (const float w : t.read()) EXPECT_NEAR(w, end, mode.ends_with("pure") ? 0.0 : 100 * 0x1p-25) << mode;
    EXPECT_EQ(lost.counts, std::vector<std::int64_t>(100, mode == "bf16_pure" ? 16 : 0)) << mode;
  }
  EXPECT_EQ(bf16(0.94), 0.94140625f);
}

/// At 1 downwards half an ulp is 2^-9, upwards 2^-8; a tie goes to even, 1.
TEST(PureUpdates, TheThresholdsOfBf16AreAsymmetric) {
  const auto moves = [](float gradient, double rate) {
    SmallTraining t(testing::weighted_sum({1.0f}), "bf16_pure", testing::plain_training(OptimizerKind::sgd, rate), always({gradient}));
    t.step();
    return t.read().front() != 1.0f;
  };
  EXPECT_FALSE(moves(1.0f, 0x1p-9));
  EXPECT_TRUE(moves(1.0f, 0x1.02p-9));
  EXPECT_FALSE(moves(-1.0f, 0x1p-8));
  EXPECT_TRUE(moves(-1.0f, 0x1.02p-8));
}

// case-22: |w| = 0.5, update 1e-4 in fp16.
TEST(PureUpdates, OfAnFp16WeightOfOneHalfAreLost) {
  SmallTraining t(testing::weighted_sum({0.5f, -0.5f}), "fp16_pure", testing::plain_training(OptimizerKind::sgd, 1e-4), always({-1, 1}));
  const Lost lost(t);
  t.steps(50);
  EXPECT_EQ(t.read(), (Floats{0.5f, -0.5f}));
  EXPECT_EQ(lost.counts, std::vector<std::int64_t>(50, 2));
}

TEST(LostUpdates, AreNotThoseThatWereNeverProposed) {
  SmallTraining t(testing::weighted_sum({1.0f, 1.0f, 1.0f}), "bf16_pure", testing::plain_training(OptimizerKind::sgd, 1e-3),
                  always({0.0f, 1.0f, 16.0f}));
  const Lost lost(t);
  t.step();
  EXPECT_EQ(lost.counts, std::vector<std::int64_t>{1});
}

/// Decay of 1e-3 · 0.1 from 1 in bf16, without a gradient.
TEST(LostUpdates, CountWeightDecayAsAnUpdate) {
  TrainConfig c = testing::plain_training(OptimizerKind::adamw, 1e-3);
  c.optimizer.weight_decay = 0.1;
  c.optimizer.epsilon = 1e-3;
  SmallTraining t(testing::weighted_sum({1.0f, 0.0f}), "bf16_pure", c, always({0.0f, 0.0f}));
  const Lost lost(t);
  t.step();
  EXPECT_EQ(lost.counts, std::vector<std::int64_t>{1});
}

// ---- every operation rounded: beside a reference in double

struct Reference {
  double p, m = 0, v = 0;
  /// torch.optim.AdamW(foreach=False), one rounding after each tensor operation.
  void adamw(double g, double t, double (*r)(double)) {
    const double lr = 0.01, b1 = 0.9, b2 = 0.95, eps = 1e-3, decay = 0.1;
    p = r(p * (1 - lr * decay));
    m = r(m + (1 - b1) * (g - m));
    v = r(r(v * b2) + (1 - b2) * g * g);
    const double denominator = r(r(r(std::sqrt(v)) / std::sqrt(1 - std::pow(b2, t))) + eps);
    p = r(p - lr / (1 - std::pow(b1, t)) * m / denominator);
  }
  void sgd(double g, bool first, double (*r)(double)) {
    const double lr = 0.01, momentum = 0.9, decay = 0.1;
    double d = r(g + decay * p);
    m = first ? d : r(r(m * momentum) + d);
    d = r(d + momentum * m);   // Nesterov
    p = r(p - lr * d);
  }
};

double round_fp16(double x) { return static_cast<double>(fp16(x)); }
double round_bf16(double x) { return static_cast<double>(bf16(x)); }

TEST(PureUpdates, RoundEveryOperation) {
  constexpr int n = 1500, steps = 8;
  const std::vector<double> start = testing::numbers(n, 1.0, 1), slope = testing::numbers(n, 0.5, 2);
  for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::sgd})
    for (const Format format : {Format::fp16, Format::bf16}) {
      double (*r)(double) = format == Format::fp16 ? round_fp16 : round_bf16;
      TrainConfig c = testing::plain_training(kind, 0.01);
      c.optimizer.weight_decay = 0.1;
      c.optimizer.epsilon = 1e-3;
      c.optimizer.momentum = kind == OptimizerKind::sgd ? 0.9 : 0.0;
      c.optimizer.nesterov = true;
      const Floats x(slope.begin(), slope.end());
      SmallTraining t(testing::weighted_sum(Floats(start.begin(), start.end())), format == Format::fp16 ? "fp16_pure" : "bf16_pure", c,
                      always(x), 1, 2);
      t.steps(steps);
      const Floats got = t.read();
      int different = 0;
      double worst = 0.0;
      for (std::size_t i = 0; i < n; ++i) {
        Reference ref{r(start[i])};
        for (int s = 0; s < steps; ++s)
          kind == OptimizerKind::adamw ? ref.adamw(r(slope[i]), s + 1.0, r) : ref.sgd(r(slope[i]), s == 0, r);
        different += ref.p == static_cast<double>(got[i]) ? 0 : 1;
        worst = std::max(worst, std::abs(ref.p - static_cast<double>(got[i])) / std::max(std::abs(ref.p), 0.02));
      }
      // Double and fp32 round to different 16-bit numbers only beside a tie: about 2^-13 (fp16) of the operations.
      EXPECT_LT(different, n / 50) << name(format);
      EXPECT_LT(worst, 0.2) << name(format);
    }
}

// ---- other roundings

TEST(UpdateRoundings, StochasticMovesInTheMean) {
  constexpr std::size_t n = 4096;
  TrainConfig c = testing::plain_training(OptimizerKind::sgd, 0x1p-10);   // a quarter of the spacing below 1
  c.optimizer.rounding = UpdateRounding::stochastic;
  const auto train = [&](std::uint64_t seed, int steps) {
    SmallTraining t(testing::weighted_sum(Floats(n, 1.0f)), "bf16_pure", c, always(Floats(n, 1.0f)), seed, 2);
    t.steps(steps);
    return t.read();
  };
  const Floats once = train(1, 1);
  const auto down = std::count(once.begin(), once.end(), 1.0f - 0x1p-8f);
  EXPECT_EQ(std::count(once.begin(), once.end(), 1.0f) + down, static_cast<std::ptrdiff_t>(n));
  EXPECT_NEAR(static_cast<double>(down), n / 4.0, 5 * std::sqrt(n * 3.0 / 16.0));
  EXPECT_EQ(train(1, 1), once);
  EXPECT_NE(train(2, 1), once);
  const Floats later = train(1, 64);   // 64 quarters are 16 spacings; nearest would stay at 1
  double mean = 0.0;
  for (const float w : later) mean += static_cast<double>(w) / n;
  EXPECT_NEAR(mean, 1.0 - 64 * 0x1p-10, 5 * std::sqrt(64 * 3.0 / 16.0 / n) * 0x1p-8);
}

/// The generator's own words decide.
TEST(UpdateRoundings, StochasticIsKeyedByNameIterationAndElement) {
  TrainConfig c = testing::plain_training(OptimizerKind::sgd, 1.0);
  c.optimizer.rounding = UpdateRounding::stochastic;
  const std::vector<double> x = testing::numbers(1500, 0.25, 3);
  SmallTraining t(testing::weighted_sum(Floats(1500, 1.0f)), "fp16_pure", c, always(Floats(x.begin(), x.end())), 7);
  t.steps(2);
  const std::uint64_t key = math::random_key(7, math::hash_name("update:w"));
  Floats expected(1500, 1.0f);
  for (std::int64_t iteration : {0, 1})
    for (std::size_t i = 0; i < 1500; ++i)
      expected[i] = fp16_to_float(fp16_stochastic(expected[i] - fp16(x[i]), math::random_word(key, i, iteration, 0)));
  EXPECT_EQ(t.read(), expected);
}

TEST(UpdateRoundings, KahanKeepsWhatIsLost) {
  for (const double decay : {0.0, 0.1}) {
    TrainConfig c = testing::plain_training(OptimizerKind::adamw, 6e-4);
    c.optimizer.rounding = UpdateRounding::kahan;
    c.optimizer.moment_format = Format::fp32;
    c.optimizer.weight_decay = decay;
    SmallTraining t(testing::weighted_sum({1.0f}), "bf16_pure", c, always({1.0f}));
    double exact = 1.0;
    for (int i = 0; i < 100; ++i) exact = exact * (1 - 6e-4 * decay) - 6e-4;   // Adam's step on a constant gradient is the rate
    const Lost lost(t);
    t.steps(100);
    // The compensation itself is rounded to bf16 in each step: it is below 2^-8, half its last place 2^-18.
    EXPECT_NEAR(t.read().front() + t.read("w.compensation").front(), exact, 100 * 0x1p-18) << decay;
    EXPECT_NEAR(t.read().front(), exact, 0x1p-8) << decay;
    EXPECT_EQ(t.trainer.plan().graph.value(t.trainer.plan().graph.find("w.compensation")).format, Format::bf16);
    std::int64_t sum = 0;
    for (const std::int64_t n : lost.counts) sum += n;
    EXPECT_GT(sum, 50) << "most steps leave the stored weight where it is";
    EXPECT_LT(sum, 100);
  }
}

TEST(UpdateRoundings, InFp32OnlyKahanDiffersFromNearest) {
  const auto train = [](UpdateRounding rounding) {
    TrainConfig c = testing::plain_training(OptimizerKind::sgd, 1e-9);
    c.optimizer.rounding = rounding;
    SmallTraining t(testing::weighted_sum({1.0f}), "fp32", c, always({1.0f}));
    t.steps(100);
    return t.read().front();
  };
  EXPECT_EQ(train(UpdateRounding::nearest), 1.0f);
  EXPECT_EQ(train(UpdateRounding::stochastic), 1.0f);
  EXPECT_NEAR(train(UpdateRounding::kahan), 1.0 - 1e-7, 0x1p-24);
}

TEST(Observing, ChangesNoBitOfAnyUpdate) {
  const std::vector<double> start = testing::numbers(1500, 1.0, 1), slope = testing::numbers(1500, 0.5, 2);
  for (const char* mode : {"fp32", "bf16_pure", "fp16_pure"})
    for (const OptimizerKind kind : {OptimizerKind::adamw, OptimizerKind::sgd})
      for (const UpdateRounding rounding : {UpdateRounding::nearest, UpdateRounding::stochastic, UpdateRounding::kahan})
        for (const UpdateArithmetic arithmetic : {UpdateArithmetic::storage, UpdateArithmetic::fp32}) {
          TrainConfig c = testing::plain_training(kind, 0.01);
          c.optimizer.rounding = rounding;
          c.optimizer.arithmetic = arithmetic;
          c.optimizer.weight_decay = 0.1;
          c.optimizer.momentum = 0.9;
          c.optimizer.epsilon = 1e-3;
          Floats expected;
          for (const bool observed : {false, true}) {
            SmallTraining t(testing::weighted_sum(Floats(start.begin(), start.end())), mode, c,
                            always(Floats(slope.begin(), slope.end())), 1, observed ? 3 : 1);
            if (observed) t.trainer.observe([](const Node&) { return true; });
            t.steps(3);
            Floats got = t.read();
            for (const ValueId v : t.trainer.plan().graph.with_role(Role::optimizer_state))
              for (const float x : t.read(t.trainer.plan().graph.value(v).name)) got.push_back(x);
            if (!observed) expected = got;
            EXPECT_EQ(got, expected) << mode;
          }
        }
}

}  // namespace
}  // namespace ulpscope::engine
