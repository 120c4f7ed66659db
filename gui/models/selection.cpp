#include "gui/models/selection.h"

namespace ulpscope::gui {

Selection::Selection(QObject* parent) : QObject(parent) {}

void Selection::setShown(const RunKey& run, bool shown) {
  const bool changed = shown ? m_hidden.erase(run) > 0 : m_hidden.insert(run).second;
  if (changed) emit runsChanged();
}

void Selection::setOnlyShown(const RunKey& run, const std::vector<RunKey>& all) {
  m_hidden.clear();
  for (const RunKey& other : all) {
    if (!(other == run)) m_hidden.insert(other);
  }
  emit runsChanged();
}

void Selection::setRun(const std::optional<RunKey>& run) {
  if (m_run == run) return;
  m_run = run;
  emit runsChanged();
}

void Selection::setSteps(const std::optional<std::pair<std::int64_t, std::int64_t>>& steps) {
  if (m_steps == steps) return;
  m_steps = steps;
  emit stepsChanged();
}

void Selection::setStep(const std::optional<std::int64_t>& step) {
  if (m_step == step) return;
  m_step = step;
  emit stepsChanged();
}

void Selection::setNode(const QString& name) {
  if (m_node == name) return;
  m_node = name;
  emit nodeChanged();
}

void Selection::setNodeFilter(const QString& filter) {
  if (m_nodeFilter == filter) return;
  m_nodeFilter = filter;
  emit nodeFilterChanged();
}

}  // namespace ulpscope::gui
