// What a run recorded over its steps, thinned for drawing.
#pragma once

#include "reports/analysis/thinning.h"
#include "reports/run_file/reader.h"

namespace ulpscope::reports {

/// Curves of one run against its steps. What a run did not record is a gap of kind unknown, never 0.
struct RunSeries {
  RunId run{};
  Curve loss{};           ///< training loss, unscaled
  Curve loss_scale{};     ///< in force during the step
  Curve gradient_norm{};  ///< before clipping
  Curve learning_rate{};
  Curve step_seconds{};  ///< wall seconds of the step; `time` says what they are
  /// Wall seconds from the first recorded step to the end of this one; unknown after a step of unknown time.
  Curve elapsed_seconds{};
  Curve held_out_loss{};  ///< evaluations of the split "held_out", by steps done before them
  std::vector<std::int64_t> skipped{};  ///< every skipped step
  Provenance time = Provenance::unknown;
};

/// Reads the steps by their key, a page at a time. Throws what the reader throws; UsageError if buckets < 1.
RunSeries read_series(const RunFileReader& reader, const RunRecord& run, std::int64_t buckets = 500);

}  // namespace ulpscope::reports
