// From counters to words: what `ulpscope time` and `ulpscope check` say of a run whose tensor pipes were counted, or could not be.
#include <fmt/format.h>
#include <unistd.h>

#include <filesystem>
#include <set>

#include "reports/analysis/check.h"
#include "reports/analysis/series.h"
#include "reports/run_file/counter_rows.h"
#include "reports/run_file/reader.h"
#include "reports/run_file/writer.h"
#include "tests/profiler/cupti/kernel_counters_fixture.h"
#include "tests/reports/time_forged.h"

namespace ulpscope::profiler {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

class CountedTime : public KernelCountersTest {
 protected:
  CountedTime() {
    run.forged.run.device = "NVIDIA H200";
    run.forged.run.device_kind = "cuda";
    run.forged.run.time_provenance = reports::Provenance::measured;
  }
  ~CountedTime() override { std::filesystem::remove(path); }

  /// Steps of 1 ms, and one in which nodes are counted.
  reports::RunFileReader file() {
    reports::RunFileWriter writer(path, {.overwrite = true});
    writer.push(reports::ExperimentRecord{.name = "forged", .producer_version = "0.1.0"});
    run.forged.write(writer);
    for (const std::int64_t step : {1, 3}) writer.push(reports::StepRecord{.run = run.forged.run.id, .step = step, .wall_seconds = step == 3 ? 1.0 : 1e-3});
    record([&](reports::Record row) { writer.push(std::move(row)); }, run.forged.run.id);
    writer.close();
    return reports::RunFileReader(path);
  }
  static std::int32_t at(reports::NodeId id) { return static_cast<std::int32_t>(static_cast<std::int64_t>(id)); }
  void product_and_update(std::int64_t step) {
    topics.step_begin.publish({step});
    node(at(run.id("y")), step, 0, 0);
    node(at(run.id("w.update")), step, 0, 0);
    topics.step_end.publish({.iteration = step});
  }
  reports::RunFileReader after_five_steps() {
    begin();
    for (std::int64_t step = 0; step < 5; ++step) product_and_update(step);
    return file();
  }

  reports::ForgedTime run{"bf16"};
  std::string path = ::testing::TempDir() + fmt::format("counted_time_{}.ulp", ::getpid());
};

/// A run that is gone on with: the step stays, and so does its mark; of what was refused before the next recording speaks for itself.
TEST_F(CountedTime, AMarkedStepKeepsItsMarkWhenARunGoesOn) {
  const reports::RunId id = run.forged.run.id;
  after_five_steps();
  for (const std::int64_t first : {4, 3}) {
    reports::RunFileWriter writer(path, {.append = true, .rewind = [&] {
                                           reports::Rewind back;
                                           back.runs = {{id, first}};
                                           return back;
                                         }});
    writer.push(reports::CompletenessRecord{.run = id, .kind = "refused", .subject = reports::counters_subject, .detail = "error 35"});
    writer.close();
    std::set<std::int64_t> marked;
    std::size_t others = 0;
    for (const reports::CompletenessRecord& row : reports::RunFileReader(path).completeness()) {
      if (const auto step = reports::counted_step(row)) marked.insert(*step);
      else others += row.subject.starts_with(reports::counters_subject) ? 1 : 0;
    }
    EXPECT_EQ(marked, first == 4 ? std::set<std::int64_t>{3} : std::set<std::int64_t>{}) << first;
    EXPECT_EQ(others, 1u) << "the refusal that was written last";
  }
}

TEST_F(CountedTime, TensorCoresAreCountedWithTheirShare) {
  counters.percent_of = {{1, 62.5}, {2, 0.0}};
  const reports::RunFileReader reader = after_five_steps();
  const reports::ModeTime mode = reports::time_report(reader, {}).modes.at(0);
  const reports::NodeTime& product = reports::node_named(mode, "y");
  EXPECT_EQ(product.tensor_cores, reports::TensorCores::yes);
  EXPECT_EQ(product.tensor_cores_provenance, reports::Provenance::counted);
  EXPECT_EQ(product.tensor_cores_why, "tensor pipes active in 62.5 % of the cycles");
  EXPECT_DOUBLE_EQ(*product.tensor_pipe, 0.625);
  EXPECT_EQ(reports::node_named(mode, "w.update").tensor_pipe, 0.0);
  EXPECT_DOUBLE_EQ(*mode.device->tensor_core_share.value, 1.0);
  EXPECT_EQ(mode.step.value, 1e-3) << "the counted step's second is no step's time";
  const reports::RunSeries series = reports::read_series(reader, reader.runs().at(0));
  ASSERT_EQ(series.step_seconds.points.size(), 1u) << "nor a point of their curve";
  EXPECT_EQ(series.step_seconds.points[0].value, 1e-3);
  ASSERT_EQ(series.counted.size(), 1u);
  EXPECT_EQ(series.counted[0].step, 3);
}

TEST_F(CountedTime, PipesThatNeverWorkedAreCountedToo) {
  counters.percent = 0.0;
  const reports::RunFileReader reader = after_five_steps();
  const reports::ModeTime mode = reports::time_report(reader, {}).modes.at(0);
  EXPECT_EQ(reports::node_named(mode, "y").tensor_cores, reports::TensorCores::no);
  EXPECT_EQ(reports::node_named(mode, "y").tensor_cores_provenance, reports::Provenance::counted);
}

TEST_F(CountedTime, RefusedCountersLeaveItUnknownAndTheRecordingWhole) {
  counters.codes["open"] = 35;
  const reports::RunFileReader reader = after_five_steps();
  const reports::TimeReport report = reports::time_report(reader, {});
  const reports::NodeTime& product = reports::node_named(report.modes.at(0), "y");
  EXPECT_EQ(product.tensor_cores, reports::TensorCores::unknown);
  EXPECT_FALSE(product.tensor_pipe) << "unknown, not 0";
  EXPECT_THAT(report.notes, Contains(AllOf(HasSubstr("kernel counters refused"), HasSubstr("error 35"), HasSubstr("NVreg_RestrictProfilingToAdminUsers=0"),
                                           HasSubstr("kernel.tensor_pipe is empty"))));
  for (const reports::Finding& finding : reports::check({&reader}, reports::parse_check_rules({"incomplete"})).findings)
    EXPECT_THAT(finding.text, Not(HasSubstr("counters"))) << "they are an extra";
}

}  // namespace
}  // namespace ulpscope::profiler
