#include "reports/analysis/report_runs.h"

#include <fmt/format.h>

#include <algorithm>

#include "kernels/error.h"
#include "reports/analysis/imported.h"

namespace ulpscope::reports {

std::vector<ReportRun> report_runs(const Comparison& comparison, const std::vector<const RunFileReader*>& readers) {
  std::vector<ReportRun> list;
  for (std::size_t m = 0; m < comparison.modes.size(); ++m) {
    const ModeResult& mode = comparison.modes[m];
    bool first = true;
    for (const RunResult& result : mode.runs) {
      const auto reader =
          std::find_if(readers.begin(), readers.end(), [&](const RunFileReader* r) { return r->path() == result.file; });
      if (reader == readers.end()) throw Error(fmt::format("no reader of {}", result.file));
      ReportRun run{.reader = *reader, .file = result.file, .run = result.run, .mode = mode.mode, .tag = mode.tag};
      run.mode_label = mode.tag.empty() ? mode.mode : fmt::format("{} {}", mode.tag, mode.mode);
      run.label = fmt::format("{}, seed {}", run.mode_label, result.run.seed);
      run.mode_index = m;
      run.first_of_mode = std::exchange(first, false);
      run.emulated = mode.emulated;
      run.live = result.run.status == RunStatus::running && (*reader)->live();
      run.cut_off = result.cut_off;
      run.steps = result.steps;
      list.push_back(std::move(run));
    }
  }
  return list;
}

const RunDiagnosis* diagnosis_of(const ReportRun& run, const std::vector<Diagnosis>& diagnoses) {
  for (const Diagnosis& file : diagnoses)
    if (file.file == run.file)
      for (const RunDiagnosis& diagnosis : file.runs)
        if (diagnosis.run.id == run.run.id) return &diagnosis;
  return nullptr;
}

std::vector<std::size_t> one_of_each_mode(const std::vector<ReportRun>& runs) {
  std::vector<std::size_t> list;
  for (std::size_t i = 0; i < runs.size(); ++i)
    if (runs[i].first_of_mode) list.push_back(i);
  return list;
}

std::string no_overflow_words(const std::vector<ReportRun>& runs) {
  std::vector<std::string> silent;
  for (const ReportRun& run : runs)
    if (run.steps == 0 || imported(run.run)) silent.push_back(run.label);
  if (silent.empty()) return "In no recorded step was a gradient not finite.";
  const std::string of = fmt::format("{}{}", fmt::join(silent, "; "), silent.size() == 1 ? " does" : " do");
  return silent.size() == runs.size() ? fmt::format("No overflow is on record, and whether gradients were finite is unknown: {} not tell.", of)
                                      : fmt::format("In no step that ulpscope recorded was a gradient not finite; {} not tell.", of);
}

}  // namespace ulpscope::reports
