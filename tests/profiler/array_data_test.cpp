// Experiments on arrays: the model fits the data, what is wrong is refused before anything is trained, and a cnn with its
// running statistics goes on after an interruption to the same bits.
#include <gmock/gmock.h>

#include <cmath>

#include "kernels/error.h"
#include "profiler/experiment/past.h"
#include "profiler/experiment/runner.h"
#include "tests/engine/data/made_arrays.h"
#include "tests/profiler/tiny_experiment.h"

namespace ulpscope::profiler {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

class ArrayData : public TinyExperiment {
 protected:
  void SetUp() override {
    TinyExperiment::SetUp();
    std::vector<float> x(60 * 36);
    std::vector<std::int64_t> y(60);
    for (std::size_t i = 0; i < x.size(); ++i) x[i] = std::sin(static_cast<float>(i * i % 97));
    for (std::size_t i = 0; i < y.size(); ++i) y[i] = static_cast<std::int64_t>(i % 3);
    write("x.npy", engine::npy_bytes("<f4", "(60, 1, 6, 6)", x));
    write("y.npy", engine::npy_bytes("<i8", "(60,)", y));
    write("flat.npy", engine::npy_bytes("<f4", "(60, 36)", x));
    y[7] = 12;
    write("wild.npy", engine::npy_bytes("<i8", "(60,)", y));
    std::ofstream(in("cnn.toml")) << "[model]\nkind = 'cnn'\nchannels = 4\nblocks = 1\n[data]\nfeatures = 'x.npy'\nlabels = 'y.npy'\n"
                                     "[train]\nsteps = 8\nbatch = 4\nevaluate_every = 3\n"
                                     "[run]\nmodes = ['fp32', 'fp16', 'bf16']\ntiming_steps = 0\nthreads = 1\n";
  }
  void write(const std::string& name, const std::string& bytes) { std::ofstream(in(name), std::ios::binary) << bytes; }
  Experiment cnn(const std::vector<std::string>& assignments = {}) const {
    Settings settings;
    settings.add_file(in("cnn.toml"));
    for (const std::string& assignment : assignments) settings.add_assignment(assignment);
    return settings.build();
  }
  std::string refusal(const std::vector<std::string>& assignments) const {
    try {
      const Runner runner(cnn(assignments));
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos);
      return error.what();
    }
    ADD_FAILURE() << "not refused";
    return "";
  }
};

TEST_F(ArrayData, TheModelFitsTheData) {
  const Runner runner(cnn());
  const auto& config = std::get<engine::CnnConfig>(runner.experiment().model);
  EXPECT_EQ(config.shape, (std::vector<std::int64_t>{1, 6, 6}));
  EXPECT_EQ(config.classes, 3);
  EXPECT_THAT(to_toml(cnn()), AllOf(HasSubstr("features = \"" + in("x.npy")), HasSubstr("scale = 1.0")));
  EXPECT_EQ(std::get<engine::CnnConfig>(Runner(cnn({"model.classes=5"})).experiment().model).classes, 5) << "as it was asked for";
}

TEST_F(ArrayData, WhatIsWrongIsRefusedBeforeAnythingIsTrained) {
  EXPECT_THAT(refusal({"model.classes=10", "data.labels=" + in("wild.npy")}), HasSubstr("wild.npy: label 12 at [7] is out of range: valid are 0 to 9"));
  EXPECT_THAT(refusal({"data.labels=" + in("none.npy")}), HasSubstr("none.npy: cannot read it"));
  EXPECT_THAT(refusal({"data.path=" + in("text.txt")}), HasSubstr("data.path and data.features are both given"));
  EXPECT_THAT(refusal({"data.features=" + in("flat.npy")}), HasSubstr("36 features of an example"));
}

TEST_F(ArrayData, ACnnWithItsRunningStatisticsGoesOnToTheSameBits) {
  Watcher silent;
  const auto record = [&](const std::string& name, const std::function<bool()>& stop) {
    Runner runner(cnn());
    reports::RunFileWriter writer(in(name), {.overwrite = true});
    runner.run(writer, silent, stop, "");
    writer.close();
  };
  record("whole.ulp", [] { return false; });
  for (const int n : {2, 4, 5, 11, 14}) {
    record("cut.ulp", [n, asked = 0]() mutable { return ++asked >= n; });
    Runner runner(recorded_experiment(in("cut.ulp")));
    Past past;
    reports::RunFileWriter writer(in("cut.ulp"), {.append = true, .rewind = [&] { return (past = read_past(in("cut.ulp"), runner, false)).rewind; }});
    runner.run(writer, silent, [] { return false; }, "", &past);
    writer.close();
    EXPECT_EQ(numbers_of(in("cut.ulp")), numbers_of(in("whole.ulp"))) << n;
  }
}

}  // namespace
}  // namespace ulpscope::profiler
