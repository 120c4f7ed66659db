#include "gui/panels/panel.h"

#include <QEvent>

namespace ulpscope::gui {

Panel::Panel(const PanelContext& context, QWidget* parent) : QWidget(parent), m_context(context) {
  m_soon.setSingleShot(true);
  m_soon.setInterval(0);
  connect(&m_soon, &QTimer::timeout, this, [this] {
    if (!isVisible() || !m_stale) return;
    m_stale = false;
    refresh();
  });
  connect(&session(), &Session::changed, this, &Panel::invalidate);
  connect(&session(), &Session::currentChanged, this, &Panel::invalidate);
  connect(&session(), &Session::closed, this, &Panel::invalidate);
  connect(&selection(), &Selection::runsChanged, this, &Panel::invalidate);
  connect(&selection(), &Selection::stepsChanged, this, &Panel::invalidate);
  connect(&selection(), &Selection::nodeChanged, this, &Panel::invalidate);
  connect(&selection(), &Selection::nodeFilterChanged, this, &Panel::invalidate);
}

void Panel::invalidate() {
  m_stale = true;
  if (isVisible() && !m_soon.isActive()) m_soon.start();
}

SnapshotPointer Panel::snapshot() const { return document() != nullptr ? document()->snapshot() : nullptr; }

std::vector<const RunView*> Panel::shownRuns(const Snapshot& snapshot) const {
  std::vector<const RunView*> runs;
  for (const RunView& run : snapshot.runs) {
    if (selection().isShown({snapshot.path, run.record.id})) runs.push_back(&run);
  }
  return runs;
}

void Panel::showEvent(QShowEvent* event) {
  QWidget::showEvent(event);
  if (m_stale) m_soon.start();
}

void Panel::changeEvent(QEvent* event) {
  QWidget::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) invalidate();
}

}  // namespace ulpscope::gui
