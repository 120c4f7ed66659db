// Recorded ranges under other policies: case-32's numbers, the recorded history itself, and a simulation that knows the gradients.
#include "reports/analysis/scale_replay.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <random>
#include <sstream>

#include "kernels/error.h"
#include "reports/export/exporter.h"
#include "tests/reports/forged_run.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

using testing::HasSubstr;

constexpr double limit = 65520.0;

/// Unscaled gradients of a step: of a, and of b, which is computed from a.
using Gradients = std::function<std::pair<float, float>(std::int64_t step)>;
Gradients constant(float g) {
  return [g](std::int64_t) { return std::pair{g, g / 4}; };
}

std::string settings_of(scaling::Policy policy) {
  nlohmann::json scaler{{"policy", scaling::name(policy)}};
  std::visit([&](auto& p) { p.fields([&](const char* key, auto& field) { scaler[key] = field; }); }, policy);
  return nlohmann::json{{"train", {{"scaler", scaler}}}}.dump();
}

/// A run whose gradients are known, as it would be recorded.
struct Recording {
  Recording(const scaling::Policy& policy, const Gradients& gradients, std::int64_t steps, const std::function<bool(std::int64_t)>& bad_loss = {})
      : run("fp16") {
    run.run.attributes_json = settings_of(policy);
    run.source("x", TensorRole::input, "fp32");
    run.source("one", TensorRole::input, "fp32");
    run.node("mean", "loss", {"x"}, "fp32", Phase::forward, {});
    run.node("scale_loss", "scale_loss", {"loss"}, "fp32", Phase::forward, {});
    run.node("mul", "again", {"x"}, "fp16", Phase::backward, {4}, R"({"recomputes": "x"})");
    run.node("scale_loss", "scale_loss.dloss", {"one"}, "fp32", Phase::backward, {}, "", TensorRole::gradient);
    run.node("cast", "a.dx", {"scale_loss.dloss"}, "fp16", Phase::backward, {4}, "", TensorRole::gradient);
    run.node("matmul", "b.dx", {"a.dx", "again"}, "fp16", Phase::backward, {4}, "", TensorRole::gradient);
    run.node("cast", "w.grad", {"b.dx"}, "fp32", Phase::backward, {4}, "", TensorRole::gradient);
    run.node("unscale_check", "unscale_check", {"w.grad"}, "fp32", Phase::update, {4}, "", TensorRole::gradient);
    scaling::ScalerState state = scaling::initial_state(policy);
    for (std::int64_t i = 0; i < steps; ++i) {
      const bool bad = bad_loss && bad_loss(i);
      const auto [a, b] = gradients(i);
      const float at_a = a * state.scale, at_b = b * state.scale;
      const bool over_a = !bad && at_a >= 65520.0f, over_b = !bad && !over_a && at_b >= 65520.0f;
      const bool overflow = bad || over_a || over_b;
      run.step(bad ? nan_number : 1.0, overflow, static_cast<double>(state.scale));
      ranges.push_back({RunId{1}, i,
                        std::vector<TensorRange>{range("loss", bad ? 0.0f : 1.0f, bad, false), range("again", 1e6f, false, true),
                                                 range("scale_loss.dloss", state.scale, false, false), range("a.dx", bad ? 0.0f : at_a, bad, over_a),
                                                 range("b.dx", over_a || bad ? 0.0f : at_b, over_a || bad, over_b),
                                                 range("w.grad", overflow ? 0.0f : at_b, overflow, false)}});
      state = scaling::next(policy, state, overflow).state;
    }
  }
  TensorRange range(const std::string& name, float greatest, bool not_finite, bool overflowed) const {
    for (const TensorRecord& t : run.tensors)
      if (t.name == name) return {t.id, greatest, not_finite, overflowed};
    throw Error(name);
  }
  RunFileReader write(const std::string& path) const {
    RunFileWriter writer(path, {.overwrite = true});
    run.write(writer);
    for (const RangeRecord& r : ranges) writer.push(r);
    writer.close();
    return RunFileReader(path);
  }
  ForgedRun run;
  std::vector<RangeRecord> ranges;
};

