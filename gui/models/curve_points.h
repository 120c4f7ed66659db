// Recorded curves as points to draw: against steps or time, broken where a value is not finite, smoothed for the eye, and the band
// between the seeds of fp32.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "reports/analysis/series.h"

namespace ulpscope::gui {

enum class CurveAxis : std::uint8_t {
  Step,     ///< as people count them, from 1
  Seconds,  ///< wall seconds since the run began; what they are says RunSeries::time
};

struct CurveGap {
  reports::GapKind kind = reports::GapKind::nan;
  double first = 0, last = 0;  ///< on the axis
  std::int64_t steps = 0;
};

struct CurvePoints {
  std::vector<double> x{};
  std::vector<double> y{};       ///< NaN where the line breaks
  std::vector<CurveGap> gaps{};  ///< values that are not finite; what is unknown only breaks the line
};

/// Where a step lies on the axis; unknown if its time is.
std::optional<double> axisPosition(const reports::RunSeries& series, std::int64_t step, CurveAxis axis);

CurvePoints curvePoints(const reports::RunSeries& series, const reports::Curve& curve, CurveAxis axis);

/// Mean over up to `window` neighbouring points, never across a break. 1 or less: as it is.
std::vector<double> smoothed(const std::vector<double>& y, int window);

/// Mean of the curves ± one standard deviation between them, where all have a value. Empty under two curves.
struct Band {
  std::vector<double> x{}, low{}, high{};
};
Band bandBetween(const std::vector<CurvePoints>& curves);

}  // namespace ulpscope::gui
