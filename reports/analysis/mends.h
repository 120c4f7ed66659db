// What came of trying changes: the mends that a run file holds, by run.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "reports/run_file/reader.h"

namespace ulpscope::reports {

struct MendTrial {
  MendRecord record{};
  int cost = 0;                              ///< what costs least comes first
  std::string why{};                         ///< what held, what stayed, why it was not tried
  std::string ulpscope{};                    ///< what makes the change in an experiment file
  std::string settings{};                    ///< in the words of Hugging Face, PyTorch, DeepSpeed
  std::vector<std::string> targets{};        ///< faults it is for
  std::vector<std::string> remains{};        ///< faults of the run that stay with it
  std::vector<std::string> nodes{};          ///< keep_fp32: the smallest set
  bool minimal = false;                      ///< keep_fp32: without any of them the fault returns, and that was run
  std::vector<std::pair<std::string, std::string>> without{};   ///< a node, what came of leaving it out
  Count runs{};
  std::string when{};                        ///< it was tried, UTC; empty: it was not, or an older program did
  bool earlier = false;                      ///< of whoever asked: an earlier mend tried it, not the one that is told about
};

struct MendsOfRun {
  RunRecord run{};
  std::vector<std::string> faults{};   ///< of the unchanged experiment, gravest first: "activation_too_large at layer2.linear"
  std::string baseline{};              ///< how that was run
  std::vector<MendTrial> trials{};
  std::int64_t verified = 0, refuted = 0, not_tried = 0;
  std::string verdict{};               ///< in a sentence
};

struct Mends {
  std::string file{};
  std::vector<MendsOfRun> runs{};      ///< that have mends
  std::vector<std::string> notes{};    ///< of whoever asked
};

Mends mends(const RunFileReader& reader);

}  // namespace ulpscope::reports
