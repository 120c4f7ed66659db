// What kinds of experiment go on to the same bits: graphs, injected values, several micro-batches, batch norm in mixed precision,
// weights that are 16 bits alone; and evaluation in full 16 bits.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "profiler/experiment/past.h"
#include "profiler/experiment/runner.h"
#include "tests/profiler/tiny_experiment.h"

namespace ulpscope::profiler {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using Stop = std::function<bool()>;

class ResumeKinds : public TinyExperiment {
 protected:
  Experiment build(const std::string& text, const std::vector<std::string>& assignments = {}) const {
    Settings settings;
    settings.add_text(text, in("x.toml"));
    for (const std::string& assignment : assignments) settings.add_assignment(assignment);
    return settings.build();
  }
  void begin(const Experiment& e, const std::string& name, const Stop& stop) {
    Runner runner(e);
    reports::RunFileWriter writer(in(name), {.overwrite = true});
    runner.run(writer, silent_, stop, "");
    writer.close();
  }
  void resume(const std::string& name) {
    Runner runner(recorded_experiment(in(name)));
    Past past;
    reports::RunFileWriter writer(in(name), {.append = true, .rewind = [&] { return (past = read_past(in(name), runner, false)).rewind; }});
    runner.run(writer, silent_, [] { return false; }, "", &past);
    writer.close();
    goes_on_ = ::testing::PrintToString(past.remarks).find("goes on at step") != std::string::npos;
  }
  /// One recording all the way, others stopped when asked for the n-th time and gone on with. Returns the whole one's numbers.
  std::vector<std::string> check(const Experiment& e, std::initializer_list<int> stops) {
    begin(e, "whole.ulp", [] { return false; });
    const std::vector<std::string> whole = numbers_of(in("whole.ulp"));
    for (const int n : stops) {
      begin(e, "cut.ulp", [n, asked = 0]() mutable { return ++asked >= n; });
      EXPECT_NE(numbers_of(in("cut.ulp")), whole) << n;
      resume("cut.ulp");
      EXPECT_TRUE(goes_on_) << "stopped at " << n << ": it began again, and the test says nothing";
      EXPECT_EQ(numbers_of(in("cut.ulp")), whole) << "stopped at " << n;
    }
    return whole;
  }

  Watcher silent_;
  bool goes_on_ = false;
};

// Batches, noise and buffers come from the tables alone; the injected value lies before, at and after where it is stopped.
const char* const graph = R"(
model = {kind = "graph", loss = "loss"}
train = {steps = 12, lr = 0.05, optimizer = "adamw", evaluate_every = 0}
run = {modes = ["fp32", "fp16", "bf16"], timing_steps = 0, threads = 1, checkpoint_every = 1}
node = [
  {name = "x", op = "input", shape = [8, 6], values = {normal = 1.0}},
  {name = "t", op = "input", shape = [8, 3], values = {uniform = 0.5}},
  {name = "w1", op = "parameter", shape = [5, 6], init = {normal = 0.3}},
  {name = "h", op = "linear", inputs = ["x", "w1"]},
  {name = "gain", op = "parameter", shape = [5], init = {ones = true}},
  {name = "bias", op = "parameter", shape = [5]},
  {name = "mean", op = "buffer", shape = [5]},
  {name = "variance", op = "buffer", shape = [5], init = {ones = true}},
  {name = "n", op = "batch_norm", inputs = ["h", "gain", "bias", "mean", "variance"]},
  {name = "d", op = "dropout", inputs = "n", rate = 0.2},
  {name = "w2", op = "parameter", shape = [3, 5], init = {normal = 0.3}},
  {name = "y", op = "linear", inputs = ["d", "w2"]},
  {name = "loss", op = "mse_loss", inputs = ["y", "t"]},
]
)";

TEST_F(ResumeKinds, AGraphFromTheExperimentFile) { check(build(graph), {1, 4, 9}); }

TEST_F(ResumeKinds, AValueThatIsInjected) {
  const std::string inject = R"(
inject = [{step = 3, value = "w1", index = 4, number = 7.5}, {step = 6, value = "y", index = 1, number = inf},
          {step = 9, value = "variance", number = 3.0}]
)";
  // In fp16 the infinity makes the loss scale fall; without a scaler it would end the run.
  const auto whole = check(build(graph + inject, {"run.modes=fp16"}), {2, 3, 4, 6, 7, 8, 10});
  EXPECT_THAT(whole, Contains(HasSubstr("false true"))) << "a step was skipped";
  EXPECT_NE(whole, (begin(build(graph, {"run.modes=fp16"}), "plain.ulp", [] { return false; }), numbers_of(in("plain.ulp"))))
      << "the injected values changed something";
}

TEST_F(ResumeKinds, SeveralMicroBatches) {
  for (const char* format : {"fp32", "fp16"})
    check(experiment({"run.seeds=1", "train.micro_batches=3", std::string("train.accumulator_format=") + format, "run.checkpoint_every=1"}), {1, 5, 8});
}

TEST_F(ResumeKinds, WeightsOfSixteenBitsWithWhatTheirUpdateKeeps) {
  std::vector<std::vector<std::string>> recordings;
  for (const char* rounding : {"nearest", "kahan", "stochastic"})
    recordings.push_back(check(experiment({"run.seeds=1", "run.modes=bf16_pure,fp16_pure", std::string("train.update_rounding=") + rounding}), {1, 5, 8}));
  EXPECT_NE(recordings[0], recordings[1]);
  EXPECT_NE(recordings[0], recordings[2]);
}

// Weights stay as they are trained, and no step changes; only the held-out loss is another.
TEST_F(ResumeKinds, EvaluationInAnotherFormat) {
  const auto lines = [&](const char* format, bool evaluation) {
    const Experiment e = experiment({"run.seeds=1", "run.modes=fp32,fp16,bf16_pure", std::string("train.evaluation_format=") + format});
    std::vector<std::string> of;
    for (const std::string& line : check(e, {4}))
      if ((line.find(" evaluation ") != std::string::npos) == evaluation && line.find(" memory ") == std::string::npos) of.push_back(line);
    return of;
  };
  EXPECT_EQ(lines("bf16", false), lines("mode", false));
  EXPECT_EQ(lines("fp16", false), lines("mode", false));
  EXPECT_EQ(lines("fp32", false), lines("mode", false));
  const auto mode = lines("mode", true), bf16 = lines("bf16", true), fp16 = lines("fp16", true), fp32 = lines("fp32", true);
  ASSERT_EQ(mode.size(), 9u);
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_NE(bf16[i], mode[i]);
    EXPECT_NE(fp16[i], bf16[i]);
  }
  for (std::size_t i = 6; i < 9; ++i) EXPECT_EQ(bf16[i], mode[i]) << "a pure mode is in 16 bits already";
  for (std::size_t i = 0; i < 3; ++i) EXPECT_EQ(fp32[i], mode[i]) << "fp32 is in fp32 already";
  for (std::size_t i = 3; i < 9; ++i) EXPECT_NE(fp32[i], mode[i]);
}

}  // namespace
}  // namespace ulpscope::profiler
