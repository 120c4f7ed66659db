// What the window knows of a run file at a moment. Made in a worker thread, never changed afterwards.
#pragma once

#include <QString>
#include <memory>
#include <optional>
#include <vector>

#include "reports/analysis/compare.h"
#include "reports/analysis/series.h"
#include "reports/analysis/summary.h"

namespace ulpscope::gui {

enum class Severity : std::uint8_t { Note, Warning, Fault };

/// Something that a reader of the numbers must know first.
struct Notice {
  Severity severity = Severity::Note;
  QString text{};
};

/// One run (mode and seed) and its curves.
struct RunView {
  reports::RunRecord record{};
  std::shared_ptr<const reports::RunSeries> series{};
  std::int64_t steps = 0;   ///< on record
  bool cutOff = false;      ///< "running", but nobody writes the file any more

  /// "fp16 · seed 1"
  QString title() const;
};

struct Snapshot {
  QString path{};
  bool live = false;
  std::vector<RunView> runs{};  ///< by id
  /// As of a moment that may lie a few seconds back while a run is live.
  std::shared_ptr<const reports::Summary> summary{};
  std::shared_ptr<const reports::Comparison> comparison{};  ///< none while there is no run
  std::vector<Notice> notices{};                            ///< the gravest first

  const RunView* run(reports::RunId id) const;
};

using SnapshotPointer = std::shared_ptr<const Snapshot>;

/// What must not be missed: dropped records, emulated times, a clock held down, non-standard knobs, runs that failed.
std::vector<Notice> noticesOf(const reports::Summary& summary, const reports::Comparison* comparison,
                              const std::vector<reports::DeviceSample>& samples);

}  // namespace ulpscope::gui
