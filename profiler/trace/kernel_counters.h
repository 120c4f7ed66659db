// Counts how busy the tensor pipes are in one step of a run, node by node, after the steps that are traced.
#pragma once

#include <chrono>
#include <cstddef>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/topics.h"
#include "profiler/probes/faults.h"
#include "profiler/trace/counters.h"
#include "profiler/trace/kernel_trace.h"

namespace ulpscope::profiler {

/// A step in which counting was tried.
struct CountedStep {
  std::int64_t step = 0;
  double seconds = 0.0;    ///< from its begin to the last count read, or to where counting was given up
  std::string abandoned;   ///< why nothing was taken from it; empty: its counts are those of the run
};

/// A node and the micro-batch that it ran for.
using NodeOfMicroBatch = std::pair<std::int32_t, std::int32_t>;

/// What came of counting.
struct CounterData {
  CounterPlan plan;
  std::string refused_call;       ///< where CUPTI refused
  std::vector<CountedStep> steps;
  /// Share of cycles with the tensor pipes active, over all kernels of a node in a micro-batch. What is not there was not counted.
  std::map<NodeOfMicroBatch, double> shares;
  std::int64_t pushed = 0;        ///< ranges of the step that was taken, by what became of them
  std::int64_t read = 0;
  std::int64_t unanswered = 0;    ///< ids that came back with no count
  std::int64_t unknown_ids = 0;   ///< counts of ids that were not pushed
  std::int64_t repeated = 0;      ///< ids that came back twice: they are counted for none
  std::int64_t no_numbers = 0;
  std::int64_t beyond = 0;        ///< less than 0 % or more than 100 %
  std::int64_t nested = 0;        ///< nodes within nodes, and those around them: their kernels would share a count
  std::int64_t without_room = 0;  ///< executions that no range was left for
  std::int64_t dropped = 0;       ///< by CUPTI
};

/// Counts in the first step behind the trace that is not observed. Every execution of a node is a range named by its number, as external
/// correlation ids are (kernel_match.h), and the device is waited for at both its ends, so that nothing else falls into it. Not a bit
/// changes; the step takes long. A step that is bad, or run again, is abandoned for a later one; what is open is closed before it is run
/// again. Metrics that need the work to be repeated are not counted: another step is other work. No lock is held across a call of the source.
class KernelCounters {
 public:
  static constexpr std::int64_t most_tries = 3;
  static constexpr std::int64_t most_ranges = 4096;

  using Tell = std::function<void(const CountedStep&)>;

  /// synchronize: waits for the device. tell: of every step in which counting was tried, as soon as that is over; a run may not come to its
  /// end. All must outlive it.
  KernelCounters(engine::Topics& topics, Faults& faults, CounterSource& source, KernelTrace& trace, std::function<void()> synchronize, Tell tell);
  ~KernelCounters();
  KernelCounters(const KernelCounters&) = delete;
  KernelCounters& operator=(const KernelCounters&) = delete;

  /// The step under way will be run again under observation: before that takes its memory, what is open is closed.
  void before_replay();
  /// Nothing is counted any more; what is open is closed.
  void finish();

  /// After finish().
  const CounterData& data() const { return data_; }
  /// Code 0: not of CUPTI, the words say why.
  const std::optional<TraceRefusal>& refusal() const { return refusal_; }
  /// A step was counted, and its counts were read.
  bool counted() const { return counted_; }
  /// Of the kernels of this node in this micro-batch, together.
  std::optional<double> share(std::int32_t node, std::int32_t micro_batch) const;

 private:
  using Clock = std::chrono::steady_clock;
  struct Range {
    NodeSpan span;
    bool pushed = false, nested = false;
    int answers = 0;
    double percent = 0.0;
  };

  void begin_step(const engine::StepBegin& step);
  void end_step(const engine::StepResult& result);
  void begin_node(const engine::NodeEvent& event);
  void end_node();
  void start(std::int64_t step);
  void abandon(const std::string& why);
  void stop();
  void take();
  /// True: it was done. Else it is the refusal, and nothing is tried again.
  bool accepted(const std::string& call, int code);

  Faults& faults_;
  CounterSource& source_;
  KernelTrace& trace_;
  std::function<void()> synchronize_;
  Tell tell_;

  CounterData data_;
  std::optional<TraceRefusal> refusal_;
  std::vector<Range> ranges_;   ///< of the step under way; the id is the place + 1
  std::vector<std::size_t> open_;   ///< places of those that have not ended, innermost last
  std::size_t room_ = 0;
  std::string trouble_;         ///< of the step under way; empty: none
  Clock::time_point begin_{};
  bool counting_ = false, done_ = false, counted_ = false;

  engine::Subscription on_step_begin_, on_step_end_, on_node_begin_, on_node_end_;
};

}  // namespace ulpscope::profiler
