// Mends a run of a run file: makes changes from what was found in it, runs each, and says what came of it.
//
//   const MendResult result = mend("o.ulp", {.budget_seconds = 300}, interrupted, say);   // the file is only read
//   record_mends("o.ulp", result);                                                        // in place of those of that run
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "profiler/experiment/named_file.h"
#include "reports/run_file/records.h"

namespace ulpscope::profiler {

struct MendOptions {
  std::string mode{};                  ///< empty: of the run that fares worst
  std::optional<std::int64_t> seed{};
  double budget_seconds = 300.0;
};

/// What tells a run file from another that takes its name.
struct MendedFile {
  NamedFile name;
  std::string said{};   ///< by itself: its experiment, and when it was made
};

struct MendResult {
  std::optional<reports::RunId> run{};         ///< none: there is nothing to mend
  std::vector<reports::MendRecord> records{};  ///< in order of their cost
  std::vector<std::string> notes{};            ///< why there are none, what else there is to mend
  std::string stopped{};                       ///< why not everything was tried: "the budget of 5 min was spent"; empty: there was time
  bool interrupted = false;
  std::string machine_fault{};                 ///< that ended it: trials could not be recorded; empty: none
  std::optional<MendedFile> file{};            ///< what was mended; none: whatever has the name
};

/// interrupted: asked after every step of every trial. say: hears what is tried next, and how far the budget went; may be null.
/// Throws UsageError in one line: no run file, or one that is being written, or of an older schema, or that cannot be written to; no
/// such mode or seed in it; data that are gone or changed.
MendResult mend(const std::string& run_file, const MendOptions& options, const std::function<bool()>& interrupted,
                const std::function<void(const std::string&)>& say);

/// In place of those of the run, except for changes that were tried then and not now: returns these. Nothing if the result has no records.
/// Throws as a RunFileWriter does, and, with the file as it is, Error if that is no longer the one that was mended.
std::vector<reports::MendId> record_mends(const std::string& run_file, const MendResult& result);

}  // namespace ulpscope::profiler
