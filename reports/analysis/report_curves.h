// Loss against step and against time, of all modes and seeds, with the band of the fp32 seeds.
#pragma once

#include <string>
#include <vector>

#include "reports/analysis/report_runs.h"
#include "reports/analysis/series.h"

namespace ulpscope::reports {

struct RunCurves {
  std::size_t run = 0;  ///< in Report::runs
  RunSeries series{};
};

/// Between the least and the greatest training loss of the fp32 seeds, over the steps of a bucket.
struct BandPoint {
  std::int64_t first = 0, last = 0;  ///< steps
  double low = 0.0, high = 0.0;      ///< of the finite losses
  Number seconds{};                  ///< elapsed at the first of them, mean over the seeds; unknown if any of them has no time
  std::int64_t seeds = 0;            ///< with a finite loss in the bucket
};

struct SeedBand {
  std::string tag{};  ///< of the setting
  std::int64_t seeds = 0;
  std::vector<BandPoint> points{};
};

struct CurvesSection {
  std::vector<RunCurves> runs{};   ///< every run, in the order of Report::runs
  std::vector<SeedBand> bands{};   ///< of every setting with two fp32 seeds or more
};

/// Reads steps a page at a time. At most 4 * buckets points of a curve, and buckets of a band.
CurvesSection curves_section(const std::vector<ReportRun>& runs, std::int64_t buckets = 250);

}  // namespace ulpscope::reports
