// A training step, as a transaction.
#include <cmath>

#include "engine/optim/schedule.h"
#include "engine/train/trainer_internals.h"

namespace ulpscope::engine {

StepState Trainer::State::state_of(const Standing& at) const {
  StepState state;
  state.loss_scale = at.scaler.scale;
  state.inverse_scale = scaling::inverse(at.scaler.scale);
  const OptimizerConfig& optimizer = config.optimizer;
  state.learning_rate = in_scalar_format(
      learning_rate(config.schedule, config.schedule_counts == ScheduleCounts::iterations ? at.iteration : at.applied),
      optimizer.scalar_format, optimizer.scalar_rounding);
  state.iteration = at.iteration;
  state.applied = at.applied;
  return state;
}

Standing Trainer::State::after(const Standing& at, bool finite, bool committed, scaling::ScaleEvent& event) const {
  Standing next{at.iteration + 1, committed ? at.applied + 1 : at.applied, at.scaler};
  event = scaling::ScaleEvent::unchanged;
  if (scaling) {
    const scaling::Transition transition = scaling::next(config.scaler, at.scaler, !finite);
    next.scaler = transition.state;
    event = transition.event;
  }
  return next;
}

StepResult Trainer::State::step() {
  const bool observed = observation.nodes && (!observation.steps || observation.steps(iteration));
  topics.step_begin.publish({iteration, observed});
  look(observed);
  if (observation.replay) buffers.hold();
  StepState state;
  const float loss = run_to_flag(state, 0);
  StepResult result = result_of(state, loss, state.finite != 0);
  if (observation.replay && !(result.finite && std::isfinite(loss)) && observation.replay(result)) {
    result.replay = run_again(result, state);
    result.finite = state.finite != 0;
  }
  const bool finite = result.finite;
  const bool apply_anyway = !finite && !scaling && config.non_finite == NonFinite::apply;
  if (apply_anyway) {
    state.finite = 1;   // the optimizers look at the flag
    device.copy_to_device(step_state(), &state, sizeof state);
  }
  train_program->run(Phase::update, topics, {iteration, state.micro_batch, 0});   // commits nothing if the flag is bad
  device.synchronize();
  return finish(result, finite || apply_anyway);
}

float Trainer::State::run_to_flag(StepState& state, std::int32_t attempt) {
  state = state_of(standing());
  const float loss = run_micro_batches(state, attempt);
  if (config.early_unscale) {   // done already, as far as the optimizer knows
    state.inverse_scale = 1.0f;
    device.copy_to_device(step_state(), &state, sizeof state);
  }
  train_program->run(Phase::unscale, topics, {iteration, state.micro_batch, attempt});
  device.synchronize();
  device.copy_to_host(&state, step_state(), sizeof state);
  return loss;
}

float Trainer::State::run_micro_batches(StepState& state, std::int32_t attempt) {
  double sum = 0.0;
  for (std::int64_t m = 0; m < config.micro_batches; ++m) {
    state.micro_batch = static_cast<std::int32_t>(m);
    const Execution execution{iteration, state.micro_batch, attempt};
    dataset.training_batch({seed, iteration, state.micro_batch}, host_tensors);
    upload_inputs();
    device.copy_to_device(step_state(), &state, sizeof state);
    if (injector && m == 0) injector->before_step(iteration);
    if (looking_at_sources) sources.publish(topics, execution);
    train_program->run(Phase::forward, topics, execution);
    train_program->run(Phase::backward, topics, execution);
    device.synchronize();   // the batch is overwritten next
    sum += static_cast<double>(read_loss(training));
  }
  return static_cast<float>(sum / static_cast<double>(config.micro_batches));
}

StepResult Trainer::State::result_of(const StepState& state, float loss, bool finite) const {
  StepResult result;
  result.iteration = iteration;
  result.loss = loss;
  result.loss_scale = scaler.scale;
  result.learning_rate = static_cast<float>(state.learning_rate);
  result.gradient_norm = state.gradient_norm;
  result.clip_coefficient = state.clip_coefficient;
  result.finite = finite;
  result.tokens = training.tokens;
  result.applied = applied;
  result.next_loss_scale = scaler.scale;
  return result;
}

StepResult Trainer::State::finish(StepResult result, bool committed) {
  const Standing next = after(standing(), result.finite, committed, result.scale_event);
  iteration = next.iteration;
  applied = next.applied;
  scaler = next.scaler;
  result.applied = applied;
  result.skipped = !committed;
  result.stopped = scaling ? result.scale_event == scaling::ScaleEvent::gave_up : !committed;
  result.next_loss_scale = scaler.scale;
  topics.step_end.publish(result);
  return result;
}

}  // namespace ulpscope::engine
