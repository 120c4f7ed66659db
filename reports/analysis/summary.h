// What is in a run file: for `ulpscope info`.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/run_result.h"

namespace ulpscope::reports {

struct Summary {
  std::string file{};
  std::int64_t bytes = 0;
  int schema = 0;
  bool live = false;     ///< being written now
  bool cut_off = false;  ///< nobody writes it any more and its end is missing
  std::optional<ExperimentRecord> experiment{};
  std::vector<MachineRecord> machines{};
  std::vector<RunResult> runs{};                             ///< by id
  std::vector<std::pair<std::string, std::int64_t>> rows{};  ///< of every table
  std::map<std::string, std::int64_t> events{};              ///< kind → how many
  std::vector<CompletenessRecord> completeness{};
};

Summary summarise(const RunFileReader& reader);

/// "finished", "running", "cut off" …
std::string status_text(const RunResult& result);

}  // namespace ulpscope::reports
