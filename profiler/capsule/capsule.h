// One training step in one file, to be run anywhere: what the step read (weights, optimizer state, buffers, batch), and
// the experiment it belongs to. A safetensors file; its metadata and tensors: docs/capsule.md.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "engine/data/safetensors.h"
#include "engine/train/trainer.h"
#include "profiler/capsule/gradient_prints.h"
#include "profiler/experiment/experiment.h"

namespace ulpscope::profiler {

/// What the step came to when the capsule was made.
struct RecordedStep {
  float loss = 0.0f;
  float loss_scale = 1.0f;
  bool finite = true;  ///< every gradient
  std::vector<GradientPrint> gradients{};  ///< empty: not recorded (capsules of older versions)
};

struct Capsule {
  Experiment experiment;  ///< numbers that came from .npy files are in it; its data are not needed
  std::string mode;
  std::uint64_t seed = 0;
  engine::TrainerState state;                             ///< before the step; state.iteration is the step
  std::vector<std::vector<engine::NamedTensor>> batches;  ///< by micro-batch, the inputs in the order of the model
  RecordedStep recorded;
  std::string way;   ///< how the step was reached, and whether its bits are those of the recording
  std::string plan;  ///< fingerprint of the planned step
  std::map<std::string, std::string>
      versions;  ///< ulpscope, commit, compiler, matmul, instruction_set, threads, device
};

/// Identifies a planned step: operations, formats, shapes, in order. 16 hexadecimal digits.
std::string plan_fingerprint(const engine::StepPlan& plan);

/// Returns the bytes written. Throws Error.
std::int64_t save_capsule(const std::string& path, const Capsule& capsule);
/// Throws UsageError, "PATH: WHY" in one line: missing, cut off, damaged, something else than a capsule, of a newer
/// version.
Capsule load_capsule(const std::string& path);

}  // namespace ulpscope::profiler
