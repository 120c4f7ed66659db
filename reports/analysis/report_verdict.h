// The first thing a reader asks: which mode, why, what it costs and saves, what would change the answer. Undecided where the evidence
// does not carry it.
//
// Rests on the comparison and the diagnoses of the same runs. A mode may be recommended if its loss is inside the noise between fp32 seeds
// or better, and no run of it is fatal or damaged. Among those the fastest wins if its step was measured and is at least 5 % faster than
// fp32's; times that are emulated decide nothing.
#pragma once

#include <string>
#include <vector>

#include "reports/analysis/compare.h"
#include "reports/analysis/report_runs.h"

namespace ulpscope::reports {

struct ModeStanding {
  std::size_t mode = 0;  ///< in Comparison::modes
  std::string label{};   ///< "fp16", "B fp16"
  Outcome outcome = Outcome::not_observed;  ///< the gravest of its runs, as diagnosed
  std::string health{};     ///< in a sentence: the verdict of that run's diagnosis
  bool possible = false;    ///< may be recommended
  std::string against{};    ///< why not; empty where it may be
};

struct VerdictSection {
  std::string mode{};      ///< recommended; empty: undecided
  std::string sentence{};  ///< the answer, in one sentence
  std::vector<std::string> why{};
  std::vector<std::string> costs{};         ///< what it costs and saves beside fp32
  std::vector<std::string> would_change{};  ///< what would change the answer, or decide it
  std::vector<std::string> caveats{};       ///< what was emulated, projected, not standard, cut off or still running
  std::vector<ModeStanding> modes{};        ///< of every mode, in the order of the comparison
};

VerdictSection verdict_section(const Comparison& comparison, const std::vector<ReportRun>& runs, const std::vector<Diagnosis>& diagnoses);

}  // namespace ulpscope::reports
