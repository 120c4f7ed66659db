// The first thing a reader asks: which mode, why, what it costs and saves, what would change the answer. Undecided where the evidence
// does not carry it.
//
// It is the decision of `ulpscope advise` (advice.h), taken from the comparison, the diagnoses and the times of the same report, so that the
// two cannot disagree: on each GPU that was named, else on the GPUs of the runs, else on none. Times that were emulated decide nothing.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "reports/analysis/advice.h"
#include "reports/analysis/compare.h"
#include "reports/analysis/report_runs.h"
#include "reports/analysis/time.h"

namespace ulpscope::reports {

struct ModeStanding {
  std::size_t mode = 0;  ///< in Comparison::modes
  std::string label{};   ///< "fp16", "B fp16"
  Outcome outcome = Outcome::not_observed;  ///< the gravest of its runs, as diagnosed
  std::string health{};     ///< in a sentence: the verdict of that run's diagnosis
  bool possible = false;    ///< may be recommended, on one of the devices at least
  std::string against{};    ///< why not, or what speaks against it
};

/// For one device, or for none.
struct VerdictAnswer {
  std::string tag{};       ///< of the setting (compare.h), where there are several
  std::string sentence{};  ///< the answer, with its reason
  DeviceAdvice advice{};
  std::vector<std::string> why{};           ///< a line for each mode
  std::vector<std::string> costs{};         ///< what it costs and saves beside fp32
  std::vector<std::string> would_change{};  ///< what would change the answer, or decide it
};

struct VerdictSection {
  std::string mode{};      ///< recommended by every answer; empty: undecided, or one of each
  std::string sentence{};  ///< all answers
  std::vector<VerdictAnswer> answers{};  ///< one at least
  std::vector<std::string> caveats{};    ///< what was emulated, projected, not standard, cut off or still running
  std::vector<std::string> notes{};      ///< what the answers rest on
  std::vector<ModeStanding> modes{};     ///< of every mode, in the order of the comparison

  /// Of all answers; with whose it is, where there are several.
  std::vector<std::string> all(std::vector<std::string> VerdictAnswer::*part) const;
};

struct VerdictOptions {
  std::vector<std::pair<std::string, Gpu>> gpus{};  ///< to decide for, as typed; empty: the GPUs of the runs
  /// The plans of a file, with those at other batches. None: those that it holds.
  std::function<ProjectionInput(const RunFileReader&)> plans{};
};

/// What was made of the files before.
struct VerdictSources {
  const std::vector<const RunFileReader*>& readers;
  const Comparison& comparison;
  const std::vector<ReportRun>& runs;
  const std::vector<Diagnosis>& diagnoses;
  const std::vector<TimeReport>& times;
};

VerdictSection verdict_section(const VerdictSources& sources, const VerdictOptions& options = {});

/// Whose answer it is: "A, on H100 SXM", "on H100 SXM", "" for the only one without a device.
std::string whose(const VerdictAnswer& answer);

}  // namespace ulpscope::reports
