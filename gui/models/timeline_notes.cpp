// What a timeline says of itself: what is missing, why, and with which command one gets it.
#include <QCoreApplication>
#include <algorithm>

#include "gui/models/text.h"
#include "gui/models/timeline_layout.h"
#include "reports/run_file/counter_rows.h"

namespace ulpscope::gui {
namespace {

struct TimelineTexts {
  Q_DECLARE_TR_FUNCTIONS(TimelineTexts)
};

/// Why nothing was traced, and what came of tracing, in the recording's own words.
QStringList traceWords(const reports::RunFileReader& reader, reports::RunId run) {
  QStringList said;
  for (const reports::CompletenessRecord& row : reader.completeness()) {
    if (row.run && *row.run != run) continue;
    const bool traced = row.subject.starts_with("kernel trace");
    if (row.kind == "refused" && traced) said << TimelineTexts::tr("kernel trace refused: %1").arg(sentence(row.detail));
    if (row.kind == "refused" && reports::lacks_counters(row)) said << sentence(row.detail);
    if ((row.kind == "dropped" || row.kind == "lost") && (traced || row.subject == "kernel")) said << QStringLiteral("%1, %2: %3 %4").arg(sentence(row.subject), words(row.kind), countText(row.count), sentence(row.detail)).trimmed();
    if (row.kind == "note" && row.subject == "kernel trace") said << sentence(row.detail);
  }
  return said;
}

}  // namespace

void TimelineLayout::addNotes() {
  QStringList& notes = m_timeline.notes;
  const TimelineView view = m_timeline.view;
  if (view == TimelineView::MeanStep) {
    if (!m_mean.empty())
      notes << TimelineTexts::tr("The mean of %1 sampled steps. Nodes are laid out one after the other in the order of the plan: how long each took is on record, when it began is not.").arg(m_meanOf);
    else notes << TimelineTexts::tr("No node of this run was timed.");
  }
  if (m_untimed > 0) notes << TimelineTexts::tr("times of nodes left out, because they are no finite number: %1").arg(m_untimed);
  if (view != TimelineView::Run) return;
  sayWhatWasTraced();
  const auto untimed = std::count_if(m_timeline.steps.begin(), m_timeline.steps.end(), [](const TimelineStep& step) { return step.untimed; });
  if (untimed > 0) notes << TimelineTexts::tr("steps without a time, drawn as 1 ms each: %1").arg(untimed);
  const auto drawn = std::count_if(m_timeline.steps.begin(), m_timeline.steps.end(), [](const TimelineStep& step) { return !step.wall && !step.untimed; });
  if (drawn > 0) notes << TimelineTexts::tr("steps without a wall time, drawn as long as their kernels or nodes: %1").arg(drawn);
  if (!m_mean.empty() && m_timeline.kernels == 0 && m_timed.empty()) notes << TimelineTexts::tr("Nodes were summed up over sampled steps: the mean step shows them.");
}

void TimelineLayout::sayWhatWasTraced() {
  QStringList& notes = m_timeline.traceNotes;
  if (m_moreKernels) notes << TimelineTexts::tr("Only the first %1 kernels of this run are shown.").arg(m_timeline.kernels);
  const bool imported = m_run.attributes_json.find("\"imported\"") != std::string::npos;
  if (m_timeline.kernels == 0) {
    if (m_run.device_kind == "cpu" && !imported)
      notes << TimelineTexts::tr("No kernels: this run was on a CPU, which has none. A run on a GPU traces them: ulpscope run EXPERIMENT.toml --set run.device=cuda");
    else if (imported) notes << TimelineTexts::tr("No kernels: the file that was imported holds none. Those of a profiler's trace come with ulpscope import TRACE");
    else notes << TimelineTexts::tr("No kernels were recorded in this run.");
  }
  notes << traceWords(m_reader, m_run.id);
}

}  // namespace ulpscope::gui
