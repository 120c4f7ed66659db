#include "gui/models/snapshot.h"

#include <QCoreApplication>
#include <algorithm>
#include <set>

#include "gui/models/text.h"
#include "reports/analysis/gpu_condition.h"
#include "reports/analysis/time.h"
#include "reports/run_file/counter_rows.h"

namespace ulpscope::gui {
namespace {

struct Notices {
  Q_DECLARE_TR_FUNCTIONS(Notices)
};

void addRuns(const reports::Summary& summary, std::vector<Notice>& out) {
  for (const reports::RunResult& run : summary.runs) {
    const QString title = QStringLiteral("%1 · %2").arg(plain(run.run.mode), Notices::tr("seed %1").arg(run.run.seed));
    if (!run.run.non_standard.empty()) {
      QStringList knobs;
      for (const std::string& knob : run.run.non_standard) knobs << isolated(plain(knob));
      out.push_back({Severity::Warning, Notices::tr("%1 is a non-standard run: %2").arg(title, knobs.join(QStringLiteral(", ")))});
    }
    if (run.cut_off) out.push_back({Severity::Warning, Notices::tr("%1 was cut off: nobody writes its recording any more").arg(title)});
    if (run.run.status == reports::RunStatus::failed)
      out.push_back({Severity::Fault, Notices::tr("%1 failed: %2").arg(title, sentence(run.run.message))});
    if (run.run.status == reports::RunStatus::interrupted) {
      if (const auto note = reports::status_note(run)) out.push_back({Severity::Warning, QStringLiteral("%1: %2").arg(title, sentence(*note))});
    }
    if (const auto note = reports::divergence_note(run))
      out.push_back({run.went_astray() ? Severity::Fault : Severity::Note, QStringLiteral("%1: %2").arg(title, sentence(*note))});
    if (const auto note = reports::missing_note(run)) out.push_back({Severity::Warning, QStringLiteral("%1: %2").arg(title, sentence(*note))});
  }
}

void addCompleteness(const reports::Summary& summary, std::vector<Notice>& out) {
  static const std::set<std::string, std::less<>> grave = {"dropped", "lost", "fault"};
  for (const reports::CompletenessRecord& row : summary.completeness) {
    const bool is_grave = grave.contains(row.kind);
    if (!is_grave && row.kind != "throttled" && row.kind != "refused") continue;
    if (row.count && *row.count == 0 && row.kind != "fault") continue;
    QString text = words(row.kind) + QStringLiteral(": ") + plain(row.subject);
    if (row.count) text += QStringLiteral(", %1 [%2]").arg(countText(row.count), word(row.provenance));
    if (!row.detail.empty()) text += QStringLiteral(" (%1)").arg(sentence(row.detail));
    // Counters are an extra, which most drivers keep to the administrator.
    out.push_back({reports::lacks_counters(row) ? Severity::Note : is_grave ? Severity::Fault : Severity::Warning, text});
  }
}

void addTimes(const reports::Comparison& comparison, std::vector<Notice>& out) {
  QStringList modes;
  for (const reports::ModeResult& mode : comparison.modes) {
    if (mode.emulated && !modes.contains(plain(mode.mode))) modes << plain(mode.mode);
  }
  if (!modes.isEmpty())
    out.push_back({Severity::Warning, Notices::tr("Times of %1 are emulated: the formats are carried out in software, and the times say nothing of a GPU")
                                          .arg(modes.join(QStringLiteral(", ")))});
}

void addClock(const std::vector<reports::DeviceSample>& samples, std::vector<Notice>& out) {
  for (const char* phase : {"timing", "training"}) {
    std::vector<reports::DeviceSample> of_phase;
    std::copy_if(samples.begin(), samples.end(), std::back_inserter(of_phase), [&](const auto& s) { return s.phase == phase; });
    if (of_phase.empty()) continue;
    const reports::GpuCondition condition = reports::gpu_condition(of_phase);
    if (!condition.slowed.value || *condition.slowed.value < reports::often_slowed) continue;
    out.push_back({Severity::Warning, Notices::tr("The GPU's clock was held down in %1 % of the samples (%2): %3")
                                          .arg(QString::number(100.0 * *condition.slowed.value, 'f', 0), words(phase), sentence(condition.why))});
  }
}

}  // namespace

QString RunView::title() const {
  return QStringLiteral("%1 · %2").arg(plain(record.mode), Notices::tr("seed %1").arg(record.seed));
}

const RunView* Snapshot::run(reports::RunId id) const {
  const auto found = std::find_if(runs.begin(), runs.end(), [&](const RunView& r) { return r.record.id == id; });
  return found == runs.end() ? nullptr : &*found;
}

std::vector<Notice> noticesOf(const reports::Summary& summary, const reports::Comparison* comparison,
                              const std::vector<reports::DeviceSample>& samples) {
  std::vector<Notice> notices;
  addRuns(summary, notices);
  addCompleteness(summary, notices);
  addClock(samples, notices);
  if (comparison != nullptr) {
    addTimes(*comparison, notices);
    // What is missing from the recording is said above, with its severity.
    const auto said = [&](const std::string& warning) {
      return std::any_of(summary.completeness.begin(), summary.completeness.end(), [&](const reports::CompletenessRecord& row) {
        return warning.starts_with(summary.file + ": " + row.subject + " " + row.kind);
      });
    };
    for (const std::string& warning : comparison->warnings)
      if (!said(warning)) notices.push_back({Severity::Warning, sentence(warning)});
  }
  std::stable_sort(notices.begin(), notices.end(), [](const Notice& a, const Notice& b) { return a.severity > b.severity; });
  std::vector<Notice> once;  // what the comparison says again
  for (Notice& notice : notices) {
    if (std::none_of(once.begin(), once.end(), [&](const Notice& n) { return n.text == notice.text; })) once.push_back(std::move(notice));
  }
  return once;
}

}  // namespace ulpscope::gui
