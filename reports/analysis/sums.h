// Runs whose products had the sums of a GPU generation's matrix units, emulated (attribute "sums" of the run).
#pragma once

#include <string>
#include <vector>

#include "reports/run_file/records.h"

namespace ulpscope::reports {

struct EmulatedSums {
  std::string asked{};               ///< "hopper"; empty: none were asked for
  std::string unit{};                ///< the same if any product of the run had them, else empty: its sums are plain
  std::vector<std::string> words{};  ///< how many products, by which rule, what is assumed
};
EmulatedSums emulated_sums(const RunRecord& run);
/// For whoever shows the run: "products have the sums of hopper's matrix units, emulated: its times say nothing". Empty: plain sums.
std::string sums_remark(const RunRecord& run);

/// What sampled elements say of units that the run did not compute with (attribute "sampled_sums"): a line for each.
std::vector<std::string> sampled_sums(const RunRecord& run);

}  // namespace ulpscope::reports
