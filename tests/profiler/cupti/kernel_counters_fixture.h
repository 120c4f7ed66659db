// What the tests of counting share: steps over a forged source of counts, some of them traced.
#pragma once

#include "profiler/trace/counter_records.h"
#include "tests/profiler/cupti/forged_counters.h"
#include "tests/profiler/cupti/kernel_trace_fixture.h"

namespace ulpscope::profiler {

/// Steps 1 and 2 are traced, so that step 3 is the first that can be counted. Node 0 runs in two micro-batches, node 1 once.
class KernelCountersTest : public KernelTraceTest {
 protected:
  struct Kind {
    bool finite = true, observed = false, throws = false;
    bool told = true;   ///< that it is run again, before it is
    engine::Replay replay = engine::Replay::none;
    float loss = 1.0f;
  };

  void one_step(std::int64_t iteration, const Kind& kind) {
    topics.step_begin.publish({iteration, kind.observed});
    run_nodes(iteration, 0);
    if (kind.throws) return;
    if (kind.replay != engine::Replay::none) {
      if (kind.told) c->before_replay();
      run_nodes(iteration, 1);
    }
    engine::StepResult result;
    result.iteration = iteration;
    result.loss = kind.loss;
    result.finite = kind.finite;
    result.skipped = !kind.finite;
    result.replay = kind.replay;
    topics.step_end.publish(result);
  }
  void run_nodes(std::int64_t iteration, std::int32_t attempt) {
    node(0, iteration, 0, attempt);
    node(0, iteration, 1, attempt);
    node(1, iteration, 1, attempt);
  }
  void node(std::int32_t n, std::int64_t iteration, std::int32_t micro_batch, std::int32_t attempt) {
    topics.node_begin.publish({engine::NodeId{n}, iteration, micro_batch, attempt});
    EXPECT_FALSE(counters.is_open && attempt > 0) << "nothing is open while a step is run again";
    EXPECT_FALSE(counters.is_open && source.attached) << "a context has one of the two at a time";
    if (source.on(ActivityKind::kernel)) {
      source.launch(next());
      source.launch(next());
    }
    topics.node_end.publish({engine::NodeId{n}, iteration, micro_batch, attempt});
  }
  Forged next() {
    ++launched;
    return {.correlation = launched, .start = 2000 + 100ull * launched, .end = 2050 + 100ull * launched};
  }
  void begin() {
    t = trace({1, 2});
    c = std::make_unique<KernelCounters>(topics, faults, counters, *t, [this] { counters.calls.emplace_back("wait"); },
                                         [this](const CountedStep& step) { told.push_back(step); });
  }
  void good_steps(std::int64_t first, std::int64_t end) {
    for (std::int64_t i = first; i < end; ++i) one_step(i, {});
  }
  Rows rows() {
    Rows rows;
    record(rows.sink(), reports::RunId{3});
    return rows;
  }
  void record(const Sink& sink, reports::RunId run) {
    c->finish();
    t->finish();
    record_trace(sink, run, *t, t->began(), c.get());
    for (const CountedStep& step : told) record_counted_step(sink, run, step);
    record_counters(sink, run, *c);
    EXPECT_EQ(faults.count(), 0) << faults.first();
    EXPECT_EQ(counters.opened, counters.closed) << "everything is closed again";
    EXPECT_FALSE(counters.is_open);
  }
  /// Whoever looks for a count finds none, and a line that says why.
  void expect_none(const Rows& rows, const std::string& kind, const std::string& why) {
    EXPECT_EQ(rows.kernels.size(), 12u) << "the trace is whole";
    for (const KernelRecord& k : rows.kernels) EXPECT_FALSE(k.tensor_pipe) << "unknown, not 0";
    EXPECT_EQ(rows.count("note", "kernel trace: tensor pipes"), 0);
    EXPECT_THAT(rows.detail(kind, "kernel counters"), ::testing::HasSubstr(why));
    EXPECT_THAT(rows.detail(kind, "kernel counters"), ::testing::HasSubstr("kernel.tensor_pipe is empty"));
    EXPECT_THAT(rows.detail(kind, "kernel counters"), ::testing::Not(::testing::HasSubstr("\n"))) << "one line";
    EXPECT_EQ(rows.note("observation_cost", "kernel counters"), nullptr);
  }
  static std::string step_row(std::int64_t step) { return "kernel counters: step " + std::to_string(step); }

  ForgedCounters counters;
  std::unique_ptr<KernelTrace> t;
  std::unique_ptr<KernelCounters> c;
  std::vector<CountedStep> told;
  std::uint32_t launched = 0;
};

}  // namespace ulpscope::profiler
