// What is shown and what is selected, shared by all panels: runs, a range of steps, a step, a node.
#pragma once

#include <QObject>
#include <QString>
#include <optional>
#include <set>
#include <utility>

#include "reports/run_file/reader.h"

namespace ulpscope::gui {

/// A run of an open file.
struct RunKey {
  QString path{};
  reports::RunId run{};
  friend bool operator==(const RunKey&, const RunKey&) = default;
  friend bool operator<(const RunKey& a, const RunKey& b) {
    return a.path != b.path ? a.path < b.path : a.run < b.run;
  }
};

class Selection final : public QObject {
  Q_OBJECT

 public:
  explicit Selection(QObject* parent = nullptr);

  /// Runs are shown until somebody hides them.
  bool isShown(const RunKey& run) const { return !m_hidden.contains(run); }
  void setShown(const RunKey& run, bool shown);
  void setOnlyShown(const RunKey& run, const std::vector<RunKey>& all);

  /// The run that was clicked last; none at first.
  const std::optional<RunKey>& run() const { return m_run; }
  void setRun(const std::optional<RunKey>& run);

  /// first <= iteration < end; none: all steps.
  const std::optional<std::pair<std::int64_t, std::int64_t>>& steps() const { return m_steps; }
  void setSteps(const std::optional<std::pair<std::int64_t, std::int64_t>>& steps);
  /// The iteration that was clicked last.
  const std::optional<std::int64_t>& step() const { return m_step; }
  void setStep(const std::optional<std::int64_t>& step);

  /// Name of a node of the plan ("block3.attention.scores"), the same in all modes; empty: none.
  const QString& node() const { return m_node; }
  void setNode(const QString& name);
  /// Part of the names of nodes and tensors to show; empty: all.
  const QString& nodeFilter() const { return m_nodeFilter; }
  void setNodeFilter(const QString& filter);

 signals:
  void runsChanged();
  void stepsChanged();
  void nodeChanged();
  void nodeFilterChanged();

 private:
  std::set<RunKey> m_hidden;
  std::optional<RunKey> m_run;
  std::optional<std::pair<std::int64_t, std::int64_t>> m_steps;
  std::optional<std::int64_t> m_step;
  QString m_node;
  QString m_nodeFilter;
};

}  // namespace ulpscope::gui
