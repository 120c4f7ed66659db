// Steps that the host launches while the last one still runs.
#include <cmath>

#include "engine/train/trainer_internals.h"
#include "kernels/command_queue.h"
#include "kernels/error.h"

namespace ulpscope::engine {

bool Trainer::State::can_run_ahead() const {
  return device.queue() != nullptr && injector == nullptr && !config.early_unscale && config.buffers == BufferCommit::transaction &&
         !observation.nodes && !observation.ranges && topics.step_begin.silent() && topics.node_begin.silent() && topics.node_end.silent();
}

void Trainer::State::expect_nothing_in_flight() const {
  if (ahead != nullptr && ahead->in_flight() > 0)
    throw Error("a step is in flight, or was left there by a fault: the trainer does not know where it stands");
}

std::unique_ptr<StepsAhead> Trainer::State::make_ahead() {
  StepsAhead::Work work;
  const auto run = [this](Phase phase) { train_program->run(phase, topics, {}); };
  work.passes = [run] {
    run(Phase::forward);
    run(Phase::backward);
  };
  work.check = [run] { run(Phase::unscale); };
  work.update = [run] { run(Phase::update); };
  for (const ValueId v : training.inputs) {
    const Value& value = training.graph.value(v);
    work.inputs.emplace_back(address(training, v), value.format, value.shape);
  }
  work.loss = Tensor(address(training, training.loss), training.graph.value(training.loss).format, {});
  work.state = step_state();
  work.micro_batches = config.micro_batches;
  work.apply_anyway = !scaling && config.non_finite == NonFinite::apply;
  work.latch_loss = static_cast<bool>(observation.replay);
  work.latch = work.latch_loss || (!scaling && !work.apply_anyway);
  return std::make_unique<StepsAhead>(device, *device.queue(), std::move(work));
}

/// What the step after one that is in flight begins with. After a scaler has given up there is none.
StepChoices Trainer::State::choices_after(const Standing& at) const {
  scaling::ScaleEvent event;
  StepChoices choices;
  choices.follows = 1;
  choices.if_committed = state_of(after(at, true, true, event));
  choices.if_skipped = state_of(after(at, false, false, event));
  choices.if_skipped.halt = event == scaling::ScaleEvent::gave_up ? 1 : 0;
  return choices;
}

void Trainer::State::run_ahead(std::int64_t steps, const std::function<void(const StepResult&)>& ended) {
  expect_nothing_in_flight();
  const std::int64_t end = iteration + steps;
  if (can_run_ahead() && (ahead == nullptr || ahead->latches_loss() != static_cast<bool>(observation.replay))) {
    ahead.reset();
    ahead = make_ahead();
  }
  std::int64_t next = iteration;   // to be launched
  const auto launch = [&](const StepChoices& choices) {
    ahead->launch(choices, [&](std::int32_t micro_batch, std::span<const Tensor> inputs) {
      dataset.training_batch({seed, next, micro_batch}, inputs);
    });
    ++next;
  };
  while (iteration < end) {
    // Whoever begins to look while a step is in flight sees the one after it.
    const bool free = can_run_ahead();
    if (!free && (ahead == nullptr || ahead->in_flight() == 0)) {
      const StepResult result = step();
      if (ended) ended(result);
      if (result.stopped) return;
      next = iteration;
      continue;
    }
    if (ahead == nullptr) ahead = make_ahead();
    if (ahead->in_flight() == 0) {
      StepChoices choices;
      choices.if_committed = choices.if_skipped = state_of(standing());
      ahead->begin_row();
      launch(choices);
    }
    if (free && next < end) launch(choices_after(standing()));
    const StepsAhead::Ended outcome = ahead->collect();
    const bool finite = outcome.state.finite != 0;
    const bool replays = observation.replay && !(finite && std::isfinite(outcome.loss));
    // What was launched behind it committed nothing, if it halted or gave up: it is made again, or not at all.
    const auto forget_the_rest = [&] {
      while (ahead->in_flight() > 0) ahead->collect();
      next = iteration;
    };
    if (replays) forget_the_rest();   // nothing was committed: the step is made as if it were the first time, and looked at
    const auto told = [&] {
      StepResult r = result_of(outcome.state, outcome.loss, finite);
      r.device_seconds = outcome.device_seconds;
      return finish(r, outcome.committed);
    };
    const StepResult result = replays ? step() : told();
    if (replays) next = iteration;
    if (result.stopped) forget_the_rest();
    if (ended) ended(result);
    if (result.stopped) return;
  }
}

}  // namespace ulpscope::engine
