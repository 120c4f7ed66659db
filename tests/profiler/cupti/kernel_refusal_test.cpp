// The collector where CUPTI will not, and where it calls back from anywhere.
#include <atomic>
#include <condition_variable>
#include <list>

#include "profiler/trace/kernel_run.h"
#include "tests/profiler/cupti/kernel_trace_fixture.h"

namespace ulpscope::profiler {
namespace {

using ::testing::HasSubstr;

TEST_F(KernelTraceTest, WithoutExternalIdsTheCallsThemselvesSayWhere) {
  source.enable_codes[ActivityKind::external_correlation] = 27;
  const auto t = trace();
  steps(4);
  const Rows rows = rows_of(*t);
  ASSERT_EQ(rows.kernels.size(), 6u);
  for (const KernelRecord& k : rows.kernels) EXPECT_EQ(k.node, reports::NodeId{(k.correlation - 1) % 10});
}

TEST_F(KernelTraceTest, WithoutCountingTheExternalIdsSayWhere) {
  source.count_code = 39;
  const auto t = trace();
  steps(4);
  const Rows rows = rows_of(*t);
  ASSERT_EQ(rows.kernels.size(), 6u);
  for (const KernelRecord& k : rows.kernels) EXPECT_EQ(k.node, reports::NodeId{(k.correlation - 1) % 10});
  EXPECT_FALSE(rows.count("note", "kernel trace: launches")) << "unknown, not 0";
  EXPECT_THAT(rows.detail("note", "kernel trace"), HasSubstr("unknown"));
  EXPECT_THAT(rows.detail("refused", "kernel trace: counting of launches"), HasSubstr("Nsight"));
}

class RefusedTrace : public KernelTraceTest, public ::testing::WithParamInterface<int> {};

TEST_P(RefusedTrace, TheRunGoesOnAndTheFileSaysWhy) {
  for (const bool at_once : {true, false}) {
    source.attach_code = at_once ? GetParam() : 0;
    if (!at_once) source.enable_codes[ActivityKind::kernel] = GetParam();
    auto t = trace();
    steps(6);
    const Rows rows = rows_of(*t);
    EXPECT_TRUE(t->refused());
    EXPECT_EQ(faults.count(), 0);
    EXPECT_TRUE(rows.kernels.empty());
    EXPECT_TRUE(rows.timings.empty());
    ASSERT_EQ(rows.notes.size(), 1u) << "one line";
    EXPECT_EQ(rows.notes[0].kind, "refused");
    EXPECT_EQ(rows.notes[0].subject, "kernel trace");
    EXPECT_FALSE(rows.notes[0].count);
    EXPECT_THAT(rows.notes[0].detail, HasSubstr("(error " + std::to_string(GetParam()) + ")"));
    EXPECT_THAT(rows.notes[0].detail, HasSubstr("the run goes on with event timing: the table kernel is empty"));
    EXPECT_EQ(rows.notes[0].detail.find('\n'), std::string::npos);
    EXPECT_TRUE(source.stack.empty());
    t.reset();
    EXPECT_FALSE(source.attached);
  }
}
INSTANTIATE_TEST_SUITE_P(Codes, RefusedTrace, ::testing::Values(8, 15, 23, 27, 33, 35, 39, 40, 41, 42, 43, 44, 45, 999, 12345));

TEST(TraceWindowOfARun, LiesInsideIt) {
  EXPECT_EQ(trace_window(0, 300).first, 3);
  EXPECT_EQ(trace_window(100, 300).first, 103) << "of a run that goes on";
  EXPECT_EQ(trace_window(0, 2).first, 0);
  EXPECT_EQ(trace_window(0, 5).first, 1);
  EXPECT_EQ(trace_window(0, 300).steps, 10);
  EXPECT_EQ(trace_window(0, 5).steps, 3) << "one is left to be counted";
  EXPECT_EQ(trace_window(0, 2).steps, 1);
  EXPECT_EQ(trace_window(0, 1).steps, 1);
}

TEST_F(KernelTraceTest, OnACpuThereIsNothingToTrace) {
  const auto device = make_cpu_device();
  Rows rows;
  const Sink sink = rows.sink();
  RunTrace run(*device, topics, faults, sink, reports::RunId{1}, 0, 10);
  EXPECT_FALSE(run.of_gpu());
  EXPECT_TRUE(topics.step_begin.silent());
  run.record({}, true);
  EXPECT_TRUE(rows.notes.empty());
}

TEST_F(KernelTraceTest, WithoutAModuleTheFileSaysWhy) {
  Rows rows;
  record_no_trace(rows.sink(), reports::RunId{3}, "kernels cannot be traced without libcupti");
  ASSERT_EQ(rows.notes.size(), 1u);
  EXPECT_THAT(rows.notes[0].detail, HasSubstr("without libcupti; the run goes on"));
  record_no_trace(rows.sink(), reports::RunId{3}, "kernels cannot be traced without libcupti", true);
  ASSERT_EQ(rows.notes.size(), 3u);
  EXPECT_THAT(rows.detail("note", "kernel trace: ranges"), HasSubstr("every step counted ranges")) << "so do events around a node";
}

/// In the middle of every call another thread calls the listener; it must get through although the call has not returned.
TEST_F(KernelTraceTest, NoLockIsHeldAcrossACall) {
  std::list<std::thread> threads;
  std::map<std::string, int> heard;
  std::mutex mutex;
  std::atomic<bool> inside{false};
  source.on_call = [&](const std::string& call) {
    {
      const std::lock_guard lock(mutex);
      ++heard[call];
    }
    if (call == "attach" || inside.exchange(true)) return;   // not of its own calls again
    struct Done {
      std::mutex mutex;
      std::condition_variable changed;
      bool done = false;
    };
    const auto done = std::make_shared<Done>();
    threads.emplace_back([this, done] {
      source.gate.with([&](ActivityListener& l) {
        l.launch_begin(9000);
        l.graph_node(1, 0, 0);
        l.launch_end(false);
        const std::span<std::byte> buffer = l.buffer_requested();
        if (!buffer.empty()) l.buffer_completed(buffer.data(), 0);
      });
      const std::lock_guard lock(done->mutex);
      done->done = true;
      done->changed.notify_all();
    });
    std::unique_lock lock(done->mutex);
    EXPECT_TRUE(done->changed.wait_for(lock, std::chrono::seconds(5), [&] { return done->done; })) << call << " was called under a lock";
    inside = false;
  };
  {
    const auto t = trace();
    steps(6);
    t->finish();
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(t->data().records.kernels.size(), 6u);
  }
  for (const char* call : {"enable", "disable", "count_launches", "flush", "push", "pop", "dropped", "now", "read"})
    EXPECT_GT(heard[call], 0) << call;
}

TEST_F(KernelTraceTest, BuffersComeBackWhileTheRunGoesOn) {
  const auto t = trace({0, 40});
  std::atomic<bool> stop{false};
  std::thread other([&] {   // another thread that launches, asks for buffers and gives them back
    for (std::uint32_t i = 0; !stop; ++i) {
      source.gate.with([&](ActivityListener& l) {
        l.launch_begin(1'000'000 + i);
        l.launch_end(true);
        const std::span<std::byte> buffer = l.buffer_requested();
        if (!buffer.empty()) l.buffer_completed(buffer.data(), 0);
      });
      std::this_thread::yield();
    }
  });
  steps(40);
  t->finish();
  stop = true;
  other.join();
  const Rows rows = rows_of(*t);
  EXPECT_EQ(rows.kernels.size(), 80u);
  for (const KernelRecord& k : rows.kernels) EXPECT_EQ(k.node, reports::NodeId{(k.correlation - 1) % 10});
}

}  // namespace
}  // namespace ulpscope::profiler