/// Steps that a policy skips if nothing but the gradients decides.
std::vector<std::int64_t> skipped(const scaling::Policy& policy, const Gradients& gradients, std::int64_t steps) {
  std::vector<std::int64_t> list;
  scaling::ScalerState state = scaling::initial_state(policy);
  for (std::int64_t i = 0; i < steps; ++i) {
    const auto [a, b] = gradients(i);
    const bool overflow = static_cast<double>(std::max(a, b)) * static_cast<double>(state.scale) >= limit;
    if (overflow) list.push_back(i);
    const scaling::Transition t = scaling::next(policy, state, overflow);
    if (t.event == scaling::ScaleEvent::gave_up) break;
    state = t.state;
  }
  return list;
}

std::vector<std::int64_t> skipped(const PolicyReplay& replay) {
  std::vector<std::int64_t> list;
  for (const ReplayedStep& step : replay.history)
    if (step.overflow) list.push_back(step.step);
  return list;
}

class ScaleReplayTest : public Scratch {
 protected:
  RunScaleReplay replay(const Recording& recording, const std::string& policies) {
    ScaleReplayOptions options{.policies = parse_policies({policies})};
    return replay_scales(recording.write(in("a.ulp")), options).runs.at(0);
  }
};

struct Search {
  float g;
  const char* start;
  std::int64_t skips;
  double settled;
};

/// Whatever scale it was recorded at: below the search, in the middle of it, from another start.
TEST_F(ScaleReplayTest, Case32ComesOutExactly) {
  const Search searches[] = {{1.0f, "pytorch:2^32", 17, 0x1p15}, {0.01f, "pytorch:2^32", 10, 0x1p22}, {100.0f, "pytorch:2^32", 23, 0x1p9}, {1e-3f, "pytorch:2^32", 7, 0x1p25},
                             {1.0f, "pytorch:2^16", 1, 0x1p15},  {100.0f, "pytorch:65536", 7, 0x1p9},  {0.01f, "pytorch", 0, 0x1p16},       {1e-3f, "pytorch:2^16", 0, 0x1p16}};
  for (const float recorded : {0x1p16f, 0x1p32f, 0x1p8f, 0x1p36f})
    for (const Search& s : searches) {
      const RunScaleReplay run = replay({scaling::PytorchScaler{.initial_scale = recorded}, constant(s.g), 50}, s.start);
      const PolicyReplay& p = run.policies.at(0);
      EXPECT_EQ(p.skips, s.skips) << s.g << " from " << s.start << ", recorded from " << recorded;
      EXPECT_EQ(p.searching, s.skips);
      EXPECT_EQ(p.settled, s.settled) << s.g << " from " << s.start << ", recorded from " << recorded;
      EXPECT_EQ(p.last, s.settled);
      EXPECT_EQ(p.least, s.settled);
      EXPECT_EQ(p.settled_at, s.skips);
      EXPECT_EQ(p.provenance, Provenance::projected);
      EXPECT_EQ(p.unknown, 0);
      EXPECT_DOUBLE_EQ(p.wasted().value(), static_cast<double>(s.skips) / 50.0);
    }
}

/// 65519.99 × 1 fits, 65520 does not.
TEST_F(ScaleReplayTest, TheEdgeIsExact) {
  for (const float g : {std::nextafter(65520.0f, 0.0f), 65520.0f}) {
    const RunScaleReplay run = replay({scaling::FixedScaling{.scale = 0x1p-3f}, constant(g), 3}, "fixed:1");
    EXPECT_EQ(run.policies.at(0).skips, g == 65520.0f ? 3 : 0);
  }
}

/// Gradients that grow, shrink and have spikes.
Gradients restless(std::uint32_t seed) {
  return [seed](std::int64_t step) {
    std::mt19937 random(seed + static_cast<std::uint32_t>(step) * 977);
    const double u = static_cast<double>(random()) * 0x1p-32, v = static_cast<double>(random()) * 0x1p-32;
    const double g = std::exp2(6 * std::sin(static_cast<double>(step) / 11) + u + (v < 0.07 ? 5 : 0));
    return std::pair{static_cast<float>(g), static_cast<float>(g / 8)};
  };
}

