// The trace: valid JSON whatever the names are, slices of a thread that do not overlap, and the run's own numbers.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "reports/export/report_perfetto.h"
#include "reports/run_file/counter_rows.h"
#include "tests/reports/report_forms.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {
namespace {

using nlohmann::json;

class PerfettoTrace : public Scratch {
 protected:
  static json trace_of(const RunFileReader& reader) {
    std::ostringstream out;
    write_perfetto({&reader}, out);
    return json::parse(out.str());
  }
  static std::vector<json> events(const json& trace, const std::string& kind, int pid, int tid = -1) {
    std::vector<json> list;
    for (const json& event : trace.at("traceEvents"))
      if (event.at("ph") == kind && event.at("pid") == pid && (tid < 0 || event.at("tid") == tid)) list.push_back(event);
    return list;
  }
  static double end(const json& slice) { return slice.at("ts").get<double>() + slice.at("dur").get<double>(); }
};

TEST_F(PerfettoTrace, AProcessForEachRunWithItsStepsCountersAndEvents) {
  forge_everything(in("a.ulp"));
  const RunFileReader reader(in("a.ulp"));
  const json trace = trace_of(reader);
  std::vector<std::string> processes;
  for (const json& event : trace.at("traceEvents"))
    if (event.at("name") == "process_name") processes.push_back(event.at("args").at("name"));
  EXPECT_THAT(processes, testing::ElementsAre("fp32, seed 0", "fp32, seed 1", "fp32, seed 2", "fp16, seed 0", "fp16, seed 1", "fp16, seed 2"));
  const std::vector<json> steps = events(trace, "X", 5, 1);
  const std::vector<StepRecord> recorded = reader.steps(RunId{5});
  ASSERT_EQ(steps.size(), recorded.size());
  for (std::size_t i = 0; i < steps.size(); ++i) {
    EXPECT_NEAR(steps[i].at("ts").get<double>(), 11'000.0 * static_cast<double>(i), 1e-3) << "one after the other, as long as they took";
    EXPECT_NEAR(steps[i].at("dur").get<double>(), 11'000.0, 1e-3);
    EXPECT_EQ(steps[i].at("args").at("time"), "emulated");
    if (i == 5) {
      EXPECT_EQ(steps[i].at("args").at("loss"), "NaN");
    } else {
      EXPECT_EQ(steps[i].at("args").at("loss").get<double>(), *recorded[i].loss);
    }
  }
  EXPECT_EQ(steps[3].at("name"), "step 4, skipped");
  std::vector<double> scales;
  for (const json& event : events(trace, "C", 5))
    if (event.at("name") == "loss scale") scales.push_back(event.at("args").at("value"));
  EXPECT_EQ(scales, (std::vector<double>{65536.0, 32768.0}));
  const std::vector<json> instants = events(trace, "i", 5);
  ASSERT_EQ(instants.size(), 3u);
  EXPECT_EQ(instants[0].at("name"), "overflow");
  EXPECT_EQ(instants[0].at("args").at("node"), evil_name);
  EXPECT_NEAR(instants[0].at("ts").get<double>(), 44'000.0, 1e-3);
  // Nodes were timed by a clock: a mean step of 5 nodes, 1 ms each, in the order of the plan.
  const std::vector<json> nodes = events(trace, "X", 4, 5);
  ASSERT_EQ(nodes.size(), 5u);
  EXPECT_EQ(nodes[0].at("name"), evil_name);
  EXPECT_NEAR(end(nodes[4]), 5000.0, 1e-3);
  const std::vector<json> passes = events(trace, "X", 4, 4);
  ASSERT_EQ(passes.size(), 3u);
  EXPECT_EQ(passes[1].at("name"), "backward");
  EXPECT_NEAR(passes[1].at("dur").get<double>(), 2000.0, 1e-3);
  EXPECT_TRUE(std::any_of(trace.at("traceEvents").begin(), trace.at("traceEvents").end(), [](const json& e) { return e.at("ph") == "C" && e.at("name").get<std::string>().starts_with("memory"); }));
}

TEST_F(PerfettoTrace, KernelsStandWhereTheyRanAndStepsHoldThem) {
  constexpr std::int64_t ms = 1'000'000;
  ForgedRun run("fp16", 1);
  run.small_model();
  for (int i = 0; i < 3; ++i) run.step(1.0, false, 1024.0);
  for (StepRecord& step : run.steps) step.wall_seconds = 0.010;
  run.steps[2].wall_seconds.reset();
  {
    RunFileWriter writer(in("a.ulp"), {.overwrite = true});
    run.write(writer);
    // Step 0 at 100 ms, step 1 said to begin inside of it, step 2 not traced. y on stream 7, the loss beside it on stream 9.
    for (const std::int64_t step : {0, 1}) {
      const std::int64_t at = step == 0 ? 100 * ms : 105 * ms;
      writer.push(KernelRecord{.run = RunId{1}, .step = step, .node = NodeId{1}, .stream = 7, .name = evil_name, .start_ns = at, .duration_ns = 3 * ms, .grid = {4, 2, 1}, .block = {128, 1, 1}, .tensor_pipe = 0.5});
      writer.push(KernelRecord{.run = RunId{1}, .step = step, .node = NodeId{2}, .stream = 9, .name = "mean", .start_ns = at + 2 * ms, .duration_ns = 2 * ms});
      writer.push(KernelRecord{.run = RunId{1}, .step = step, .node = NodeId{3}, .stream = 7, .name = "expand", .start_ns = at + 4 * ms, .duration_ns = ms});
    }
    writer.push(KernelRecord{.run = RunId{1}, .stream = 7, .name = "of no step", .start_ns = 0, .duration_ns = ms});
    writer.push(CompletenessRecord{.run = RunId{1}, .kind = "note", .subject = std::string(counted_step_subject) + "2", .count = 2});
    for (const std::int64_t position : {1, 2}) writer.push(MemoryRecord{.run = RunId{1}, .step = 0, .position = position, .total_bytes = 1000 * position});
    writer.close();
  }
  const RunFileReader reader(in("a.ulp"));
  const json trace = trace_of(reader);
  const std::vector<json> steps = events(trace, "X", 1, 1);
  ASSERT_EQ(steps.size(), 3u);
  EXPECT_EQ(steps[0].at("ts"), 100'000.0);
  EXPECT_EQ(steps[1].at("ts"), 110'000.0) << "not before the end of the step before";
  EXPECT_EQ(steps[2].at("args").at("time"), "unknown");
  EXPECT_EQ(steps[2].at("args").at("drawn_as"), "1 ms");
  const std::vector<json> stream = events(trace, "X", 1, 16 + 7);
  ASSERT_EQ(stream.size(), 4u);
  EXPECT_EQ(stream[0].at("name"), evil_name);
  EXPECT_EQ(stream[0].at("args").at("grid"), "4x2x1");
  EXPECT_EQ(stream[0].at("args").at("tensor_pipe"), 0.5);
  EXPECT_EQ(stream[0].at("args").at("tensor_pipe_of"), "all kernels of this node together, for a micro-batch, in another step");
  EXPECT_FALSE(stream[1].at("args").contains("tensor_pipe_of")) << "nothing was counted";
  EXPECT_EQ(steps[1].at("name"), "step 2");
  EXPECT_EQ(steps[2].at("name"), "step 3, nodes counted");
  EXPECT_THAT(steps[2].at("args").at("nodes_counted").get<std::string>(), testing::HasSubstr("the time is no step's"));
  EXPECT_EQ(stream[0].at("dur"), 3000.0);
  EXPECT_EQ(stream[2].at("ts"), 110'000.0) << "moved with its step";
  EXPECT_EQ(stream[3].at("ts"), 114'000.0);
  for (const int tid : {1, 2, 3, 23, 25}) {
    const std::vector<json> slices = events(trace, "X", 1, tid);
    EXPECT_FALSE(slices.empty()) << tid;
    for (std::size_t i = 1; i < slices.size(); ++i) EXPECT_GE(slices[i].at("ts").get<double>(), end(slices[i - 1])) << "thread " << tid;
  }
  const std::vector<json> nodes = events(trace, "X", 1, 3);
  ASSERT_EQ(nodes.size(), 6u);
  EXPECT_EQ(nodes[0].at("name"), "y");
  EXPECT_EQ(nodes[0].at("dur"), 2000.0) << "cut where the next begins";
  const std::vector<json> passes = events(trace, "X", 1, 2);
  ASSERT_EQ(passes.size(), 4u);
  EXPECT_EQ(passes[0].at("name"), "forward");
  EXPECT_EQ(passes[0].at("dur"), 4000.0);
  EXPECT_EQ(trace.at("otherData").at("kernels"), 6);
  EXPECT_EQ(trace.at("otherData").at("kernels_left_out"), 1);
  std::vector<std::pair<double, double>> memory;
  for (const json& event : events(trace, "C", 1))
    if (event.at("name") == "memory, bytes") memory.emplace_back(event.at("ts"), event.at("args").at("value"));
  EXPECT_EQ(memory, (std::vector<std::pair<double, double>>{{102'000.0, 1000.0}, {104'000.0, 2000.0}}));
}

TEST_F(PerfettoTrace, PagesOfKernelsLoseNoneAndRepeatNone) {
  constexpr std::int64_t quiet = 31, steps = 20, in_a_step = 4000;  // the traced steps are more than a page, and come when 32 steps are read at once
  ForgedRun run("fp16", 1);
  run.small_model();
  for (std::int64_t i = 0; i < quiet + steps; ++i) run.step(1.0, false, 1024.0);
  for (StepRecord& step : run.steps) step.wall_seconds = 1e-9;
  {
    RunFileWriter writer(in("a.ulp"), {.overwrite = true, .queue_capacity = 1 << 17});
    run.write(writer);
    for (std::int64_t i = 0; i < steps * in_a_step; ++i)
      writer.push(KernelRecord{.run = RunId{1}, .step = quiet + i / in_a_step, .node = NodeId{1}, .stream = 7, .name = "k", .start_ns = 1000 * (i + 1), .duration_ns = 900});
    writer.close();
  }
  const RunFileReader reader(in("a.ulp"));
  ASSERT_EQ(reader.rows("kernel"), steps * in_a_step) << "the writer dropped none";
  std::ostringstream out;
  write_perfetto({&reader}, out);
  const json trace = json::parse(out.str());
  const std::vector<json> kernels = events(trace, "X", 1, 16 + 7);
  ASSERT_EQ(kernels.size(), static_cast<std::size_t>(steps * in_a_step));
  for (std::size_t i = 0; i < kernels.size(); ++i) ASSERT_EQ(kernels[i].at("ts").get<double>(), static_cast<double>(i + 1));
}

}  // namespace
}  // namespace ulpscope::reports
