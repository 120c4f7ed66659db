// Whether two machines did the same work. Part of the comparison of machines.
#pragma once

#include <string>
#include <vector>

#include "reports/run_file/reader.h"

namespace ulpscope::reports {

struct Alike {
  std::vector<std::string> reasons{};    ///< why they are not: "another batch: 16, in A 8"; empty: nothing speaks against it
  std::vector<std::string> unchecked{};  ///< what one of them does not say: "batch", "the plan of fp16"
};

/// False for a log that another program made on a device that it does not name: it is no machine to hold another against.
bool of_a_machine(const RunRecord& run);

/// `first` and `other`: any run of each machine; what differs in modes and seeds does not count. Besides what compare asks for
/// (likeness.h), settings count that change times alone: fusion, recompute, weight copies. `tag`: of the first machine. `scaled`: a mode
/// that both have scales its loss; without one the settings of the scaler do not count.
///
/// The precision policy is what says in which format something is computed or kept, and how a loss is scaled: train.policy, keep_fp32, the
/// tables of changes, the formats of accumulators, gradients, moments, scalars, the norm and the evaluation, rounding and arithmetic of the
/// update, widen, and the scaler with scale_all and scale_pure.
Alike alike_runs(const RunRecord& first, const RunRecord& other, const std::string& tag, bool scaled);

/// The plans of one mode, node by node: operation, name, phase, shapes and formats. How nodes are launched together, and whose sums
/// products have, is the device's affair. Empty: the same. "another plan of fp16: 118 nodes, in A 120; node 17 is cast w.fp16 …"
std::string other_plan(const std::vector<NodeRecord>& first, const std::vector<NodeRecord>& other, const std::string& mode, const std::string& tag);

}  // namespace ulpscope::reports
