// A folder with a text of some kilobytes and a tiny model: for tests that train.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "profiler/experiment/experiment_file.h"
#include "reports/run_file/reader.h"

namespace ulpscope::profiler {

class TinyExperiment : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "ulpscope_tiny_" + testing::UnitTest::GetInstance()->current_test_info()->name() + "_" +
              std::to_string(::getpid());
    std::filesystem::create_directories(folder_);
    std::ofstream text(folder_ + "/text.txt");
    for (int i = 0; i < 400; ++i) text << "line " << i * 37 % 101 << " of a text\n";
    std::ofstream(in("tiny.toml")) << toml;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  static constexpr const char* toml =
      "[model]\nkind = 'gpt'\ncontext = 8\nwidth = 16\nlayers = 1\nheads = 2\ndropout = 0.1\n[data]\npath = 'text.txt'\n"
      "[train]\nsteps = 12\nbatch = 2\nevaluate_every = 5\nevaluation_batches = 2\n"
      "[train.scaler]\ninit = 1e12\ninterval = 3\n"
      "[run]\nmodes = ['fp32', 'fp16', 'bf16']\nseeds = 2\ntiming_steps = 0\nthreads = 1\n";

  Experiment experiment(const std::vector<std::string>& assignments = {}) const {
    Settings settings;
    settings.add_file(in("tiny.toml"));
    for (const std::string& assignment : assignments) settings.add_assignment(assignment);
    return settings.build();
  }
  std::string in(const std::string& name) const { return folder_ + "/" + name; }

  std::string folder_;
};

/// What two recordings of the same experiment have in common to the bit: everything but clocks, machines and remarks.
inline std::vector<std::string> numbers_of(const std::string& path) {
  const reports::RunFileReader file(path);
  std::vector<std::string> lines;
  const auto hex = [](const reports::Number& number) { return number ? fmt::format("{:a}", *number) : std::string("-"); };
  for (const auto& run : file.runs()) {
    const std::string who = fmt::format("{} {}", run.mode, run.seed);
    lines.push_back(fmt::format("{} {} {}", who, reports::name(run.status), run.message));
    for (const auto& s : file.steps(run.id))
      lines.push_back(fmt::format("{} step {} applied {} loss {} lr {} scale {} norm {} {} {} {}", who, s.step, s.applied, hex(s.loss),
                                  hex(s.learning_rate), hex(s.loss_scale), hex(s.gradient_norm), s.finite, s.skipped,
                                  s.tokens.value_or(-1)));
    for (const auto& e : file.evaluations(run.id))
      lines.push_back(fmt::format("{} evaluation {} {} {}", who, e.step, hex(e.loss), e.tokens.value_or(-1)));
    for (const auto& e : file.events(run.id))
      lines.push_back(fmt::format("{} event {} {} {} {}", who, e.step, e.kind, hex(e.value), e.detail_json));
    for (const auto& m : file.memory(run.id)) {   // what is held to observe depends on the steps that this process observed
      const auto looking = m.bytes[static_cast<std::size_t>(reports::MemoryCategory::observation)];
      lines.push_back(fmt::format("{} memory {} {}", who, reports::name(m.kind), m.total_bytes.value_or(-1) - looking.value_or(0)));
    }
    for (const auto& r : file.ranges(run.id))
      for (const reports::TensorRange& t : r.tensors)
        lines.push_back(fmt::format("{} range {} step {} {:a} {} {}", who, static_cast<std::int64_t>(t.tensor), r.step, t.greatest_magnitude,
                                    t.not_finite, t.overflowed));
    for (const auto& t : file.tensor_stats(run.id))
      lines.push_back(fmt::format("{} tensor {} step {} {} {} {} {} {} {}", who, static_cast<std::int64_t>(t.tensor), t.step, t.observation,
                                  t.micro_batch, t.elements, t.overflowed.value_or(-1), hex(t.greatest_magnitude), hex(t.rms)));
  }
  return lines;
}

}  // namespace ulpscope::profiler
