// Counting in real steps of a trainer, over forged counts: one that is bad and run again in the middle of it.
#include "tests/engine/support/small_training.h"
#include "tests/profiler/cupti/forged_counters.h"
#include "tests/profiler/cupti/kernel_trace_fixture.h"

#include <limits>
#include <memory>

#include "kernels/device.h"
#include "profiler/trace/kernel_counters.h"

namespace ulpscope::profiler {
namespace {

using Floats = std::vector<float>;

/// loss = sum(w x); in the step `bad` a gradient is infinite.
struct Training {
  explicit Training(std::int64_t bad)
      : data([bad](std::int64_t i, std::int32_t) { return std::vector<Floats>{{i == bad ? std::numeric_limits<float>::infinity() : 1.0f, 2.0f}}; }),
        trainer(*device, data,
                engine::GraphSetup{engine::testing::weighted_sum({2, 1}), engine::testing::weighted_sum({2, 1}), engine::find_mode("fp16"),
                                   engine::testing::plain_training(engine::OptimizerKind::sgd, 0.5), 1},
                topics) {}
  std::unique_ptr<Device> device = make_cpu_device({.threads = 1, .instruction_set = {}});
  engine::testing::MicroDataset data;
  engine::Topics topics;
  engine::Trainer trainer;
};

TEST(CountedReplay, WhatIsOpenIsClosedBeforeTheReplay) {
  for (const bool counts : {true, false}) {
    Training t(3);
    Faults faults;
    ForgedSource source;
    BufferPool pool{64, 8};
    ForgedCounters counters;
    std::vector<CountedStep> told;
    KernelTrace trace(t.topics, faults, source, pool, [] {}, {1, 2});
    std::unique_ptr<KernelCounters> counting;
    if (counts) counting = std::make_unique<KernelCounters>(t.topics, faults, counters, trace, [] {}, [&](const CountedStep& step) { told.push_back(step); });
    std::size_t replays = 0, open_then = 0;
    engine::Observation looks;
    looks.replay = [&](const engine::StepResult&) {
      ++replays;
      EXPECT_EQ(counters.is_open, counts) << "it is the step that is counted";
      if (counting) counting->before_replay();
      open_then += counters.is_open ? 1 : 0;
      return true;
    };
    t.trainer.observe(looks);
    std::size_t again = 0;
    const auto listener = t.topics.node_begin.subscribe([&](const engine::NodeEvent& event) {
      if (event.attempt == 0) return;
      ++again;
      EXPECT_FALSE(counters.is_open);
    });
    std::vector<engine::StepResult> results;
    for (int i = 0; i < 6; ++i) results.push_back(t.trainer.step());
    if (counting) counting->finish();
    EXPECT_EQ(replays, 1u);
    EXPECT_EQ(open_then, 0u);
    EXPECT_GT(again, 0u);
    EXPECT_EQ(results[3].replay, engine::Replay::same) << "to the bit";
    EXPECT_TRUE(results[3].skipped);
    EXPECT_EQ(t.trainer.read("w"), (Floats{-0.5f, -4.0f})) << "five steps: nothing of it depends on counting";
    EXPECT_EQ(faults.count(), 0) << faults.first();
    if (!counts) continue;
    ASSERT_EQ(told.size(), 2u);
    EXPECT_EQ(told[0].step, 3);
    EXPECT_EQ(told[0].abandoned, "it was run again under observation");
    EXPECT_EQ(told[1].step, 4);
    EXPECT_EQ(told[1].abandoned, "");
    EXPECT_TRUE(counting->counted());
    EXPECT_EQ(counters.opened, counters.closed);
  }
}

}  // namespace
}  // namespace ulpscope::profiler
