// A training log as the records of a run.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profiler/import/training_log.h"
#include "reports/analysis/imported.h"
#include "reports/run_file/records.h"

namespace ulpscope::profiler {

/// What the user says of a run that is imported: nobody else knows.
struct ImportedAs {
  std::string file{};
  std::string mode{};    ///< empty: unknown, unless the import can infer it
  std::int64_t seed = 0;
  std::string model{}, data{};  ///< names of what was trained: runs of the same names count as the same experiment
};

struct ImportedRun {
  reports::RunRecord run{};
  std::vector<reports::Record> rows{};      ///< of the run, in the order in which they are written
  std::vector<std::string> words{};         ///< for people: what was read, a line each
  using Push = std::function<void(reports::Record)>;
  std::function<void(const Push&)> more{};  ///< hands over further rows, one after the other: a trace has millions
};

/// Steps are counted from 0 in a run file. A log that counts from 1 is shifted by 1; one with a row for step 0 is not. Rows of the same step are
/// put together, and of two that say the same thing the later counts: that is how a training is gone on with. Where some rows have a number, those
/// without one are left out and counted; where none has, the rows are counted as steps.
///
/// What was skipped: as the log says; else, where the loss scale is lower in the next step than in this one, this one (inferred); else unknown.
ImportedRun run_of_log(const TrainingLog& log, const LogOptions& options, const ImportedAs& as);

/// The run row as far as every import has it.
reports::RunRecord imported_run_record(const ImportedAs& as);

}  // namespace ulpscope::profiler
