// The fp32 shadow of observed and replayed steps: the same weights and the same batch, computed in fp32, and how far
// each tensor of the run is from it. Costs the memory of an fp32 step beside the run's, and a copy of all its results;
// where the run passes results on inside of fused launches, also that of a step of its own in which nothing is fused,
// from which they are read: fusion changes no bit.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "engine/train/trainer.h"
#include "profiler/probes/faults.h"

namespace ulpscope::profiler {

class Shadow {
 public:
  /// setup: that of the run. Its trainer, and everything else, must outlive the shadow. A fault ends the shadow, never
  /// the run.
  Shadow(const engine::Trainer& run, Device& device, const engine::Dataset& dataset, const engine::TrainerSetup& setup,
         Sink sink, Faults& faults, reports::RunId id);
  ~Shadow();

  /// Whether the step has anything narrower than fp32.
  static bool of_use(const engine::StepPlan& plan);
  /// What steps beside a run of this setup need on the device, before anything is allocated.
  static std::int64_t planned_bytes(Device& device, const engine::StepPlan& plan, const engine::TrainerSetup& setup);

  /// Of the tensor that the run has just announced: RMS(value / S − shadow) ÷ RMS(shadow), S the loss scale in the
  /// scaled backward pass and 1 elsewhere. Unknown: it has no counterpart in fp32 of the same name, operation and
  /// shape, or the shadow is zero and it is not. Infinite or NaN where the
  /// tensor is. The first call in a step runs the shadow, whose rows ("shadow", recomputed, gradients unscaled) go to
  /// the sink.
  reports::Number error(const engine::TensorEvent& event);

  /// Of the trainers beside the run, on the device.
  std::int64_t device_bytes() const;
  /// What it came to, into the run file.
  void record() const;
  /// Goes on where another shadow stopped, for what record() says.
  void resume(std::int64_t steps) { steps_ = steps; }

 private:
  struct Counterpart {
    engine::ValueId in_shadow;
    bool scaled = false;  ///< by the loss scale
    bool fused = false;   ///< its memory is passed on inside of a launch: the unfused step has it
  };
  void match(const engine::TrainerSetup& setup);
  void measure();
  void run_shadow(const engine::TensorEvent& event);
  void see(const engine::TensorEvent& event);
  void see_unfused(const engine::TensorEvent& event);
  /// Of the run.
  std::vector<float> numbers(const engine::TensorEvent& event, const Counterpart& counterpart) const;
  reports::Number difference(const engine::TensorEvent& event, const Counterpart& counterpart) const;

  const engine::Trainer& run_;
  Sink sink_;
  Faults& faults_;
  reports::RunId id_;
  engine::Topics topics_, unfused_topics_;
  std::unique_ptr<engine::Trainer> trainer_;                ///< none: it broke down
  std::unique_ptr<engine::Trainer> unfused_;                ///< in the run's mode; none: all its results are in memory
  std::vector<std::unique_ptr<Counterpart>> counterparts_;  ///< by value of the run
  std::vector<engine::ValueId> in_run_;                     ///< by value of the shadow
  std::vector<std::vector<std::vector<float>>> values_;     ///< by micro-batch, by value of the shadow
  std::vector<std::vector<std::vector<float>>> passed_on_;  ///< by micro-batch, by value of the run: of the unfused step
  std::int64_t iteration_ = -1, steps_ = 0, device_bytes_ = 0;
  engine::Subscription on_tensor_, on_unfused_;
};

}  // namespace ulpscope::profiler
