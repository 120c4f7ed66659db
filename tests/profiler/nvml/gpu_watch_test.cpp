// The watcher over a source that stands for a GPU.
#include "profiler/trace/gpu_watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>

#include "profiler/sweep/gpu_seen.h"

namespace ulpscope::profiler {
namespace {

using reports::CompletenessRecord;
using reports::DeviceSample;
using testing::HasSubstr;

struct Answers {
  std::atomic<int> reads{0};
  std::atomic<std::int64_t> reasons{0};
};

class FakeGpu final : public GpuStateSource {
 public:
  explicit FakeGpu(Answers& answers) : answers_(answers) {}
  GpuState read() override {
    GpuState state;
    state.core_clock_mhz = 1500.0;
    state.throttle_reasons = answers_.reasons.load();
    ++answers_.reads;
    return state;
  }
  std::vector<std::string> refusals() const override { return {"power: not offered"}; }

 private:
  Answers& answers_;
};

class GpuWatchTest : public ::testing::Test {
 protected:
  Sink sink() {
    return [this](reports::Record record) {
      const std::lock_guard lock(mutex_);
      if (const auto* s = std::get_if<DeviceSample>(&record)) samples_.push_back(*s);
      if (const auto* c = std::get_if<CompletenessRecord>(&record)) rows_.push_back(*c);
    };
  }
  std::vector<DeviceSample> samples() {
    const std::lock_guard lock(mutex_);
    return samples_;
  }
  void await_reads(int more) {
    const int wanted = answers_.reads.load() + more;
    while (answers_.reads.load() < wanted) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }

  Answers answers_;
  std::mutex mutex_;
  std::vector<DeviceSample> samples_;
  std::vector<CompletenessRecord> rows_;
};

TEST_F(GpuWatchTest, SamplesBelongToTheRunAndTheStepUnderWay) {
  GpuWatch watch(std::make_unique<FakeGpu>(answers_), "", sink(), std::chrono::milliseconds(1));
  watch.begin_run(reports::RunId{3}, 7);
  await_reads(2);
  watch.step(8);
  await_reads(2);
  watch.end_run();
  const auto in_run = samples();
  ASSERT_GE(in_run.size(), 2u);
  for (const DeviceSample& s : in_run) {
    EXPECT_EQ(s.run, reports::RunId{3});
    EXPECT_EQ(s.phase, "training");
    EXPECT_EQ(s.core_clock_mhz, 1500.0);
    EXPECT_EQ(s.power_watts, std::nullopt);
  }
  EXPECT_EQ(in_run.front().step, 7);
  EXPECT_EQ(in_run.back().step, 8);

  await_reads(0);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(samples().size(), in_run.size()) << "the sink had them all when the run was over";

  watch.begin_timing();
  await_reads(3);
  EXPECT_EQ(samples().size(), in_run.size()) << "nothing is written while steps are timed";
  watch.end_timing();
  const auto all = samples();
  ASSERT_GT(all.size(), in_run.size());
  EXPECT_EQ(all.back().phase, "timing");
  EXPECT_EQ(all.back().run, std::nullopt);
  EXPECT_EQ(all.back().step, std::nullopt);
}

TEST_F(GpuWatchTest, ThrottlingAndRefusalsEndUpInCompleteness) {
  GpuWatch watch(std::make_unique<FakeGpu>(answers_), "", sink(), std::chrono::milliseconds(1));
  watch.begin_run(reports::RunId{1}, 0);
  answers_.reasons = 0x1;   // idle: nothing is wrong
  await_reads(3);
  watch.end_run();
  watch.finish();
  ASSERT_EQ(rows_.size(), 1u);
  EXPECT_EQ(rows_[0].kind, "refused");
  EXPECT_EQ(rows_[0].subject, "GPU state: power");

  rows_.clear();
  answers_.reasons = 0x4 | 0x40;
  GpuWatch hot(std::make_unique<FakeGpu>(answers_), "", sink(), std::chrono::milliseconds(1));
  hot.begin_timing();
  await_reads(2);
  hot.end_timing();
  hot.finish();
  hot.finish();
  ASSERT_EQ(rows_.size(), 2u);
  EXPECT_EQ(rows_[1].kind, "throttled");
  EXPECT_EQ(rows_[1].subject, "GPU clock");
  EXPECT_GE(rows_[1].count, 1);
  EXPECT_THAT(rows_[1].detail, testing::AllOf(HasSubstr("power cap ("), HasSubstr("temperature (hardware) (")));
}

TEST_F(GpuWatchTest, WithoutASourceOneLineSaysWhy) {
  {
    GpuWatch watch(nullptr, "libnvidia-ml.so.1 was not found", sink());
    watch.begin_run(reports::RunId{1}, 0);
    watch.step(1);
    watch.end_run();
  }
  EXPECT_TRUE(samples().empty());
  ASSERT_EQ(rows_.size(), 1u);
  EXPECT_EQ(rows_[0].kind, "refused");
  EXPECT_EQ(rows_[0].subject, "GPU state");
  EXPECT_EQ(rows_[0].count, std::nullopt);
  EXPECT_EQ(rows_[0].provenance, reports::Provenance::unknown);
}

/// What a sweep asks of it: clocks from begin() to finish(), what was refused in words, and nothing at all as unknown with its reason.
TEST_F(GpuWatchTest, WhatIsTimedIsSeenWithItsClock) {
  answers_.reasons = 0x4;
  GpuSeen seen([&](const Sink& sink) { return std::make_unique<GpuWatch>(std::make_unique<FakeGpu>(answers_), "", sink, std::chrono::milliseconds(1)); });
  EXPECT_FALSE(seen.condition());
  seen.begin();
  await_reads(3);
  seen.finish();
  seen.finish();
  ASSERT_TRUE(seen.condition());
  EXPECT_EQ(seen.condition()->core_clock_mhz.value, 1500.0);
  EXPECT_FALSE(seen.condition()->power_watts.known());
  EXPECT_EQ(seen.condition()->slowed.value, 1.0);
  EXPECT_THAT(seen.condition()->why, HasSubstr("power cap"));
  EXPECT_EQ(seen.unknown(), "power: not offered");
  EXPECT_EQ(seen.samples().size(), static_cast<std::size_t>(seen.condition()->samples));

  GpuSeen none([](const Sink& sink) { return std::make_unique<GpuWatch>(nullptr, "libnvidia-ml.so.1 was not found", sink); });
  none.begin();
  none.finish();
  EXPECT_FALSE(none.condition());
  EXPECT_EQ(none.unknown(), "libnvidia-ml.so.1 was not found");
  GpuSeen cpu({}, "a CPU");
  cpu.begin();
  cpu.finish();
  EXPECT_FALSE(cpu.condition());
  EXPECT_EQ(cpu.unknown(), "a CPU");
}

}  // namespace
}  // namespace ulpscope::profiler
