// The fp32 shadow of observed and replayed steps: the same weights and the same batch, computed in fp32, and how far
// each tensor of the run is from it. Costs the memory of an fp32 step beside the run's, and a copy of all its results.
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

  /// Of the tensor that the run has just announced: RMS(value / S − shadow) ÷ RMS(shadow), S the loss scale in the
  /// scaled backward pass and 1 elsewhere. Unknown: it has no counterpart in fp32 of the same name, operation and
  /// shape, its memory is passed on inside a fused launch, the shadow is zero and it is not. Infinite or NaN where the
  /// tensor is. The first call in a step runs the shadow, whose rows ("shadow", recomputed, gradients unscaled) go to
  /// the sink.
  reports::Number error(const engine::TensorEvent& event);

  /// Of the shadow's trainer, on the device.
  std::int64_t device_bytes() const;
  /// What it came to, into the run file.
  void record() const;

 private:
  struct Counterpart {
    engine::ValueId in_shadow;
    bool scaled = false;  ///< by the loss scale
  };
  void match(const engine::TrainerSetup& setup);
  void measure();
  void run_shadow(const engine::TensorEvent& event);
  void see(const engine::TensorEvent& event);
  reports::Number difference(const engine::TensorEvent& event, const Counterpart& counterpart) const;

  const engine::Trainer& run_;
  Sink sink_;
  Faults& faults_;
  reports::RunId id_;
  engine::Topics topics_;
  std::unique_ptr<engine::Trainer> trainer_;                ///< none: it broke down
  std::vector<std::unique_ptr<Counterpart>> counterparts_;  ///< by value of the run
  std::vector<engine::ValueId> in_run_;                     ///< by value of the shadow
  std::vector<std::vector<std::vector<float>>> values_;     ///< by micro-batch, by value of the shadow
  std::int64_t iteration_ = -1, steps_ = 0, device_bytes_ = 0;
  engine::Subscription on_tensor_;
};

}  // namespace ulpscope::profiler
