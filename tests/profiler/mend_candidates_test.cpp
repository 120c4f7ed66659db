// Changes by what asks for them: scales, learning rates, decays, micro-batches, clamps, epsilons; and trials that train nothing.
#include <gmock/gmock.h>
#include <sqlite3.h>

#include "kernels/device.h"
#include "kernels/error.h"
#include "profiler/mend/candidate.h"
#include "profiler/mend/keep_fp32.h"
#include "profiler/mend/trial.h"
#include "tests/profiler/support/mend_fixture.h"

namespace ulpscope::profiler {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

class MendCandidates : public MendFixture {
 protected:
  static int tried(const MendsOfRun& run, const std::string& kind) {
    return static_cast<int>(std::count_if(run.trials.begin(), run.trials.end(), [&](const MendTrial& t) { return t.record.kind == kind; }));
  }
  /// As it is planned, in its one mode.
  static engine::Graph step_of(const Experiment& experiment) {
    const auto device = make_cpu_device({});
    return engine::plan_step(*device, engine::build_model(experiment.model, experiment.train.batch, true), engine::find_mode(experiment.run.modes.front()), experiment.train)
        .graph;
  }
};

TEST_F(MendCandidates, ATrialThatStillSearchesItsScaleGoesOn) {
  const MendTrial& kept = trial(mended(from_case("01", "fp16")), "keep_fp32");   // whose one step is skipped at 65536
  EXPECT_EQ(kept.record.status, MendStatus::verified) << told(mends_.runs.front());
  EXPECT_THAT(kept.record.how_run, testing::AllOf(HasSubstr("steps 1 to 21 of 1 planned: the first "), HasSubstr(" only lowered the loss scale")));
}

// From 2^40 the gradient of what is kept fits after 30 skips, at 2^10: twenty steps more are not enough, and twenty more are.
TEST_F(MendCandidates, ASearchIsFollowedToItsEnd) {
  const MendsOfRun& run = mended(from_case("01", "fp16", {"train.scaler.init=1099511627776"}));
  const MendTrial& kept = trial(run, "keep_fp32");
  EXPECT_EQ(kept.record.status, MendStatus::verified) << told(run);
  EXPECT_THAT(kept.record.how_run, HasSubstr("steps 1 to 41 of 1 planned: the first 30 only lowered the loss scale"));
  expect(run, "bf16", MendStatus::verified);
  EXPECT_THAT(trial(run, "bf16").record.how_run, HasSubstr("steps 1 to 41 of 1 planned"));
}

/// Gradients of 1e-8, which a scale of 1 loses, and 2000 in step 25 alone, beside a loss that hardly moves.
std::string late(const std::string& observe) {
  std::string steps = "1e-8";
  for (int i = 1; i < 24; ++i) steps += ", 1e-8";
  return "model = {kind = 'graph', loss = 'loss'}\n"
         "train = {steps = 40, optimizer = 'sgd', momentum = 0.0, weight_decay = 0.0, lr = 0.0, clip = 0.0, scaler = {fixed = 1}}\n"
         "run = {modes = ['fp16']}\nobserve = {" + observe + "}\n"
         "node = [{name = 'x', op = 'input', values = [[1.0]]}, {name = 'f', op = 'input', steps = [" + steps + ", 2000.0, 1e-8]},\n"
         "{name = 'w', op = 'parameter', init = [[0.25]]}, {name = 'c', op = 'constant', init = 1e5},\n"
         "{name = 'y', op = 'linear', inputs = ['x', 'w']}, {name = 'p', op = 'mul', inputs = ['y', 'f']},\n"
         "{name = 's', op = 'sum', inputs = 'p'}, {name = 'loss', op = 'add', inputs = ['s', 'c']}]\n";
}

TEST_F(MendCandidates, AFixedScaleIsRunAsFarAsTheRecordingGoes) {
  const std::string toml = late("every = 100");
  const MendsOfRun& run = mended(from_text(toml));
  const MendTrial& fixed = trial(run, "scale");
  EXPECT_EQ(fixed.record.status, MendStatus::refuted) << told(run);
  EXPECT_THAT(fixed.why, HasSubstr("1 of 40 steps overflow at it and are skipped, step 25 first"));
  EXPECT_THAT(fixed.record.how_run, HasSubstr("steps 1 to 40 of 40"));
}

TEST_F(MendCandidates, AFixedScaleHasRoomForEveryRecordedRange) {
  const MendsOfRun& run = mended(from_text(late("every = 100, ranges = true")));
  const MendTrial& fixed = trial(run, "scale_fixed");
  EXPECT_EQ(fixed.record.status, MendStatus::verified) << told(run);
  EXPECT_THAT(fixed.record.change, HasSubstr("inside the window of all observed steps ("));
  EXPECT_THAT(fixed.record.change, HasSubstr(" to 32)")) << "2000 x 32 fits, 2000 x 64 does not";
  EXPECT_THAT(fixed.record.how_run, HasSubstr("steps 1 to 40 of 40"));
}

TEST_F(MendCandidates, ALowerRateForWhatDivergesInFp32) {
  // w <- w - lr 2 w: at 3 it grows by 5 a step, at 1.5 by 2; at 0.375 it falls to a quarter.
  const MendsOfRun& run = mended(from_text("model = {kind = 'graph', loss = 'loss'}\n"
                                            "train = {steps = 30, optimizer = 'sgd', momentum = 0.0, weight_decay = 0.0, clip = 0.0, lr = 3.0, schedule = 'constant'}\n"
                                            "run = {modes = ['fp32']}\n"
                                            "node = [{name = 'x', op = 'input', values = [[1.0]]}, {name = 't', op = 'input', values = [[0.0]]},\n"
                                            "{name = 'w', op = 'parameter', init = [[0.5]]}, {name = 'y', op = 'linear', inputs = ['x', 'w']},\n"
                                            "{name = 'loss', op = 'mse_loss', inputs = ['y', 't']}]\n"));
  expect(run, "lr", MendStatus::refuted, "1.5 (1/2 of 3)");
  expect(run, "lr", MendStatus::verified, "0.375 (1/8 of 3)");
  EXPECT_EQ(tried(run, "lr"), 2) << "the first that helps ends it\n" << told(run);
  EXPECT_THAT(trial(run, "lr", "1/8").record.change, HasSubstr("changes the training"));
  EXPECT_EQ(tried(run, "fp32"), 0) << "it is in fp32";
}

TEST_F(MendCandidates, ADecayThatActs) {
  const std::string toml =
      "model = {kind = 'graph', loss = 'loss'}\n"
      "train = {steps = 3, weight_decay = 0.1, clip = 0.0, lr = 0.01, schedule = 'constant'}\nrun = {modes = ['bf16_pure']}\n"
      "node = [{name = 'c', op = 'constant', init = [3.0, 4.0]}, {name = 'w', op = 'parameter', init = [0.25, 0.25]},\n"
      "{name = 'y', op = 'mul', inputs = ['c', 'w']}, {name = 'loss', op = 'sum', inputs = 'y'}]\n";
  const MendsOfRun& run = mended(from_text(toml));
  EXPECT_THAT(run.faults, ElementsAre(HasSubstr("weight_decay_lost"))) << told(run);
  // Half an ulp is 2^-9 of the weight: 0.01 x 0.4 is twice that, in two digits.
  const MendTrial& decay = trial(run, "weight_decay", "0.4 instead of 0.1");
  EXPECT_EQ(decay.record.status, MendStatus::verified) << told(run);
  EXPECT_THAT(decay.record.change, HasSubstr("changes the training"));
  expect(run, "update_rounding", MendStatus::verified, "Kahan");
  expect(run, "update_rounding", MendStatus::verified, "stochastically");
  expect(run, "master_weights", MendStatus::verified);
}

TEST_F(MendCandidates, AHigherRateForUpdatesThatAreLost) {
  const MendsOfRun& run = mended(from_case("23", "bf16_pure"));
  const MendTrial& rate = trial(run, "lr", "at which updates land");
  EXPECT_EQ(rate.record.status, MendStatus::verified) << told(run);
  EXPECT_THAT(rate.ulpscope, HasSubstr("train.lr=0.00"));
}

TEST_F(MendCandidates, ShorterSumsInMoreMicroBatches) {
  // ln 256 = 5.545 for each of 16384 samples is 90852, of 8192 45426.
  Experiment experiment = from_text("model = {kind = 'mlp', context = 2, embedding = 2, width = 4, layers = 1}\ndata = {path = 'text.txt'}\n"
                                    "train = {steps = 1, batch = 16384, lr = 0.0, scaler = {init = 256}}\nrun = {modes = ['fp16']}\n"
                                    "override = [{nodes = 'loss', accumulate = 'lower', order = 'pairwise'}]\n");
  const MendsOfRun& run = mended(experiment);
  const MendTrial& parts = trial(run, "micro_batches", "2 micro-batches of 8192 instead of 1 of 16384");
  EXPECT_EQ(parts.record.status, MendStatus::verified) << told(run);
  EXPECT_EQ(tried(run, "micro_batches"), 1);
  EXPECT_TRUE(parts.record.memory_delta_bytes.has_value());
}

TEST_F(MendCandidates, FewerMicroBatchesForASumThatSticks) {
  const MendsOfRun& run = mended(from_text("model = {kind = 'mlp', context = 2, embedding = 2, width = 4, layers = 1}\ndata = {path = 'text.txt'}\n"
                                            "train = {steps = 1, batch = 1, micro_batches = 512, accumulator_format = 'bf16'}\nrun = {modes = ['bf16']}\n"));
  EXPECT_THAT(run.faults, testing::AllOf(testing::SizeIs(3), testing::Each(HasSubstr("sum_stuck")))) << told(run);   // of four; the fourth is counted
  expect(run, "accumulator_fp32", MendStatus::verified);
  EXPECT_GE(tried(run, "micro_batches"), 1) << told(run);
}

/// Both numbers change, so that the batch of a step is what it was.
TEST_F(MendCandidates, MicroBatchesAndBatchChangeTogether) {
  const Experiment experiment = from_text("model = {kind = 'mlp', context = 2, embedding = 2, width = 4, layers = 1}\ndata = {path = 'text.txt'}\n"
                                          "train = {steps = 1, batch = 3, micro_batches = 512, accumulator_format = 'bf16'}\nrun = {modes = ['bf16']}\n");
  const reports::RunDiagnosis found = reports::diagnose(reports::RunFileReader(record(experiment))).runs.at(0);
  const engine::Graph step = step_of(experiment);
  std::vector<std::pair<std::int64_t, std::int64_t>> sizes;
  for (const Candidate& candidate : candidates(Ground(experiment, step, found))) {
    if (candidate.kind != "micro_batches") continue;
    Experiment changed = experiment;
    candidate.apply(changed);
    sizes.emplace_back(changed.train.micro_batches, changed.train.batch);
  }
  EXPECT_THAT(sizes, ElementsAre(std::pair(256, 6), std::pair(64, 24), std::pair(1, 1536)));
}

/// The forward pass overflows whatever the scale is: of a gradient that is too large besides no trial of a scale is made before that is mended.
TEST_F(MendCandidates, NoScaleIsTriedWhereTheForwardPassOverflows) {
  const Experiment experiment =
      from_text("model = {kind = 'graph', loss = 'loss'}\ntrain = {steps = 3, lr = 0.0}\nrun = {modes = ['fp16']}\n"
                "node = [{name = 'x', op = 'constant', shape = [1, 8, 16], init = 41.0}, {name = 'k', op = 'parameter', shape = [2, 8, 5], init = 40.0},\n"
                "{name = 'conv', op = 'conv1d', inputs = ['x', 'k']}, {name = 'm', op = 'mean', inputs = 'conv'}, {name = 'loss', op = 'scale', inputs = 'm', factor = 1e-4}]\n");
  reports::RunDiagnosis found = reports::diagnose(reports::RunFileReader(record(experiment))).runs.at(0);
  ASSERT_EQ(found.causes.at(0).kind, reports::Kind::activation_too_large);
  reports::Cause gradient{.kind = reports::Kind::gradient_too_large_for_scale, .gravity = reports::Gravity::fatal, .node = "conv.dweight", .phase = "backward"};
  for (const char* kind : {"scale", "scaler"}) gradient.remedies.push_back({.ulpscope = "train.scaler.init=256", .mend = kind});
  found.causes.push_back(gradient);
  const engine::Graph step = step_of(experiment);
  const auto scales = [&] {
    std::vector<std::string> kinds;
    for (const Candidate& c : candidates(Ground(experiment, step, found)))
      if (c.kind.starts_with("scale")) kinds.push_back(c.kind + (c.apply ? "" : ": " + c.impossible));
    return kinds;
  };
  EXPECT_THAT(scales(), testing::SizeIs(3));
  EXPECT_THAT(scales(), testing::Each(HasSubstr(": no loss scale helps: activation_too_large at conv makes the loss infinite or NaN in the forward pass")));
  found.causes.erase(found.causes.begin());  // without the forward overflow they are tried
  EXPECT_THAT(scales(), testing::IsSupersetOf({"scale", "scaler"}));
}

/// A search takes several runs: after another mode, before what changes the results.
TEST_F(MendCandidates, TheSearchForNodesComesBeforeWhatChangesTheResults) {
  const std::string file = record(from_case("01", "fp16"));
  std::vector<std::string> trials;
  mend(file, {.budget_seconds = 300.0}, nullptr, [&](const std::string& what) { trials.push_back(what); });
  const auto at = [&](const char* words) {
    return std::find_if(trials.begin(), trials.end(), [&](const std::string& t) { return t.find(words) != std::string::npos; }) - trials.begin();
  };
  EXPECT_LT(at("train in bf16"), at("keep layer2.linear")) << fmt::format("{}", fmt::join(trials, "\n"));
  EXPECT_LT(at("keep layer2.linear"), at("clamp"));
  EXPECT_LT(at("clamp"), std::ssize(trials));
}

/// Of the fp32 runs in a file the one with the patient's seed; the first where there is none.
TEST_F(MendCandidates, TheTwinInFp32HasTheSeedOfThePatient) {
  const std::string file = record(from_text("model = {kind = 'mlp', context = 2, embedding = 2, width = 4, layers = 1}\ndata = {path = 'text.txt'}\n"
                                            "train = {steps = 2, batch = 4}\nrun = {modes = ['fp32', 'bf16'], seeds = 3}\n"));
  const reports::RunFileReader reader(file);
  const auto losses = [](const std::vector<reports::Record>& records) {
    std::vector<double> list;
    for (const reports::Record& r : records)
      if (const auto* step = std::get_if<reports::StepRecord>(&r)) list.push_back(step->loss.value_or(NAN));
    return list;
  };
  std::vector<std::vector<double>> by_seed;
  for (const reports::RunRecord& r : reader.runs()) {
    if (r.mode != "fp32") continue;
    by_seed.emplace_back();
    for (const reports::StepRecord& step : reader.steps(r.id)) by_seed.back().push_back(step.loss.value_or(NAN));
  }
  ASSERT_EQ(by_seed.size(), 3u);
  EXPECT_NE(by_seed[0], by_seed[1]);
  for (std::int64_t seed : {0, 1, 2}) EXPECT_EQ(losses(fp32_twin(reader, seed)), by_seed[static_cast<std::size_t>(seed)]) << seed;
  EXPECT_EQ(losses(fp32_twin(reader, 17)), by_seed[0]);
}

TEST_F(MendCandidates, AClampIsSaidToChangeTheResult) {
  const MendsOfRun& run = mended(from_case("01", "fp16"));
  const MendTrial& clamp = trial(run, "clamp");
  EXPECT_EQ(clamp.record.status, MendStatus::verified) << told(run);
  EXPECT_THAT(clamp.record.change, HasSubstr("changes the result"));
  EXPECT_THAT(clamp.ulpscope, HasSubstr("[[rewrite]] kind = \"clamp\", nodes = \"layer2.linear\", limit = 65504"));
  EXPECT_THAT(run.verdict, testing::Not(HasSubstr("clamp"))) << "what keeps the result comes first";
}

TEST_F(MendCandidates, TheEpsilonOfANorm) {
  // A row of zeros: 0 / sqrt(0 + 0).
  const MendsOfRun& run = mended(from_text(std::string(one_step) +
                                            "node = [{name = 'x', op = 'input', values = [[0.0, 0.0], [1.0, 2.0]]},\n"
                                            "{name = 'gain', op = 'parameter', init = [1.0, 1.0]},\n"
                                            "{name = 'norm', op = 'rms_norm', inputs = ['x', 'gain'], epsilon = 0.0},\n"
                                            "{name = 'loss', op = 'mean', inputs = 'norm'}]\n"));
  const MendTrial& epsilon = trial(run, "epsilon", "raise the epsilon of norm to 1e-05");
  EXPECT_EQ(epsilon.record.status, MendStatus::verified) << told(run);
  EXPECT_THAT(epsilon.ulpscope, HasSubstr("epsilon = 1e-05 in node 'norm'"));
}

TEST_F(MendCandidates, TheEpsilonThatAConstantIs) {
  // 1e-8 is 0 in fp16: x / (x x + 0) of x = 0.
  const MendsOfRun& run = mended(from_text(std::string(one_step) +
                                            "override = [{nodes = 'd', compute = 'fp16', output = 'fp16'}]\n"
                                            "node = [{name = 'x', op = 'input', values = [0.0, 1.0]}, {name = 'w', op = 'parameter', init = [1.0, 1.0]},\n"
                                            "{name = 'a', op = 'mul', inputs = ['x', 'w']}, {name = 'eps', op = 'constant', init = [1e-8]},\n"
                                            "{name = 'square', op = 'mul', inputs = ['a', 'a']}, {name = 'above', op = 'add', inputs = ['square', 'eps']},\n"
                                            "{name = 'd', op = 'div', inputs = ['a', 'above']}, {name = 'loss', op = 'mean', inputs = 'd'}]\n"));
  expect(run, "epsilon", MendStatus::verified, "raise the constant 'eps' to 1e-05");
}

/// The logarithm is fp32's already: it is the addition that makes 0 of 1e-8.
TEST_F(MendCandidates, WhereAnEpsilonVanishesIsKept) {
  const MendsOfRun& run = mended(from_text(std::string(one_step) +
                                            "override = [{nodes = 'se', compute = 'lower'}]\n"
                                            "node = [{name = 'x', op = 'input', values = [[-20.0, -1.0]]}, {name = 'w', op = 'parameter', init = [[1.0, 0.0], [0.0, 1.0]]},\n"
                                            "{name = 'y', op = 'linear', inputs = ['x', 'w']}, {name = 's', op = 'sigmoid', inputs = 'y'}, {name = 'eps', op = 'constant', init = 1e-8},\n"
                                            "{name = 'se', op = 'add', inputs = ['s', 'eps']}, {name = 'l', op = 'log', inputs = 'se'}, {name = 'loss', op = 'mean', inputs = 'l'}]\n"));
  const MendTrial& kept = trial(run, "keep_fp32");
  EXPECT_EQ(kept.record.status, MendStatus::verified) << told(run);
  EXPECT_THAT(kept.nodes, ElementsAre("se")) << told(run);
}

/// 66000 x 1e-5 behind an infinity: the sigmoid's 1 is damage, and what made the infinity is what is kept.
TEST_F(MendCandidates, AnInfinityThatWasSwallowed) {
  const MendsOfRun& run = mended(from_text(std::string(one_step) +
                                            "node = [{name = 'x', op = 'input', values = [[100.0, 200.0], [1.0, 2.0]]}, {name = 'w', op = 'parameter', init = [[220.0, 220.0]]},\n"
                                            "{name = 'y', op = 'linear', inputs = ['x', 'w']}, {name = 'k', op = 'scale', inputs = 'y', factor = 1e-5},\n"
                                            "{name = 's', op = 'sigmoid', inputs = 'k'}, {name = 'loss', op = 'mean', inputs = 's'}]\n"));
  EXPECT_THAT(run.faults, ElementsAre("activation_too_large at y"));
  expect(run, "keep_fp32", MendStatus::verified);
}

TEST_F(MendCandidates, AnEpsilonWhereThereIsNone) {
  const MendsOfRun& run = mended(from_text(std::string(one_step) +
                                            "node = [{name = 'x', op = 'input', values = [0.0, 1.0]}, {name = 'w', op = 'parameter', init = [1.0, 1.0]},\n"
                                            "{name = 'a', op = 'mul', inputs = ['x', 'w']}, {name = 'l', op = 'log', inputs = 'a'},\n"
                                            "{name = 'loss', op = 'mean', inputs = 'l'}]\n"));
  const MendTrial& epsilon = trial(run, "epsilon", "add 1e-05 to what l takes: changes the result");
  EXPECT_EQ(epsilon.record.status, MendStatus::verified) << told(run);
}

/// What lies below 0 by less than the epsilon is lifted above it; nothing else is, and that is found by trying.
TEST_F(MendCandidates, AnEpsilonForLogarithmsAndRootsOfNegativeNumbers) {
  for (const char* op : {"log", "sqrt"})
    for (const auto& [least, status] : {std::pair{"-1e-6", MendStatus::verified}, std::pair{"-0.5", MendStatus::refuted}}) {
      const MendsOfRun& run = mended(from_text(fmt::format("{}node = [{{name = 'x', op = 'input', values = [{}, 1.0]}}, {{name = 'w', op = 'parameter', init = [1.0, 1.0]}},\n"
                                                           "{{name = 'a', op = 'mul', inputs = ['x', 'w']}}, {{name = 'l', op = '{}', inputs = 'a'}},\n"
                                                           "{{name = 'loss', op = 'mean', inputs = 'l'}}]\n",
                                                           one_step, least, op)));
      EXPECT_THAT(run.faults, ElementsAre("outside_domain at l")) << op << told(run);
      expect(run, "epsilon", status, "add 1e-05 to what l takes: changes the result");
      expect(run, "keep_fp32", MendStatus::refuted);
    }
}

/// A softmax by hand: exp(-12) / exp(6) is 1.5e-8, 0 in fp16. Another divisor would not help, for it is not 0.
TEST_F(MendCandidates, AnEpsilonWhereTheZeroIsMetAndNotWhereItIsMade) {
  const MendsOfRun& run = mended(from_text(std::string(one_step) +
                                            "override = [{nodes = 'p', compute = 'fp16', output = 'fp16'}]\n"
                                            "node = [{name = 'x', op = 'input', values = [6.0, -12.0]}, {name = 'w', op = 'parameter', init = [1.0, 1.0]},\n"
                                            "{name = 'a', op = 'mul', inputs = ['x', 'w']}, {name = 'e', op = 'exp', inputs = 'a'}, {name = 's', op = 'sum', inputs = 'e'},\n"
                                            "{name = 'p', op = 'div', inputs = ['e', 's']}, {name = 'l', op = 'log', inputs = 'p'},\n"
                                            "{name = 'loss', op = 'mean', inputs = 'l'}]\n"));
  EXPECT_THAT(run.faults, ElementsAre("activation_below_range at p")) << told(run);
  expect(run, "epsilon", MendStatus::verified, "add 1e-05 to what l takes: changes the result");
  EXPECT_EQ(tried(run, "epsilon"), 1) << told(run);
}

/// Of 90 and 90.25 in fp16: E[x^2] is 8120, E[x]^2 is 8124. What rounds is the input's product, far above the root that fails.
TEST_F(MendCandidates, WhatADifferenceThatCancelsIsMadeOfIsKept) {
  const MendsOfRun& run = mended(from_text("model = {kind = 'graph', loss = 'loss'}\n"
                                            "train = {steps = 1, optimizer = 'sgd', momentum = 0.0, weight_decay = 0.0, lr = 0.0}\nrun = {modes = ['fp16_pure']}\n"
                                            "node = [{name = 'x', op = 'input', values = [90.0, 90.25]}, {name = 'w', op = 'parameter', init = [1.0, 1.0]},\n"
                                            "{name = 'a', op = 'mul', inputs = ['x', 'w']}, {name = 'square', op = 'mul', inputs = ['a', 'a']},\n"
                                            "{name = 'mean_square', op = 'mean', inputs = 'square'}, {name = 'mean', op = 'mean', inputs = 'a'},\n"
                                            "{name = 'square_mean', op = 'mul', inputs = ['mean', 'mean']}, {name = 'var', op = 'sub', inputs = ['mean_square', 'square_mean']},\n"
                                            "{name = 'loss', op = 'sqrt', inputs = 'var'}]\n"));
  EXPECT_THAT(run.faults, ElementsAre("outside_domain at loss")) << told(run);
  const MendTrial& kept = trial(run, "keep_fp32");
  EXPECT_EQ(kept.record.status, MendStatus::verified) << told(run);
  EXPECT_THAT(kept.nodes, ElementsAre("a")) << "its squares and what comes of them are as wide as it is";
  EXPECT_TRUE(kept.minimal);
}

/// Each of 40 levels reads the one before twice: 2^40 ways lead to the first, and it is gone to once.
TEST_F(MendCandidates, WhatIsReadTwiceIsWalkedOnce) {
  std::string levels;
  for (int i = 1; i <= 40; ++i) levels += fmt::format("{{name = 's{0}', op = 'silu', inputs = 'h{1}'}}, {{name = 'h{0}', op = 'add', inputs = ['h{1}', 's{0}']}},\n", i, i - 1);
  const Experiment experiment = from_text(std::string(one_step) + "node = [{name = 'x', op = 'input', values = [1.0, 2.0]}, {name = 'w', op = 'parameter', init = [1.0, 1.0]},\n"
                                          "{name = 'h0', op = 'mul', inputs = ['x', 'w']},\n" + levels +
                                          "{name = 'root', op = 'sqrt', inputs = 'h40'}, {name = 'loss', op = 'mean', inputs = 'root'}]\n");
  const engine::Graph step = step_of(experiment);
  reports::Cause cause{.kind = reports::Kind::outside_domain, .gravity = reports::Gravity::fatal, .node = "root"};
  cause.facts.push_back({.key = "cancellation"});
  reports::RunDiagnosis found;
  found.causes = {cause};
  const Ground ground(experiment, step, found);
  const KeepFp32 kept = search_keep_fp32(ground, [](const std::vector<std::string>&) { return std::optional<Trial>(); }, [] { return std::string("no time"); });
  EXPECT_EQ(kept.nodes.size(), 1u + 40u + 40u + 1u) << fmt::format("{}", fmt::join(kept.nodes, ", "));
  EXPECT_THAT(kept.nodes, testing::IsSupersetOf({"root", "h40", "s1", "h0"}));
  EXPECT_EQ(kept.why, "no time");
}

TEST_F(MendCandidates, QueriesKeysAndValuesAreKeptTogether) {
  // Attention refuses keys of another format than the queries'.
  Experiment experiment = from_text("model = {kind = 'llama', context = 16, width = 16, layers = 1, heads = 4, kv_heads = 2, hidden = 32, tied = false}\n"
                                    "data = {path = 'text.txt'}\ntrain = {steps = 1, epsilon = 0.0001, weight_decay = 0.0, lr = 0.001}\nrun = {modes = ['fp16_pure']}\n");
  const MendsOfRun& run = mended(experiment);
  const MendTrial& kept = trial(run, "keep_fp32");
  EXPECT_NE(kept.record.change, "keep  in fp32");
  EXPECT_NE(kept.record.status, MendStatus::not_tried) << told(run);
  EXPECT_FALSE(kept.nodes.empty());
  expect(run, "scale", MendStatus::verified);
  EXPECT_THAT(trial(run, "scale").ulpscope, HasSubstr("train.scale_pure=true")) << "without it a scale does nothing here";
}

TEST_F(MendCandidates, AFileThatCannotTakeResultsIsRefusedBeforeAnyTrial) {
  const std::string file = record(from_case("01", "fp16"));
  sqlite3* database = nullptr;
  ASSERT_EQ(sqlite3_open(file.c_str(), &database), SQLITE_OK);
  ASSERT_EQ(sqlite3_exec(database, "drop table completeness", nullptr, nullptr, nullptr), SQLITE_OK);
  sqlite3_close(database);
  int said = 0;
  try {
    mend(file, {}, nullptr, [&](const std::string&) { ++said; });
    FAIL() << "its table is gone";
  } catch (const UsageError& error) {
    EXPECT_THAT(error.what(), HasSubstr("completeness"));
  }
  EXPECT_EQ(said, 0);
}

TEST_F(MendCandidates, ARunThatTrainedNothingYetIsToldSo) {
  mended(from_text("model = {kind = 'graph', loss = 'loss'}\ntrain = {steps = 2, optimizer = 'sgd', lr = 0.0, scaler = {init = 1e30}}\nrun = {modes = ['fp16']}\n"
                   "node = [{name = 'x', op = 'input', values = [[1.0]]}, {name = 'w', op = 'parameter', init = [[0.5]]},\n"
                   "{name = 'y', op = 'linear', inputs = ['x', 'w']}, {name = 'loss', op = 'sum', inputs = 'y'}]\n"));
  EXPECT_THAT(notes_, ElementsAre(HasSubstr("train.scaler.init")));
}

}  // namespace
}  // namespace ulpscope::profiler