std::vector<scaling::Policy> short_policies() {
  return {scaling::PytorchScaler{.growth_interval = 4},
          scaling::ApexScaler{.growth_interval = 3},
          scaling::DeepspeedScaler{.growth_interval = 5, .stop_at_floor = false},
          scaling::DeepspeedScaler{.growth_interval = 4, .consecutive_hysteresis = true},
          scaling::MegatronScaler{.growth_interval = 4},
          scaling::FairseqScaler{.initial_scale = 65536.0f, .growth_interval = 4, .tolerance = 0.3},
          scaling::TensorflowScaler{.growth_interval = 6},
          scaling::KerasScaler{.growth_interval = 3},
          scaling::FixedScaling{.scale = 4096.0f}};
}

TEST_F(ScaleReplayTest, TheRecordedPolicyGivesTheRecordedHistory) {
  for (const scaling::Policy& policy : short_policies()) {
    const Recording recording(policy, restless(3), 200);
    const RunScaleReplay run = replay(recording, "recorded");
    const PolicyReplay& p = run.policies.at(0);
    ASSERT_EQ(p.history.size(), recording.run.steps.size()) << scaling::name(policy);
    for (std::size_t i = 0; i < p.history.size(); ++i) {
      EXPECT_EQ(static_cast<double>(p.history[i].scale), recording.run.steps[i].loss_scale) << scaling::name(policy) << " step " << i;
      EXPECT_EQ(p.history[i].overflow, recording.run.steps[i].skipped) << scaling::name(policy) << " step " << i;
      EXPECT_EQ(p.history[i].basis, Basis::recorded);
    }
    EXPECT_GT(p.skips, 3) << scaling::name(policy);
    EXPECT_EQ(p.skips, run.recorded.skips);
    EXPECT_EQ(p.settled, run.recorded.settled);
    EXPECT_EQ(run.recorded.provenance, Provenance::counted);
  }
}

TEST_F(ScaleReplayTest, OtherPoliciesSkipWhatTheGradientsMakeThemSkip) {
  const Gradients gradients = restless(5);
  const Recording recording(scaling::PytorchScaler{.growth_interval = 4}, gradients, 150);
  RunFileReader reader = recording.write(in("a.ulp"));
  ScaleReplayOptions options;
  for (const scaling::Policy& policy : short_policies()) options.policies.push_back({scaling::name(policy), policy});
  const RunScaleReplay run = replay_scales(reader, options).runs.at(0);
  EXPECT_GT(run.incomplete, 5);
  for (std::size_t i = 0; i < options.policies.size(); ++i)
    EXPECT_EQ(skipped(run.policies[i]), skipped(options.policies[i].policy, gradients, 150)) << options.policies[i].name;
}

/// What lies behind an overflow was not seen, and is said to be inferred.
TEST_F(ScaleReplayTest, WhatWasNotSeenIsSaidToBeInferred) {
  const Gradients hidden = [](std::int64_t) { return std::pair{1.0f, 16.0f}; };   // b is the larger one, and comes later
  const RunScaleReplay run = replay({scaling::PytorchScaler{.initial_scale = 0x1p18f}, hidden, 30}, "pytorch:2^14");
  // a overflows at 2^18 … 2^16; b is seen from 2^15 on, where it overflows; from 2^11 on nothing does.
  EXPECT_EQ(run.recorded.skips, 7);
  EXPECT_EQ(run.policies.at(0).skips, 3);   // 2^14, 2^13, 2^12
  EXPECT_EQ(run.policies.at(0).settled, 0x1p11);
  EXPECT_EQ(run.policies.at(0).inferred, 7);   // in four of them b is known, and what comes after it is not
  EXPECT_EQ(run.incomplete, 7);
  ASSERT_FALSE(run.notes.empty());
  EXPECT_THAT(run.notes.front(), HasSubstr("[inferred]"));
}

