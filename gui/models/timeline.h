// What happened when in a run: steps, passes, nodes and the kernels of each stream, as rows of spans. Read in the document's thread, never
// changed afterwards.
//
// As the Perfetto trace of `ulpscope report` has it: steps follow one another, each as long as its wall time on record (or drawn
// longer or shorter, where that is not known, and never summed up); a step whose kernels were traced begins where the first of them did, or at the end of the step before if that is later, and its kernels keep their
// distances. Nodes and passes of such a step last from their first kernel to the end of their last. Where nodes were timed by a clock and
// summed up, they are laid out one after the other in the order of the plan: how long is measured (or emulated), when is not.
#pragma once

#include <QString>
#include <QStringList>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gui/models/timeline_spans.h"
#include "reports/analysis/time_category.h"
#include "reports/run_file/reader.h"

namespace ulpscope::gui {

enum class TimelineRowKind : std::uint8_t { Steps, Passes, Nodes, Kernels };

/// Of the run as recorded, or of one step of mean node times.
enum class TimelineView : std::uint8_t { Run, MeanStep };

struct TimelineName {
  QString text{};
  reports::TimeCategory category = reports::TimeCategory::other;  ///< of a kernel of no known node; else the node's counts
  bool skipped = false;  ///< a step that was skipped
  std::optional<reports::Phase> pass{};
};

struct TimelineNode {
  reports::NodeId id{};
  QString name{};
  QString operation{};
  QString format{};
  reports::Phase phase = reports::Phase::forward;
  std::int64_t position = 0;
  reports::TimeCategory category = reports::TimeCategory::other;
};

struct TimelineStep {
  std::int64_t step = 0;  ///< iteration
  std::int64_t start = 0, end = 0;  ///< as drawn, up to where the next one may begin: kernels may outlast the wall time
  std::int64_t shift = 0;  ///< ns that its kernels were moved by: their start on record is so much earlier
  bool skipped = false;
  bool counted = false;    ///< its nodes were counted one after the other: its time is no step's (reports/run_file/counter_rows.h)
  std::optional<std::int64_t> wall{};  ///< ns on record; none: from start to end is how it is drawn, not how long it took
  bool untimed = false;    ///< neither wall time nor kernels nor nodes: drawn as 1 ms
};

struct TimelineRow {
  TimelineRowKind kind = TimelineRowKind::Steps;
  std::int64_t stream = 0;    ///< of kernels
  bool laidOut = false;       ///< when its spans began is not on record
  reports::Provenance durations = reports::Provenance::unknown;
  TimelineSpans spans{};

  QString title() const;
  /// What its spans are, in a sentence.
  QString meaning() const;
};

struct Timeline {
  TimelineView view = TimelineView::Run;
  std::vector<TimelineName> names{};
  std::vector<TimelineNode> nodes{};  ///< by position
  std::vector<TimelineStep> steps{};  ///< ascending
  std::vector<TimelineRow> rows{};    ///< in the order in which they are shown; none is empty
  std::int64_t begin = 0, end = 0;    ///< ns since the start of the run
  std::int64_t kernels = 0;           ///< shown
  bool meanStep = false;              ///< the other view has something to show
  std::vector<reports::TimeCategory> categories{};  ///< that spans of nodes and kernels are of
  QStringList notes{};                ///< what was laid out, what was left out
  QStringList traceNotes{};           ///< of a run: what was traced of its kernels; if none was, why, and how one gets them

  bool empty() const { return rows.empty(); }
  /// Of the row's span: the category that gives it its colour.
  reports::TimeCategory categoryOf(const TimelineRow& row, std::size_t span) const;
  const TimelineNode* nodeOf(const TimelineRow& row, std::size_t span) const;
  const TimelineStep* stepOf(const TimelineRow& row, std::size_t span) const;
  /// ns, as on record; none: a step without a wall time, whose span is only drawn.
  std::optional<std::int64_t> durationOf(const TimelineRow& row, std::size_t span) const;
  /// -1: none.
  int stepIndex(std::int64_t iteration) const;
};
using TimelinePointer = std::shared_ptr<const Timeline>;

/// More kernels of a run than this are not read, and the notes say so: 36 bytes of memory each, twice that while they are read.
inline constexpr std::int64_t mostTimelineKernels = 4'000'000;

/// Throws what the reader throws. A run that is not there has no rows.
Timeline readTimeline(const reports::RunFileReader& reader, reports::RunId run, TimelineView view, std::int64_t mostKernels = mostTimelineKernels);

}  // namespace ulpscope::gui
