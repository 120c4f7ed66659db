// Traces the GPU's work in some steps of a run through CUPTI's activity records. Timing is done elsewhere, untraced.
#pragma once

#include <chrono>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <unordered_map>
#include <vector>

#include "engine/topics.h"
#include "profiler/probes/faults.h"
#include "profiler/trace/activity.h"
#include "profiler/trace/kernel_buffers.h"
#include "profiler/trace/kernel_match.h"

namespace ulpscope::profiler {

/// Which steps are traced: the first ones find libraries being loaded and loss scales being looked for.
struct TraceWindow {
  std::int64_t first = 3;
  std::int64_t steps = 10;
};

/// Something that CUPTI would not do.
struct TraceRefusal {
  std::string what;        ///< "kernel trace": nothing is traced at all; else a kind of record, or "counting of launches"
  int code = 0;
  std::string own_words;   ///< CUPTI's
};

/// What tracing cost.
struct TraceCost {
  std::optional<double> traced_step_seconds, untraced_step_seconds;   ///< medians of wall time
  std::int64_t traced_steps = 0, untraced_steps = 0;                  ///< that these are over
  double own_seconds = 0.0;                                           ///< by CUPTI's own records of its overhead
};

/// On node_begin the number of the node's execution is pushed as external correlation id, on node_end it is popped. No lock is held
/// across a call of the source. In steps outside of the window nodes are not listened to.
class KernelTrace final : private ActivityListener {
 public:
  /// synchronize: waits for the device. All must outlive it; `buffers` also the source.
  KernelTrace(engine::Topics& topics, Faults& faults, ActivitySource& source, BufferPool& buffers, std::function<void()> synchronize,
              TraceWindow window = {});
  ~KernelTrace() override;
  KernelTrace(const KernelTrace&) = delete;
  KernelTrace& operator=(const KernelTrace&) = delete;

  /// Ends the window, if it is open. Nothing is collected any more.
  void finish();

  /// After finish().
  const TraceData& data() const { return data_; }
  const std::vector<TraceRefusal>& refusals() const { return refusals_; }
  bool refused() const { return refused_; }   ///< nothing was traced
  bool done() const { return done_; }         ///< nothing is collected any more
  /// Of nodes, in the traced step that had the most; replays and rehearsals left out. Known when it is done.
  std::int64_t executions_in_a_step() const { return executions_; }
  /// The step under way is none to compare traced ones with: somebody else makes it slow.
  void set_step_aside() { step_is_plain_ = false; }
  TraceCost cost() const;
  /// When TraceData::origin was read.
  std::chrono::steady_clock::time_point began() const { return began_; }
  std::int64_t crossed_ids() const { return crossed_; }   ///< pops that gave another id than was pushed
  std::string source_version() const { return source_.version(); }

  /// For a graph that is captured in a step whose nodes are not announced: the nodes of the CUDA graph that are made between the two
  /// belong to this node.
  void begin_node(const engine::NodeEvent& event);
  void end_node();

 private:
  using Clock = std::chrono::steady_clock;
  struct OpenLaunch {
    int depth = 0;
    std::size_t launch = 0;
    bool captured = false;
  };

  std::span<std::byte> buffer_requested() noexcept override;
  void buffer_completed(std::byte* buffer, std::size_t valid) noexcept override;
  void launch_begin(std::uint32_t correlation) noexcept override;
  void launch_end(bool failed) noexcept override;
  void graph_node(std::uint64_t node, std::uint64_t original, std::uint32_t graph) noexcept override;

  void begin_step(const engine::StepBegin& step);
  void end_step();
  void start();
  void stop();
  bool accepted(const std::string& what, int code);
  void open_span(const NodeSpan& span);
  void close_span();
  std::int64_t current_span() const;   ///< of the calling thread; under the lock

  Faults& faults_;
  ActivitySource& source_;
  BufferPool& buffers_;
  std::function<void()> synchronize_;
  const TraceWindow window_;

  // Of the thread that trains.
  std::vector<ActivityKind> enabled_;
  std::vector<TraceRefusal> refusals_;
  std::vector<double> traced_seconds_, untraced_seconds_;
  Clock::time_point step_begin_{}, began_{};
  std::int64_t crossed_ = 0, declined_before_ = 0, executions_ = 0;
  bool refused_ = false, attached_ = false, tracing_ = false, done_ = false, in_step_ = false, step_is_plain_ = false;
  bool counting_ = false, pushing_ = false, push_refused_ = false;

  // Of everybody.
  mutable std::mutex mutex_;
  TraceData data_;
  std::vector<std::int64_t> open_spans_;   ///< innermost last
  std::vector<bool> void_launches_;        ///< by launch: it was captured, or failed
  std::unordered_map<std::thread::id, OpenLaunch> open_launches_;
  std::thread::id trainer_;

  engine::Subscription on_step_begin_, on_step_end_, on_node_begin_, on_node_end_;
};

}  // namespace ulpscope::profiler
