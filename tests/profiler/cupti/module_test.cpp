// The module itself, on machines that have no GPU, too.
#include <cupti.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>

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
