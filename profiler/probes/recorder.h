// Writes down every step of a run and what happened in it. Listens to the engine, changes nothing.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "engine/topics.h"
#include "profiler/probes/faults.h"

namespace ulpscope::profiler {

/// When a loss that is still finite counts as run away: this many steps in a row in which it lies above the first loss by more than
/// (ratio - 1) times that loss's magnitude: above its double, if it is positive. A first loss of 0, or of a few roundings around it,
/// says nothing of how large the loss is: 1 stands in for it.
inline constexpr double runaway_ratio = 2.0;
inline constexpr double runaway_near_zero = 1e-6;
inline constexpr std::int64_t runaway_steps = 5;

/// Sees the loss of every step, and when it has diverged.
class DivergenceWatch {
 public:
  /// True for the step that says so: once. stopped: the step ended the run. Where no step before had a learning rate, the weights are the first ones,
  /// and a loss that rises is other data.
  bool see(std::int64_t step, double loss, bool skipped, bool stopped, double learning_rate);
  std::optional<std::int64_t> diverged_at() const { return diverged_at_; }
  const std::optional<double>& first_loss() const { return first_loss_; }

 private:
  std::optional<double> first_loss_;
  std::int64_t steps_above_ = 0;
  bool moved_ = false;   ///< a step was applied with a learning rate
  std::optional<std::int64_t> diverged_at_;
};

/// One record for each step, and events: overflow and skip (a gradient was not finite), replay, scale change, divergence (the
/// loss of an applied step is not finite, or has run away), stop. Allocates nothing and calls nothing of the system, if
/// the sink does not: names of event kinds are short enough for a string without memory of its own.
class Recorder {
 public:
  /// loss_scaling: the mode has a scaler; without one the loss scale is not recorded. All must outlive the recorder.
  Recorder(engine::Topics& topics, Sink sink, Faults& faults, reports::RunId run, bool loss_scaling);

  /// Seconds spent in the recorder itself.
  double own_seconds() const { return own_seconds_; }
  std::int64_t steps() const { return steps_; }
  /// Wall time of the last step, from its begin to its end as announced.
  double last_step_seconds() const { return last_step_seconds_; }
  std::optional<std::int64_t> diverged_at() const { return watch_.diverged_at(); }
  /// Goes on where another recorder stopped.
  void resume(const DivergenceWatch& watch) { watch_ = watch; }

 private:
  void record(const engine::StepResult& result);
  void record_events(const engine::StepResult& result);
  void watch_for_divergence(const engine::StepResult& result);
  void push_event(std::int64_t step, const char* kind, reports::Number value, const reports::EventDetail& detail = {});

  using Clock = std::chrono::steady_clock;
  Sink sink_;
  Faults& faults_;
  reports::RunId run_;
  bool loss_scaling_;
  Clock::time_point begin_{};
  bool begun_ = false;
  double last_step_seconds_ = 0.0;
  double own_seconds_ = 0.0;
  std::int64_t steps_ = 0;
  DivergenceWatch watch_;
  engine::Subscription on_begin_, on_end_;
};

}  // namespace ulpscope::profiler
