// A step that was made in a mode, up to its finite flag, and not recorded: what becomes of what is not finite in it, as a diagnosis of a
// recording tells it.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/run_file/records.h"

namespace ulpscope::reports {

/// What a run file would hold of it.
struct RehearsedStep {
  RunRecord run{};
  std::vector<NodeRecord> nodes{};
  std::vector<TensorRecord> tensors{};
  std::vector<EdgeRecord> edges{};
  StepRecord step{};
  std::vector<TensorStatsRecord> statistics{};
};

/// What becomes of the elements of a tensor that are not finite.
struct Aftermath {
  Gravity gravity = Gravity::fatal;  ///< fatal: they reach the loss, a gradient or a weight; else as in a diagnosis
  bool masked = false;               ///< what masks are for: nothing to report
  std::string what{};                ///< in words, to follow what was said of the tensor; may be empty
};

/// A fault of the step that reaches the loss, a gradient or a weight.
struct RehearsedFault {
  Cause cause{};
  std::int64_t order = 0;   ///< of its operation, in execution
};

/// What a step in a mode comes to. Gradients times the loss scale that are too large for it are left out.
struct Followed {
  /// By name, of tensors in which the step is not finite, and of sums inside an operation by its result. Where several faults meet in one: of the gravest.
  std::map<std::string, Aftermath> tensors{};
  /// Where they begin, in order of execution; what follows from another of them is left out.
  std::vector<RehearsedFault> faults{};
};
/// fp32: the same step in fp32; null: none.
Followed follow_rehearsed(const RehearsedStep& step, const RehearsedStep* fp32);

}  // namespace ulpscope::reports