TEST_F(ScaleReplayTest, WithoutAStepThatIsWholeItIsUnknown) {
  const Gradients hidden = [](std::int64_t) { return std::pair{1.0f, 16.0f}; };
  const RunScaleReplay run = replay({scaling::FixedScaling{.scale = 0x1p17f}, hidden, 3}, "fixed:2^14");
  EXPECT_EQ(run.policies.at(0).unknown, 3);
  EXPECT_THAT(fmt::format("{}", fmt::join(run.notes, "\n")), HasSubstr("whether 3 steps overflow is unknown: 0 skips at least, 3 at most"));
}

TEST_F(ScaleReplayTest, NoScaleHelpsALossThatIsNotFinite) {
  const RunScaleReplay run =
      replay({scaling::PytorchScaler{}, constant(1e-3f), 20, [](std::int64_t i) { return i >= 15; }}, "fixed:1,pytorch:1,deepspeed:init=4:hysteresis=1");
  EXPECT_EQ(run.never_finite, 5);
  EXPECT_EQ(run.policies.at(0).skips, 5);
  EXPECT_EQ(run.policies.at(1).skips, 5);
  EXPECT_EQ(run.policies.at(2).gave_up, 17);   // 4, 2, 1
  EXPECT_EQ(run.policies.at(2).steps, 18);
  EXPECT_THAT(fmt::format("{}", fmt::join(run.notes, "\n")), HasSubstr("not finite at any scale"));
}

/// The gradient of a loss does not need its value: with it alone no step is skipped, at no scale.
TEST_F(ScaleReplayTest, ALossThatIsNotFiniteSkipsNoStepOfFiniteGradients) {
  Recording recording(scaling::FixedScaling{.scale = 1024.0f}, constant(1e-3f), 4);
  recording.run.steps.at(2).loss = inf_number;
  const std::vector<TensorRange> seen(recording.ranges.at(2).tensors.begin(), recording.ranges.at(2).tensors.end());
  std::vector<TensorRange> changed{recording.range("loss", 0.0f, true, false)};   // the first of them
  changed.insert(changed.end(), seen.begin() + 1, seen.end());
  recording.ranges.at(2) = {RunId{1}, 2, changed};
  const RunScaleReplay run = replay(recording, "fixed:1,fixed:2^16,fixed:2^30");
  EXPECT_EQ(run.never_finite, 0);
  EXPECT_EQ(run.policies.at(0).skips, 0);
  EXPECT_EQ(run.policies.at(1).skips, 0);
  EXPECT_EQ(run.policies.at(2).skips, 4);
  for (const PolicyReplay& policy : run.policies) EXPECT_EQ(policy.unknown + policy.inferred, 0);
}

TEST_F(ScaleReplayTest, ScalesThatAreNone) {
  // Unguarded growth goes to infinity; a scale so small that 1 / S is infinite makes every gradient so.
  const RunScaleReplay run = replay({scaling::FixedScaling{.scale = 1.0f}, constant(1e-38f), 40}, "keras:init=2^120:interval=1,fixed:2^-140");
  const PolicyReplay& keras = run.policies.at(0);
  EXPECT_EQ(keras.greatest, inf_number);
  EXPECT_GT(keras.skips, 10);
  EXPECT_EQ(run.policies.at(1).skips, 40);
}

TEST_F(ScaleReplayTest, ADroppedRowIsTakenFromItsNeighbour) {
  Recording recording(scaling::PytorchScaler{.initial_scale = 1024.0f}, constant(1.0f), 20);
  std::erase_if(recording.ranges, [](const RangeRecord& r) { return r.step == 3 || r.step == 4; });
  const RunScaleReplay run = replay(recording, "fixed:2^16,recorded");
  EXPECT_EQ(run.without_range, 2);
  EXPECT_EQ(run.policies.at(0).skips, 20);
  EXPECT_EQ(run.policies.at(0).inferred, 2);
  EXPECT_EQ(run.policies.at(1).inferred, 0) << "its own scale needs no range";
}

