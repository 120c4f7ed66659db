// A timeline in words: times, what a span is, what a range adds up to.
#pragma once

#include <QString>
#include <optional>

#include "gui/models/timeline_sums.h"

namespace ulpscope::gui {

/// "12.34 ms", of nanoseconds.
QString timeText(double nanoseconds);
/// "0.012340567 s": every digit.
QString exactTime(std::int64_t nanoseconds);
/// "37.5 %"
QString shareText(double share);
QString categoryName(reports::TimeCategory category);
QString phaseName(reports::Phase phase);

/// For a tooltip: name, row, when, how long, node and step.
QString spanToolTip(const Timeline& timeline, const TimelineRow& row, std::size_t span);
/// All of it, with the launch of a kernel if that is known.
QString spanDetails(const Timeline& timeline, const TimelineRow& row, std::size_t span, const std::optional<reports::KernelRecord>& kernel);
/// "kernels, stream 7, 12 ms from 3.4 s on: 120 spans, 11 ms together [measured], 92 % of the range"; and how many steps were left out
QString rangeText(const Timeline& timeline, const RangeSum& sums);

}  // namespace ulpscope::gui
