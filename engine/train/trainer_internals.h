// What a trainer consists of. For the sources of Trainer alone: trainer.cpp makes it, step.cpp makes its steps, replay.cpp makes one
// again, trainer_ahead.cpp launches steps before the last one has ended.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "engine/train/ahead.h"
#include "engine/train/held_buffers.h"
#include "engine/train/injector.h"
#include "engine/train/program.h"
#include "engine/train/source_probe.h"
#include "engine/train/stored_values.h"
#include "engine/train/trainer.h"

namespace ulpscope::engine {

/// Where a run stands before a step.
struct Standing {
  std::int64_t iteration = 0, applied = 0;
  scaling::ScalerState scaler;
};

struct Trainer::State {
  State(Device& device_, const Dataset& dataset_, const GraphSetup& setup_, Topics& topics_);

  StepState* step_state() const { return static_cast<StepState*>(persistent.data()); }
  void* address(const StepPlan& plan, ValueId v) const;
  /// Weights and inputs of the evaluation are those of the training graph, by name.
  void* evaluation_address(ValueId v) const;

  TrainerState save() const;
  void restore(const TrainerState& saved);
  void adopt(const TrainerState& saved);

  void upload_inputs();
  float read_loss(const StepPlan& plan) const;
  Evaluation evaluate(const std::function<bool()>& stop);

  // step.cpp
  Standing standing() const { return {iteration, applied, scaler}; }
  /// What the device has to know of the step that is made from there.
  StepState state_of(const Standing& at) const;
  /// Where the run stands after a step. committed: its update counts.
  Standing after(const Standing& at, bool finite, bool committed, scaling::ScaleEvent& event) const;
  /// The part of a step that can be done again: up to the finite flag, in state.
  float run_to_flag(StepState& state, std::int32_t attempt);
  /// Where nobody looks and nothing is replayed it allocates nothing.
  StepResult step();
  /// Forward and backward passes of a step; gradients gather in their accumulators. Returns the mean loss. In state: the last
  /// micro-batch.
  float run_micro_batches(StepState& state, std::int32_t attempt);
  /// As it stands before anything is committed.
  StepResult result_of(const StepState& state, float loss, bool finite) const;
  StepResult finish(StepResult result, bool committed);

  // replay.cpp
  void watch(const std::function<bool(const Node&)>& nodes);
  void watch_ranges();
  /// The observation's own look at a step.
  void look(bool observed);
  /// The step that has just been run, again, with every node observed. state: of the first run; afterwards what is to be committed,
  /// which the device has, too.
  Replay run_again(const StepResult& first, StepState& state);
  /// After a replay. Without memory for it nobody looks, until the next step that is observed.
  void look_as_before();
  StepResult rehearse(const std::function<bool(const Node&)>& which);

  // trainer_ahead.cpp
  /// Whether the device can go from one step to the next by itself: it has a queue, and nobody looks at a step from within.
  bool can_run_ahead() const;
  /// Throws Error. For what needs to know where the run stands.
  void expect_nothing_in_flight() const;
  std::unique_ptr<StepsAhead> make_ahead();
  StepChoices choices_after(const Standing& at) const;
  void run_ahead(std::int64_t steps, const std::function<void(const StepResult&)>& ended);

  Device& device;
  const Dataset& dataset;
  Mode mode;
  TrainConfig config;
  std::uint64_t seed;
  Topics& topics;
  StepPlan training, evaluation;
  Buffer persistent, arena;
  bool scaling;
  scaling::ScalerState scaler;
  StoredValues values;
  SourceProbe sources;
  HeldBuffers buffers;
  std::unique_ptr<Program> train_program, evaluate_program;
  std::unique_ptr<Injector> injector;   ///< null: the experiment injects nothing
  std::unique_ptr<StepsAhead> ahead;    ///< null: no step was launched ahead
  Observation observation;
  bool looking = false, looking_at_sources = false;
  std::int64_t observation_bytes = 0;   ///< most so far
  std::vector<std::vector<std::byte>> host_inputs;
  std::vector<Tensor> host_tensors;     ///< views of them
  std::int64_t iteration = 0, applied = 0;
};

}  // namespace ulpscope::engine
