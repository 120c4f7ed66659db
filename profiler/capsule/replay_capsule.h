// Runs the step of a capsule in one mode or several, every tensor observed, and diagnoses each.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "engine/topics.h"
#include "profiler/capsule/capsule.h"
#include "reports/analysis/diagnosis/diagnosis.h"

namespace ulpscope::profiler {

struct ReplayedMode {
  std::string mode;
  std::string problem;  ///< why it could not be run; then nothing else is known
  engine::StepResult result;
  bool own = false;              ///< the capsule's mode: the step is held against the one that the capsule was made of
  bool same_loss = false;        ///< own: loss, scale and finite flag are those it was made with
  GradientComparison gradients;  ///< own
  /// Loss, scale, finite flag and every parameter gradient are those it was made with. Unknown in other modes, and where the capsule
  /// has no gradients and the rest is the same.
  std::optional<bool> same_bits;
  reports::RunDiagnosis diagnosis;
};

struct CapsuleReplay {
  std::string path;
  Capsule capsule;
  std::vector<ReplayedMode> modes;
  std::vector<std::string> remarks;  ///< what is different here from where the capsule was made
};

/// modes: names, or "all"; the capsule's own comes as the others do. Throws UsageError: not a capsule, an unknown mode.
/// stop: asked after every node; true ends it in the middle of a step: Interrupted is thrown, and nothing is left behind.
CapsuleReplay replay_capsule(const std::string& path, const std::vector<std::string>& modes,
                             const std::string& command_line, const std::function<bool()>& stop = {});

}  // namespace ulpscope::profiler
