// The module itself, on machines that have no GPU, too.
#include <cupti.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <string_view>

#include "profiler/trace/cupti/cupti_module.h"
#include "profiler/trace/kernel_records.h"

namespace ulpscope::profiler {
namespace {

class CuptiModuleTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (module.source() == nullptr) GTEST_SKIP() << module.problem();
  }
  CuptiModule module{{{ULPSCOPE_CUPTI_MODULE_FILE}, cupti_places().libraries}};
};

TEST_F(CuptiModuleTest, HasWordsForCodes) {
  EXPECT_NE(module.source()->error_text(35), "");
  EXPECT_NE(module.source()->version(), "");
}

TEST_F(CuptiModuleTest, ReadsForgedRecordsAsCuptiLaysThemOut) {
#if CUPTI_API_VERSION >= 130000 && CUPTI_API_VERSION < 130200
  // Only the library of the very version knows records of this size.
  if (module.source()->version() != std::to_string(CUPTI_API_VERSION)) GTEST_SKIP() << "another version of libcupti";
  alignas(8) std::byte buffer[1024] = {};
  CUpti_ActivityKernel10 k = {};
  k.kind = CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
  k.correlationId = 5;
  k.start = 10;
  k.end = 20;
  k.name = "kernel";
  std::memcpy(buffer, &k, sizeof k);
  CUpti_ActivityExternalCorrelation e = {};
  e.kind = CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION;
  e.externalKind = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
  e.externalId = 3;
  e.correlationId = 5;
  std::memcpy(buffer + sizeof k, &e, sizeof e);
  k.correlationId = 6;
  std::memcpy(buffer + sizeof k + sizeof e, &k, sizeof k);
  ActivityBatch batch;
  module.source()->read(buffer, 2 * sizeof k + sizeof e, batch);
  ASSERT_EQ(batch.kernels.size(), 2u);
  EXPECT_EQ(batch.kernels[1].correlation, 6u);
  ASSERT_EQ(batch.externals.size(), 1u);
  EXPECT_EQ(batch.externals[0].id, 3u);
  EXPECT_EQ(batch.broken, 0);
#else
  GTEST_SKIP() << "records of this version are not forged here";
#endif
}

class CuptiCountersTest : public CuptiModuleTest {
 protected:
  void SetUp() override {
    if (module.counters() == nullptr) GTEST_SKIP() << module.problem() << " (or it cannot count: CUDA 12, or a sanitizer)";
    if (module.counters()->plan("GH100", tensor_pipe_metrics).code == CUPTI_ERROR_NOT_INITIALIZED) GTEST_SKIP() << "no libnvperf_host.so";
  }
};

// CUPTI knows the counters of every chip without one of them.
TEST_F(CuptiCountersTest, EveryChipWithTensorCoresCountsThemInOnePass) {
  for (const char* chip : {"GV100", "TU102", "TU104", "TU106", "GA100", "GA102", "GA104", "GA10B", "GH100", "AD102", "AD107", "GB100", "GB202"}) {
    const CounterPlan plan = module.counters()->plan(chip, tensor_pipe_metrics);
    EXPECT_EQ(plan.code, 0) << chip << ": " << plan.call;
    EXPECT_EQ(plan.passes, 1u) << chip;
    EXPECT_EQ(plan.metric, tensor_pipe_metrics[std::string_view(chip).starts_with("AD") ? 0 : 1]) << chip;
  }
}

TEST_F(CuptiCountersTest, SaysOfWhichChipsItCountsNothing) {
  for (const char* chip : {"TU116", "TU117"}) {
    const CounterPlan plan = module.counters()->plan(chip, tensor_pipe_metrics);
    EXPECT_EQ(plan.code, 0) << chip;
    EXPECT_EQ(plan.metric, "") << chip;
  }
  EXPECT_EQ(module.counters()->plan("XX100", tensor_pipe_metrics).code, 46);
  const char* const nonsense[] = {"sm__nonsense.avg"};
  const CounterPlan plan = module.counters()->plan("GH100", nonsense);
  EXPECT_EQ(plan.code, 17);
  EXPECT_EQ(plan.metric, "");
}

TEST_F(CuptiCountersTest, WithoutADriverCountingIsRefused) {
  for (int time = 0; time < 2; ++time) {   // and again, for the next mode
    const CounterPlan plan = module.counters()->open(tensor_pipe_metrics, 100);
    if (plan.code == 0) return module.counters()->close();   // there is a driver, and it lets us
    EXPECT_NE(plan.call, "");
    EXPECT_NE(module.counters()->begin(), 0);
    EXPECT_NE(module.counters()->push(1), 0);
    EXPECT_NE(module.counters()->pop(), 0);
    EXPECT_NE(module.counters()->end(), 0);
    std::vector<RangeCount> counts;
    std::size_t dropped = 0;
    EXPECT_NE(module.counters()->read(counts, dropped), 0);
    EXPECT_TRUE(counts.empty());
    module.counters()->close();
  }
}

TEST_F(CuptiModuleTest, WithoutADriverTheTraceIsRefusedAndTheRunGoesOn) {
  engine::Topics topics;
  Faults faults;
  std::vector<reports::CompletenessRecord> rows;
  KernelTrace trace(topics, faults, *module.source(), process_buffers(), [] {}, {0, 1});
  topics.step_begin.publish({0});
  topics.node_begin.publish({engine::NodeId{0}, 0});
  topics.node_end.publish({engine::NodeId{0}, 0});
  topics.step_end.publish({});
  trace.finish();
  EXPECT_EQ(faults.count(), 0) << faults.first();
  record_trace([&](reports::Record r) { if (auto* c = std::get_if<reports::CompletenessRecord>(&r)) rows.push_back(*c); }, reports::RunId{1}, trace, trace.began());
  ASSERT_FALSE(rows.empty());
  if (!trace.refused()) {
    EXPECT_EQ(trace.data().steps.size(), 1u) << "there is a driver, and it lets us";
    return;
  }
  EXPECT_EQ(rows[0].kind, "refused");
  EXPECT_THAT(rows[0].detail, ::testing::HasSubstr("kernel trace refused by CUPTI (error"));
  EXPECT_THAT(rows[0].detail, ::testing::HasSubstr("the run goes on with event timing"));
}

}  // namespace
}  // namespace ulpscope::profiler
