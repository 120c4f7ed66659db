// Looking at a step, and making one again.
#include <algorithm>
#include <cmath>
#include <utility>

#include "engine/train/memory_for.h"
#include "engine/train/trainer_internals.h"

namespace ulpscope::engine {

void Trainer::State::watch(const std::function<bool(const Node&)>& nodes) {
  train_program->observe(nodes);
  observation_bytes = std::max(observation_bytes, train_program->observation_bytes());
}

void Trainer::State::watch_ranges() {
  if (!observation.ranges) return train_program->observe_ranges(nullptr);
  train_program->observe_ranges(
      [this](const Node& node, ValueId value) { return node.phase == Phase::backward || value == training.loss; });
  observation_bytes = std::max(observation_bytes, train_program->observation_bytes());
}

void Trainer::State::look(bool observed) {
  looking_at_sources = observed && observation.sources;
  if (observed == looking) return;
  looking = false;
  watch(observed ? observation.nodes : nullptr);
  looking = observed;
}

Replay Trainer::State::run_again(const StepResult& first, StepState& state) {
  // The result of an observed product needs memory, and everything else is left alone until that is there.
  if (!had_memory_for([this] { watch([](const Node&) { return true; }); })) {
    look_as_before();
    return Replay::no_memory;
  }
  const bool at_sources = std::exchange(looking_at_sources, observation.sources);
  StepState again;
  float loss = 0.0f;
  buffers.put_back();
  const bool through = had_memory_for([&] { loss = run_to_flag(again, 1); });
  looking_at_sources = at_sources && through;
  if (!through) {   // once more, as it was at first: that takes no memory
    watch(nullptr);
    buffers.put_back();
    run_to_flag(state, 1);
    look_as_before();
    return Replay::no_memory;
  }
  look_as_before();
  const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
  if (same(loss, first.loss) && same(again.gradient_norm, first.gradient_norm) && (again.finite != 0) == first.finite)
    return Replay::same;
  // The gradients are those of the second run: they are committed only if both runs say that they can be.
  if (first.finite) state = again;
  device.copy_to_device(step_state(), &state, sizeof state);
  return Replay::differs;
}

void Trainer::State::look_as_before() {
  if (looking && had_memory_for([this] { watch(observation.nodes); })) return;
  looking = false;
  watch(nullptr);
}

StepResult Trainer::State::rehearse(const std::function<bool(const Node&)>& which) {
  const auto end = [this] {
    buffers.put_back();
    watch(nullptr);
    looking = looking_at_sources = false;
  };
  buffers.hold();
  StepState state;
  float loss = 0.0f;
  try {
    watch(which);
    looking_at_sources = true;
    loss = run_to_flag(state, 2);
  } catch (...) {
    end();
    throw;
  }
  end();
  return result_of(state, loss, state.finite != 0);
}

}  // namespace ulpscope::engine
