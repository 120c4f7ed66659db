// What the tests of the collector share: steps over a forged source, and what went to the run file.
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

#include "profiler/trace/kernel_records.h"
#include "profiler/trace/kernel_trace.h"
#include "tests/profiler/cupti/forged_source.h"

namespace ulpscope::profiler {

using reports::CompletenessRecord;
using reports::KernelRecord;
using reports::NodeTiming;

/// What went to the run file.
struct Rows {
  std::vector<KernelRecord> kernels;
  std::vector<NodeTiming> timings;
  std::vector<CompletenessRecord> notes;

  Sink sink() {
    return [this](reports::Record record) {
      if (const auto* k = std::get_if<KernelRecord>(&record)) kernels.push_back(*k);
      if (const auto* t = std::get_if<NodeTiming>(&record)) timings.push_back(*t);
      if (const auto* c = std::get_if<CompletenessRecord>(&record)) notes.push_back(*c);
    };
  }
  const CompletenessRecord* note(const std::string& kind, const std::string& subject) const {
    for (const CompletenessRecord& n : notes)
      if (n.kind == kind && n.subject == subject) return &n;
    return nullptr;
  }
  reports::Count count(const std::string& kind, const std::string& subject) const {
    const CompletenessRecord* const n = note(kind, subject);
    return n == nullptr ? reports::Count(-1) : n->count;
  }
  reports::Number seconds(const std::string& kind, const std::string& subject) const {
    const CompletenessRecord* const n = note(kind, subject);
    return n == nullptr ? reports::Number(-1) : n->seconds;
  }
  std::string detail(const std::string& kind, const std::string& subject) const {
    const CompletenessRecord* const n = note(kind, subject);
    return n == nullptr ? "no such row" : n->detail;
  }
};

class KernelTraceTest : public ::testing::Test {
 protected:
  using Node = std::function<void(std::int64_t step, std::int32_t node)>;

  void step(std::int64_t iteration, const Node& node, std::int32_t nodes = 2) {
    topics.step_begin.publish({iteration});
    for (std::int32_t n = 0; n < nodes; ++n) {
      topics.node_begin.publish({engine::NodeId{n}, iteration});
      node(iteration, n);
      topics.node_end.publish({engine::NodeId{n}, iteration});
    }
    engine::StepResult result;
    result.iteration = iteration;
    topics.step_end.publish(result);
  }
  /// Steps 0 … with one kernel for each node, 10 ns for node 0 and 20 ns for node 1.
  void steps(std::int64_t count) {
    for (std::int64_t i = 0; i < count; ++i)
      step(i, [this](std::int64_t s, std::int32_t n) { source.launch(one(s, n)); });
  }
  static Forged one(std::int64_t s, std::int32_t n) {
    const auto id = static_cast<std::uint32_t>(10 * s + n + 1);
    return {.correlation = id, .start = 2000 + 100 * id, .end = 2010 + 100 * id + 10 * static_cast<std::uint64_t>(n)};
  }
  std::unique_ptr<KernelTrace> trace(TraceWindow window = {1, 3}) {
    return std::make_unique<KernelTrace>(topics, faults, source, pool, [this] { ++synchronised; }, window);
  }
  Rows rows_of(KernelTrace& trace) {
    trace.finish();
    Rows rows;
    record_trace(rows.sink(), reports::RunId{3}, trace, trace.began());
    return rows;
  }

  engine::Topics topics;
  Faults faults;
  ForgedSource source;
  BufferPool pool{64, 8};
  int synchronised = 0;
};

}  // namespace ulpscope::profiler
