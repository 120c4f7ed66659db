// Runs that another program made: what was read, and what it does not say. Kept in run.attributes_json under "imported", so that no report
// says that ulpscope ran them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/run_file/records.h"

namespace ulpscope::reports {

/// Where it is from that a step was skipped.
enum class SkipSource : std::uint8_t {
  unknown,   ///< the log does not say
  inferred,  ///< from falls of the loss scale between neighbouring rows
  logged,    ///< the log says it
};

struct Imported {
  bool trace = false;         ///< kernels and their times; else a training log: losses, scales, norms
  std::string format{};       ///< "Hugging Face trainer_state.json", "Nsight Systems SQLite export"
  std::string file{};         ///< that was read, as it was named
  std::string mode_from{};    ///< "given", "inferred", "unknown"
  SkipSource skips = SkipSource::unknown;
  bool numbered = true;       ///< the log numbers its steps; else its entries are counted as steps
  bool every_step = false;    ///< it has a row for each step up to the last
  bool hides_losses = false;  ///< the writer replaces losses that are not finite (Hugging Face's logging_nan_inf_filter)
  std::int64_t zeros_as_nan = 0;  ///< losses of 0 beside a gradient norm that is not finite, which such a writer puts there: read as NaN

  /// What was skipped is known of the steps that are there.
  bool skips_known() const { return skips != SkipSource::unknown; }
};

/// A document with "imported" in it, for RunRecord::attributes_json.
std::string attributes_with(const Imported& imported);
/// Nothing for a run that ulpscope made.
std::optional<Imported> imported(const RunRecord& run);

/// "training log imported from log.csv (CSV)", "trace imported from …"; nothing for a run that ulpscope made.
std::optional<std::string> imported_words(const RunRecord& run);
/// What is not known of it, for people: of its mode, its skipped steps, what was trained. Empty for a run that ulpscope made.
std::vector<std::string> imported_notes(const RunRecord& run);
/// Who made the numbers: "ulpscope 0.1.0 (1234abc)", or "another program; imported by ulpscope 0.1.0 (1234abc)".
std::string producer_words(const ExperimentRecord& experiment, bool is_imported);

}  // namespace ulpscope::reports
