// Recorded with --ranges and replayed: against runs that were really made under the other policy, to the step.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "profiler/cli/program.h"
#include "profiler/experiment/runner.h"
#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/scale_replay.h"
#include "tests/profiler/tiny_experiment.h"

namespace ulpscope::profiler {
namespace {

using ::testing::HasSubstr;
using reports::PolicyReplay;
using reports::RunFileReader;
using reports::StepRecord;

class ScaleTest : public TinyExperiment {
 protected:
  std::string record(const Experiment& experiment, const std::string& name) {
    Runner runner(experiment);
    reports::RunFileWriter writer(in(name), {.overwrite = true});
    Watcher silent;
    runner.run(writer, silent, [] { return false; }, "ulpscope run");
    writer.close();
    return in(name);
  }
  /// Gradients that never change: case-32.
  std::string constant(const std::vector<double>& slopes, const std::vector<std::string>& settings, const std::string& name) {
    std::ofstream(in("constant.toml")) << fmt::format(
        "model = {{kind = 'graph', loss = 'loss'}}\n"
        "train = {{steps = 50, optimizer = 'sgd', momentum = 0.0, weight_decay = 0.0, lr = 0.0}}\n"
        "run = {{modes = ['fp16'], timing_steps = 0, threads = 2}}\nobserve = {{ranges = true, every = 1}}\n"
        "node = [\n{{name = 'one', op = 'input', values = [[1]]}},\n{{name = 'w', op = 'parameter', shape = [{}, 1]}},\n"
        "{{name = 'y', op = 'linear', inputs = ['one', 'w']}},\n{{name = 'slopes', op = 'constant', init = [[{}]]}},\n"
        "{{name = 'weighted', op = 'mul', inputs = ['y', 'slopes']}},\n{{name = 'loss', op = 'sum', inputs = 'weighted'}},\n]\n",
        slopes.size(), fmt::join(slopes, ", "));
    Settings all;
    all.add_file(in("constant.toml"));
    for (const std::string& setting : settings) all.add_assignment(setting);
    return record(all.build(), name);
  }
  static reports::RunScaleReplay replay(const std::string& path, const std::string& policies) {
    return reports::replay_scales(RunFileReader(path), {.policies = reports::parse_policies({policies}), .mode = "fp16", .seed = 0}).runs.at(0);
  }
};

/// Every step overflowed, and what lies behind the overflow was not seen: nothing is known, and that is not 0 skips.
TEST_F(ScaleTest, WhereEveryStepOverflowedSkipsAreUnknown) {
  const std::string file = constant({100.0, 0.01}, {"train.scaler.fixed=65536"}, "fixed.ulp");
  const reports::RunScaleReplay run = replay(file, "fixed:256,deepspeed");
  ASSERT_EQ(run.policies.size(), 2u);
  const PolicyReplay& fixed = run.policies[0];
  EXPECT_FALSE(fixed.known());
  EXPECT_EQ(fixed.skips, 0);
  EXPECT_EQ(fixed.skips_at_most(), 50);
  EXPECT_FALSE(fixed.wasted());
  EXPECT_FALSE(fixed.settled);
  EXPECT_FALSE(fixed.last);
  EXPECT_THAT(run.notes, testing::Contains(HasSubstr("fixed:256: whether 50 steps overflow is unknown: 0 skips at least, 50 at most")));
  std::ostringstream out, err;
  EXPECT_EQ(run_program({"scale", file, "--policy", "fixed:256"}, out, err), exit_ok) << err.str();
  EXPECT_THAT(out.str(), testing::ContainsRegex("fixed:256 +\\? +\\? +\\? .*\\?\n"));
  std::ostringstream json;
  run_program({"scale", file, "--policy", "fixed:256", "--json"}, json, err);
  const auto policy = nlohmann::json::parse(json.str())["runs"][0]["policies"][0];
  EXPECT_TRUE(policy["skips"].is_null());
  EXPECT_TRUE(policy["wasted"].is_null());
  EXPECT_EQ(policy["skips_at_most"], 50);
}

TEST_F(ScaleTest, Case32FromRecordedRuns) {
  struct Row {
    double g;
    const char* start;
    std::int64_t skips;
    double settled;
  };
  const Row rows[] = {{1.0, "2^32", 17, 0x1p15}, {0.01, "2^32", 10, 0x1p22}, {100.0, "2^32", 23, 0x1p9}, {1e-3, "2^32", 7, 0x1p25},
                      {1.0, "2^16", 1, 0x1p15},  {100.0, "2^16", 7, 0x1p9},  {0.01, "2^16", 0, 0x1p16},  {1e-3, "2^16", 0, 0x1p16}};
  for (const char* recorded : {"65536", "4294967296"})
    for (const double g : {1.0, 0.01, 100.0, 1e-3}) {
      const std::string file = constant({g, g / 3, g / 1000}, {fmt::format("train.scaler.init={}", recorded)}, "constant.ulp");
      for (const Row& row : rows) {
        if (row.g != g) continue;
        const reports::RunScaleReplay run = replay(file, fmt::format("pytorch:{}", row.start));
        EXPECT_EQ(run.policies.at(0).skips, row.skips) << g << " from " << row.start << ", recorded from " << recorded;
        EXPECT_EQ(run.policies.at(0).settled, row.settled) << g << " from " << row.start << ", recorded from " << recorded;
      }
    }
}

/// Every policy replayed against the run that was really made under it: the gradients are the same.
TEST_F(ScaleTest, IsWhatARunUnderThatPolicyDoes) {
  const std::vector<double> slopes = {3.0, 0.7, -0.01};
  const std::string file = constant(slopes, {"train.scaler.init=1024", "train.scaler.interval=7"}, "recorded.ulp");
  struct Pair {
    const char* policy;
    std::vector<std::string> settings;
  };
  const Pair pairs[] = {{"pytorch:2^20:interval=5", {"train.scaler.init=1048576", "train.scaler.interval=5"}},
                        {"megatron:interval=6", {"train.scaler.policy=megatron", "train.scaler.interval=6"}},
                        {"deepspeed:interval=4", {"train.scaler.policy=deepspeed", "train.scaler.interval=4"}},
                        {"fairseq:2^20:interval=4:tolerance=0.5", {"train.scaler.policy=fairseq", "train.scaler.init=1048576", "train.scaler.interval=4", "train.scaler.tolerance=0.5"}},
                        {"keras:interval=3", {"train.scaler.policy=keras", "train.scaler.interval=3"}},
                        {"fixed:65536", {"train.scaler.fixed=65536"}}};
  for (const Pair& pair : pairs) {
    const RunFileReader made(constant(slopes, pair.settings, "made.ulp"));
    const std::vector<StepRecord> steps = made.steps(made.runs().at(0).id);
    const PolicyReplay p = replay(file, pair.policy).policies.at(0);
    ASSERT_EQ(p.history.size(), steps.size()) << pair.policy;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      EXPECT_EQ(static_cast<double>(p.history[i].scale), steps[i].loss_scale) << pair.policy << " step " << i;
      EXPECT_EQ(p.history[i].overflow, steps[i].skipped) << pair.policy << " step " << i;
    }
  }
}

TEST_F(ScaleTest, ARecordedRunIsItsOwnReplay) {
  const std::string file = record(experiment({"observe.ranges=true", "run.seeds=1", "train.scaler.init=4194304"}), "tiny.ulp");
  const RunFileReader reader(file);
  for (const reports::RunRecord& run : reader.runs()) {
    EXPECT_EQ(reader.ranges(run.id).size(), 12u) << run.mode;
    if (run.mode != "fp16") continue;
    const std::vector<StepRecord> steps = reader.steps(run.id);
    const reports::RunScaleReplay r = replay(file, "recorded,pytorch:2^22:interval=3");
    for (const PolicyReplay& p : r.policies)
      for (std::size_t i = 0; i < steps.size(); ++i) {
        EXPECT_EQ(static_cast<double>(p.history.at(i).scale), steps[i].loss_scale);
        EXPECT_EQ(p.history[i].overflow, steps[i].skipped);
      }
    EXPECT_GT(r.policies.at(0).skips, 2);
    EXPECT_LT(r.policies.at(0).skips, 12);
  }
}

TEST_F(ScaleTest, RangesChangeNoBitOfARun) {
  const auto steps = [&](const char* ranges) {
    const RunFileReader reader(record(experiment({fmt::format("observe.ranges={}", ranges), "observe.every=5"}), "tiny.ulp"));
    std::vector<std::string> lines;
    for (const auto& run : reader.runs())
      for (const auto& s : reader.steps(run.id))
        lines.push_back(fmt::format("{} {} {} {:a} {:a} {} {}", run.mode, run.seed, s.step, s.loss.value_or(-1), s.gradient_norm.value_or(-1), s.skipped, s.applied));
    for (const auto& run : reader.runs())
      for (const auto& t : reader.tensor_stats(run.id))
        lines.push_back(fmt::format("{} {} {} {} {} {:a}", run.mode, run.seed, static_cast<std::int64_t>(t.tensor), t.step, t.observation, t.rms.value_or(-1)));
    return lines;
  };
  EXPECT_EQ(steps("false"), steps("true"));
}

/// case-18: log-uniform in [1e-9, 1e-5].
TEST_F(ScaleTest, TheWindowOfCase18) {
  std::vector<double> slopes;
  constexpr int n = 2000;
  for (int i = 0; i < n; ++i) slopes.push_back(std::pow(10.0, -9.0 + 4.0 * (i + 0.5) / n));
  for (const char* scale : {"1", "1024"}) {
    const RunFileReader reader(constant(slopes, {fmt::format("train.scaler.fixed={}", scale), "train.steps=1"}, "window.ulp"));
    const reports::RunDiagnosis d = reports::diagnose(reader).runs.at(0);
    ASSERT_TRUE(d.window);
    EXPECT_EQ(d.window->model.lowest, 32.0) << scale;
    EXPECT_EQ(d.window->model.highest, 0x1p32) << scale;
    EXPECT_TRUE(d.window->exists());
    for (const reports::LayerWindow& layer : d.window->layers) {
      if (layer.layer != "weighted") continue;
      EXPECT_NEAR(*layer.flushed, std::string(scale) == "1" ? (std::log10(0x1p-25) + 9) / 4 : 0.0, 1e-3);
    }
  }
}

TEST_F(ScaleTest, TheCommand) {
  const std::string file = constant({1.0}, {"train.scaler.init=4294967296"}, "constant.ulp");
  const auto run = [](std::vector<std::string> arguments) {
    std::ostringstream out, err;
    const int code = run_program(std::move(arguments), out, err);
    return std::tuple(code, out.str(), err.str());
  };
  const auto [code, text, err] = run({"scale", file, "--policy", "deepspeed,megatron", "--policy", "fixed:1024"});
  EXPECT_EQ(code, exit_ok) << err;
  EXPECT_THAT(text, HasSubstr("fp16 seed 0"));
  EXPECT_THAT(text, HasSubstr("fixed:1024"));
  EXPECT_THAT(text, HasSubstr("projected"));
  const auto [json_code, json_text, json_err] = run({"scale", file, "--policy=pytorch:2^16", "--json", "--mode", "fp16", "--seed", "0"});
  EXPECT_EQ(json_code, exit_ok) << json_err;
  const auto document = nlohmann::json::parse(json_text);
  EXPECT_EQ(document["runs"][0]["policies"][0]["skips"], 1);
  EXPECT_EQ(document["runs"][0]["recorded"]["skips"], 17);
  const auto [none, nothing, complaint] = run({"scale", record(experiment({"train.steps=2", "run.modes=fp16", "run.seeds=1"}), "plain.ulp"), "--policy", "apex"});
  EXPECT_EQ(none, exit_usage);
  EXPECT_THAT(complaint, HasSubstr("--ranges"));
  const auto [wrong, no, what] = run({"scale", file, "--policy", "pytorsh"});
  EXPECT_EQ(wrong, exit_usage);
  EXPECT_THAT(what, HasSubstr("pytorch"));
}

}  // namespace
}  // namespace ulpscope::profiler
