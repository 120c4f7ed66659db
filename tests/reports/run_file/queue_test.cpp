// The queue without a thread behind it: what is dropped, what displaces what, who waits.
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <thread>
#include <vector>

#include "reports/run_file/record_queue.h"

namespace ulpscope::reports {
namespace {

using namespace std::chrono_literals;

Record step(std::int64_t n) { return StepRecord{.step = n}; }
Record stats(std::int64_t n) { return TensorStatsRecord{.step = n}; }
std::int64_t dropped_stats(const RecordQueue& queue) { return queue.dropped()[stats(0).index()]; }

std::vector<std::int64_t> steps_of(const RecordQueue::Batch& batch) {
  std::vector<std::int64_t> numbers;
  for (const Record& record : batch.essential) numbers.push_back(std::get<StepRecord>(record).step);
  return numbers;
}

TEST(RecordQueue, KnowsWhatMayBeDropped) {
  EXPECT_TRUE(is_statistic(TensorStatsRecord{}));
  EXPECT_TRUE(is_statistic(RangeRecord{}));
  EXPECT_TRUE(is_statistic(KernelRecord{}));
  EXPECT_TRUE(is_statistic(DeviceSample{}));
  EXPECT_TRUE(is_statistic(NodeTiming{.step = 3}));
  EXPECT_FALSE(is_statistic(NodeTiming{}));  // the sum over a run
  EXPECT_TRUE(is_statistic(MemoryRecord{.kind = MemoryKind::sample}));
  EXPECT_FALSE(is_statistic(MemoryRecord{.kind = MemoryKind::peak}));
  EXPECT_FALSE(is_statistic(StepRecord{}));
  EXPECT_FALSE(is_statistic(EventRecord{}));
  EXPECT_FALSE(is_statistic(RunRecord{}));
}

TEST(RecordQueue, DropsAndCountsStatisticsWhenFull) {
  RecordQueue queue(4);
  for (int i = 0; i < 10; ++i) EXPECT_TRUE(queue.push(stats(i)));
  EXPECT_EQ(dropped_stats(queue), 6);
  const auto batch = queue.take(0ns);
  EXPECT_EQ(batch.statistics.size(), 4u);
  EXPECT_EQ(std::get<TensorStatsRecord>(batch.statistics.front()).step, 0);
}

TEST(RecordQueue, AStepDisplacesAStatistic) {
  RecordQueue queue(4);
  for (int i = 0; i < 4; ++i) queue.push(stats(i));
  queue.push(step(0));
  queue.push(EventRecord{});
  EXPECT_EQ(dropped_stats(queue), 2);
  const auto batch = queue.take(0ns);
  EXPECT_EQ(batch.essential.size(), 2u);
  EXPECT_EQ(batch.statistics.size(), 2u);
}

TEST(RecordQueue, AStepWaitsForRoomAmongSteps) {
  RecordQueue queue(2);
  queue.push(step(0));
  queue.push(step(1));
  std::atomic<bool> in{false};
  std::thread producer([&] {
    EXPECT_TRUE(queue.push(step(2)));
    in = true;
  });
  std::this_thread::sleep_for(20ms);
  EXPECT_FALSE(in);
  EXPECT_EQ(steps_of(queue.take(0ns)), (std::vector<std::int64_t>{0, 1}));
  producer.join();
  EXPECT_TRUE(in);
  EXPECT_EQ(steps_of(queue.take(0ns)), (std::vector<std::int64_t>{2}));
  EXPECT_EQ(queue.dropped(), RecordCounts{});
  EXPECT_EQ(queue.waits(), 1);
}

TEST(RecordQueue, KeepsTheOrderOfEssentialRecordsFromManyThreads) {
  RecordQueue queue(16);
  std::vector<std::thread> producers;
  for (std::int64_t p = 0; p < 4; ++p)
    producers.emplace_back([&queue, p] {
      for (int i = 0; i < 500; ++i) {
        queue.push(StepRecord{.run = RunId{p}, .step = i});
        queue.push(stats(i));
      }
    });
  std::array<std::int64_t, 4> next{};
  std::int64_t steps = 0;
  std::int64_t statistics = 0;
  while (steps < 2000) {
    const auto batch = queue.take(1ms);
    for (const Record& record : batch.essential) {
      const auto& s = std::get<StepRecord>(record);
      EXPECT_EQ(s.step, next.at(static_cast<std::size_t>(s.run))++);
      ++steps;
    }
    statistics += static_cast<std::int64_t>(batch.statistics.size());
    EXPECT_LE(batch.essential.size() + batch.statistics.size(), 16u);
  }
  for (std::thread& producer : producers) producer.join();
  statistics += static_cast<std::int64_t>(queue.take(0ns).statistics.size());
  EXPECT_EQ(statistics + dropped_stats(queue), 2000);
}

// Threads push until they are refused, and close() comes in between: what was accepted is in some batch.
TEST(RecordQueue, WhatWasAcceptedIsTakenHoweverTheQueueCloses) {
  for (int repetition = 0; repetition < 50; ++repetition) {
    RecordQueue queue(8);
    std::atomic<std::int64_t> accepted{0};
    std::vector<std::thread> producers;
    for (int p = 0; p < 3; ++p)
      producers.emplace_back([&] {
        for (int i = 0; queue.push(step(i)); ++i) {
          ++accepted;
          queue.push(stats(i));
        }
      });
    std::size_t taken = 0;
    for (bool closed = false; !closed;) {
      const auto batch = queue.take(100us);
      taken += batch.essential.size();
      closed = batch.closed;
      if (taken > 100) queue.close();
    }
    for (std::thread& producer : producers) producer.join();
    EXPECT_EQ(static_cast<std::int64_t>(taken), accepted);
  }
}

TEST(RecordQueue, RecordsLeftBehindGoWithIt) {
  RecordQueue queue(4);
  queue.push(TensorRecord{.name = std::string(1000, 'x')});  // a sanitizer would see it leak
  queue.push(stats(0));
}

// Far more records than there are places, a few at a time: places and turns come round.
TEST(RecordQueue, GoesRoundManyTimes) {
  for (const std::size_t capacity : {1u, 3u, 4u}) {
    RecordQueue queue(capacity);
    for (std::int64_t i = 0; i < 100; ++i) {
      EXPECT_TRUE(queue.push(step(i)));
      if (capacity > 1) {
        queue.push(stats(i));
      }
      const auto batch = queue.take(0ns);
      EXPECT_EQ(steps_of(batch), std::vector<std::int64_t>{i});
      EXPECT_EQ(batch.statistics.size(), capacity > 1 ? 1u : 0u);
    }
    EXPECT_EQ(queue.dropped(), RecordCounts{});
  }
}

TEST(RecordQueue, CloseRefusesAndFreesThoseWhoWait) {
  RecordQueue queue(1);
  queue.push(step(0));
  std::thread producer([&] { EXPECT_FALSE(queue.push(step(1))); });
  std::this_thread::sleep_for(10ms);
  queue.close();
  producer.join();
  EXPECT_FALSE(queue.push(step(2)));
  const auto batch = queue.take(10s);  // returns at once
  EXPECT_TRUE(batch.closed);
  EXPECT_EQ(batch.essential.size(), 1u);
}

TEST(RecordQueue, WakeTellsTheBatchThatHoldsEverything) {
  RecordQueue queue(100);
  queue.take(0ns);
  queue.push(step(0));
  const std::uint64_t number = queue.wake();
  const auto batch = queue.take(10s);
  EXPECT_EQ(batch.batch, number);
  EXPECT_EQ(batch.essential.size(), 1u);
}

}  // namespace
}  // namespace ulpscope::reports
