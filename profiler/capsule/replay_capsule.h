// Runs the step of a capsule in one mode or several, every tensor observed, and diagnoses each.
#pragma once

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
  std::optional<bool> same_bits;  ///< in the capsule's own mode: loss, scale and finite flag are those it was made with
  reports::RunDiagnosis diagnosis;
};

struct CapsuleReplay {
  std::string path;
  Capsule capsule;
  std::vector<ReplayedMode> modes;
  std::vector<std::string> remarks;  ///< what is different here from where the capsule was made
};

/// modes: names, or "all"; the capsule's own comes as the others do. Throws UsageError: not a capsule, an unknown mode.
CapsuleReplay replay_capsule(const std::string& path, const std::vector<std::string>& modes,
                             const std::string& command_line);

std::string replay_text(const CapsuleReplay& replay);
/// "kind": "ulpscope replay", "version": 1.
std::string replay_json(const CapsuleReplay& replay);

}  // namespace ulpscope::profiler
