// The runs that a report is about: those of the comparison, so that no two sections speak of different ones.
#pragma once

#include <string>
#include <vector>

#include "reports/analysis/compare.h"
#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/run_file/reader.h"

namespace ulpscope::reports {

/// One mode with one seed. Sections name runs by their index in Report::runs.
struct ReportRun {
  const RunFileReader* reader = nullptr;  ///< not owned
  std::string file{};
  RunRecord run{};
  std::string mode{};   ///< as the comparison has it: with whose sums, "fp16@hopper"
  std::string tag{};    ///< of its setting (compare.h): "A", "B"; empty if there is one
  std::string label{};  ///< told apart from all others: "fp16, seed 1", "B fp16, seed 1"
  std::string mode_label{};  ///< told apart from other modes: "fp16", "B fp16"
  std::size_t mode_index = 0;  ///< in Comparison::modes
  bool first_of_mode = false;  ///< the least seed: stands for its mode where one run is enough
  bool emulated = false;       ///< its times
  bool live = false;           ///< being written now
  bool cut_off = false;
  std::int64_t steps = 0;      ///< recorded
};

/// By mode, then by seed, in the order of the comparison. Every reader of the comparison has to be there, else Error.
std::vector<ReportRun> report_runs(const Comparison& comparison, const std::vector<const RunFileReader*>& readers);

/// The diagnosis of one of them; none if it was not diagnosed. `diagnoses`: of any files.
const RunDiagnosis* diagnosis_of(const ReportRun& run, const std::vector<Diagnosis>& diagnoses);

/// What it says that no overflow is listed: no more than was recorded. A log of another program may not tell of its gradients, and a run
/// without a step tells nothing.
std::string no_overflow_words(const std::vector<ReportRun>& runs);

/// The runs that stand for their modes.
std::vector<std::size_t> one_of_each_mode(const std::vector<ReportRun>& runs);

}  // namespace ulpscope::reports