TEST_F(ScaleReplayTest, WhatCannotBeDoneIsSaid) {
  const auto complaint = [](const std::string& policies) { return message_of<UsageError>([&] { parse_policies({policies}); }); };
  EXPECT_THAT(complaint("pytorch,deepsped"), HasSubstr("did you mean deepspeed"));
  EXPECT_THAT(complaint("pytorch:hysteresis=3"), HasSubstr("the policy pytorch has no hysteresis; it has init, growth, backoff, interval"));
  EXPECT_THAT(complaint("none:1"), HasSubstr("the policy none has no scale; it has no numbers"));
  EXPECT_THAT(complaint("fixed:big"), HasSubstr("\"big\" is no number"));
  EXPECT_THAT(complaint("fixed:0"), HasSubstr("must be finite and above 0"));
  EXPECT_THAT(complaint("megatron:interval=2.5"), HasSubstr("interval is a whole number"));
  EXPECT_THAT(complaint("fixed:=5"), HasSubstr("\"=5\" names no number"));
  EXPECT_THAT(complaint("megatron:interval=3:interval=4"), HasSubstr("interval is given twice"));
  EXPECT_THAT(complaint("fixed:1:2"), HasSubstr("is given twice"));
  EXPECT_THAT(complaint("recordet"), HasSubstr("and recorded: that of the run"));
  EXPECT_THAT(complaint("recorded:4"), HasSubstr("takes no numbers"));
  EXPECT_THAT(complaint(""), HasSubstr("--policy is missing"));
  EXPECT_EQ(parse_policies({"pytorch:2^3", "fixed:1024,megatron:init=4:hysteresis=1"}).size(), 3u);
  Recording recording(scaling::PytorchScaler{}, constant(1.0f), 3);
  recording.ranges.clear();
  EXPECT_THAT(message_of<UsageError>([&] { replay(recording, "pytorch"); }), HasSubstr("record it with ulpscope run ... --ranges"));
  Recording without_steps(scaling::PytorchScaler{}, constant(1.0f), 3);
  without_steps.run.steps.clear();
  EXPECT_THAT(message_of<UsageError>([&] { replay(without_steps, "pytorch"); }), HasSubstr("the steps of fp16 seed 0 are missing from the recording"));
  const ScaleReplayOptions other{.policies = parse_policies({"pytorch"}), .mode = "bf16"};
  EXPECT_THAT(message_of<UsageError>([&] { replay_scales(recording.write(in("b.ulp")), other); }), HasSubstr("no run of bf16; there are fp16 seed 0"));
}

TEST_F(ScaleReplayTest, EveryFormSaysTheSame) {
  const Recording recording(scaling::PytorchScaler{}, constant(100.0f), 50);
  const ScaleReplay result = replay_scales(recording.write(in("a.ulp")), {.policies = parse_policies({"pytorch:2^32,fixed:1024"})});
  std::ostringstream text, json, csv;
  make_exporter("text")->write(result, text);
  make_exporter("json")->write(result, json);
  make_exporter("csv")->write(result, csv);
  EXPECT_THAT(text.str(), HasSubstr("pytorch:2^32"));
  EXPECT_THAT(text.str(), HasSubstr("projected"));
  std::istringstream lines(text.str());
  for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 80u) << line;
  const auto document = nlohmann::json::parse(json.str());
  const auto& policies = document["runs"][0]["policies"];
  EXPECT_EQ(policies[0]["skips"], 23);
  EXPECT_EQ(policies[0]["settled_scale"], 512.0);
  EXPECT_EQ(policies[0]["provenance"], "projected");
  EXPECT_EQ(policies[1]["skips"], 50);
  EXPECT_TRUE(policies[1]["settled_scale"].is_null());
  EXPECT_EQ(document["runs"][0]["recorded"]["skips"], 7);
  EXPECT_THAT(csv.str(), HasSubstr("fp16,0,pytorch:2^32,skips,23,projected\r\n"));
}

}  // namespace
}  // namespace ulpscope::reports
