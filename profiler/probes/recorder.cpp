#include "profiler/probes/recorder.h"

#include <cmath>

namespace ulpscope::profiler {

namespace event_kind = reports::event_kind;

Recorder::Recorder(engine::Topics& topics, Sink sink, Faults& faults, reports::RunId run, bool loss_scaling)
    : sink_(std::move(sink)), faults_(faults), run_(run), loss_scaling_(loss_scaling) {
  on_begin_ = topics.step_begin.subscribe([this](const engine::StepBegin&) {
    begin_ = Clock::now();
    begun_ = true;
  });
  on_end_ = topics.step_end.subscribe([this](const engine::StepResult& result) {
    const Clock::time_point now = Clock::now();
    if (begun_) last_step_seconds_ = std::chrono::duration<double>(now - begin_).count();
    faults_.guard("recorder", [&] { record(result); });
    own_seconds_ += std::chrono::duration<double>(Clock::now() - now).count();
  });
}

void Recorder::record(const engine::StepResult& result) {
  reports::StepRecord step;
  step.run = run_;
  step.step = result.iteration;
  step.applied = result.applied;
  step.loss = result.loss;
  step.learning_rate = result.learning_rate;
  if (loss_scaling_) step.loss_scale = result.loss_scale;
  step.gradient_norm = result.gradient_norm;
  step.finite = result.finite;
  step.skipped = result.skipped;
  if (begun_) step.wall_seconds = last_step_seconds_;
  step.tokens = result.tokens;
  ++steps_;
  sink_(step);
  record_events(result);
  watch_for_divergence(result);
}

void Recorder::record_events(const engine::StepResult& result) {
  if (!result.finite) {
    push_event(result.iteration, event_kind::overflow, result.gradient_norm,
               {.what = "a parameter gradient is not finite", .applied = !result.skipped});
  }
  if (result.replay != engine::Replay::none) {
    push_event(result.iteration, event_kind::replay, result.loss,
               {.what = result.replay == engine::Replay::same      ? "same"
                        : result.replay == engine::Replay::differs ? "differs"
                                                                   : "no memory to observe it with"});
  }
  if (result.skipped && !result.stopped) {
    push_event(result.iteration, event_kind::skip, loss_scaling_ ? reports::Number(result.loss_scale) : std::nullopt);
  }
  if (loss_scaling_ && result.next_loss_scale != result.loss_scale) {
    push_event(result.iteration, event_kind::scale_change, result.next_loss_scale,
               {.from = result.loss_scale, .to = result.next_loss_scale});
  }
  if (result.stopped) push_event(result.iteration, event_kind::stop, result.loss);
}

bool DivergenceWatch::see(std::int64_t step, double loss, bool skipped, bool stopped, double learning_rate) {
  if (diverged_at_ || (skipped && !stopped)) return false;  // a skipped step's loss changes nothing
  const bool same_weights = !moved_;
  moved_ = moved_ || learning_rate != 0.0;
  if (std::isfinite(loss)) {
    if (!first_loss_) first_loss_ = loss;
    const double size = std::abs(*first_loss_) < runaway_near_zero ? 1.0 : std::abs(*first_loss_);
    steps_above_ = !same_weights && loss - *first_loss_ > (runaway_ratio - 1.0) * size ? steps_above_ + 1 : 0;
    if (steps_above_ < runaway_steps) return false;
  }
  diverged_at_ = step;
  return true;
}

void Recorder::watch_for_divergence(const engine::StepResult& result) {
  const double loss = result.loss;
  if (!watch_.see(result.iteration, loss, result.skipped, result.stopped, result.learning_rate)) return;
  push_event(result.iteration, event_kind::divergence, loss,
             {.what = std::isfinite(loss) ? "the loss has run away" : "the loss is not finite",
              .first_loss = watch_.first_loss()});
}

void Recorder::push_event(std::int64_t step, const char* kind, reports::Number value,
                          const reports::EventDetail& detail) {
  reports::EventRecord event;
  event.run = run_;
  event.step = step;
  event.kind = kind;
  event.value = value;
  event.detail = detail;
  sink_(event);
}

}  // namespace ulpscope::profiler
