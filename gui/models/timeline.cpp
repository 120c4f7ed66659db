#include "gui/models/timeline.h"

#include <QCoreApplication>
#include <algorithm>

#include "gui/models/text.h"
#include "gui/models/timeline_layout.h"

namespace ulpscope::gui {
namespace {

struct TimelineTexts {
  Q_DECLARE_TR_FUNCTIONS(TimelineTexts)
};

}  // namespace

QString TimelineRow::title() const {
  switch (kind) {
    case TimelineRowKind::Steps: return TimelineTexts::tr("steps");
    case TimelineRowKind::Passes: return laidOut ? TimelineTexts::tr("passes, laid out") : TimelineTexts::tr("passes");
    case TimelineRowKind::Nodes: return laidOut ? TimelineTexts::tr("nodes, laid out") : TimelineTexts::tr("nodes");
    case TimelineRowKind::Kernels: break;
  }
  return TimelineTexts::tr("kernels, stream %1").arg(stream);
}

QString TimelineRow::meaning() const {
  if (laidOut)
    return TimelineTexts::tr("How long each took is [%1]; they are laid out one after the other in the order of the plan: when each began is not on record.").arg(word(durations));
  switch (kind) {
    case TimelineRowKind::Steps:
      return TimelineTexts::tr("Wall time of each step [%1]. Steps follow one another; one whose kernels were traced begins where the first of them did, or at the end of the step before.").arg(word(durations));
    case TimelineRowKind::Passes: return TimelineTexts::tr("From the first kernel of a pass to the end of its last [%1].").arg(word(durations));
    case TimelineRowKind::Nodes: return TimelineTexts::tr("From the first kernel of a node to the end of its last, or to where the next node begins [%1].").arg(word(durations));
    case TimelineRowKind::Kernels: break;
  }
  return TimelineTexts::tr("Kernels as the GPU ran them [%1].").arg(word(durations));
}

const TimelineNode* Timeline::nodeOf(const TimelineRow& row, std::size_t span) const {
  const std::int32_t node = row.spans.node(span);
  return node < 0 ? nullptr : &nodes[static_cast<std::size_t>(node)];
}

const TimelineStep* Timeline::stepOf(const TimelineRow& row, std::size_t span) const {
  const std::int32_t step = row.spans.step(span);
  return step < 0 ? nullptr : &steps[static_cast<std::size_t>(step)];
}

std::optional<std::int64_t> Timeline::durationOf(const TimelineRow& row, std::size_t span) const {
  if (row.kind != TimelineRowKind::Steps) return row.spans.duration(span);
  const TimelineStep* const step = stepOf(row, span);
  return step != nullptr ? step->wall : std::nullopt;
}

reports::TimeCategory Timeline::categoryOf(const TimelineRow& row, std::size_t span) const {
  if (const TimelineNode* const node = nodeOf(row, span)) return node->category;
  return names[row.spans.name(span)].category;
}

int Timeline::stepIndex(std::int64_t iteration) const {
  const auto found = std::lower_bound(steps.begin(), steps.end(), iteration, [](const TimelineStep& step, std::int64_t of) { return step.step < of; });
  return found == steps.end() || found->step != iteration ? -1 : static_cast<int>(found - steps.begin());
}

Timeline readTimeline(const reports::RunFileReader& reader, reports::RunId run, TimelineView view, std::int64_t mostKernels) {
  const std::vector<reports::RunRecord> runs = reader.runs();
  const auto of = std::find_if(runs.begin(), runs.end(), [&](const reports::RunRecord& r) { return r.id == run; });
  if (of == runs.end()) return {};
  TimelineLayout layout(reader, *of, mostKernels);
  return view == TimelineView::Run ? layout.run() : layout.meanStep();
}

}  // namespace ulpscope::gui
