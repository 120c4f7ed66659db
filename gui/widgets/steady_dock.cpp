#include "gui/widgets/steady_dock.h"

#include <QDockWidget>
#include <QEvent>
#include <QGuiApplication>
#include <QList>
#include <QMainWindow>
#include <QTimer>

namespace ulpscope::gui {

SteadyDock::SteadyDock(QMainWindow* window, QDockWidget* dock) : QObject(dock), m_window(window), m_dock(dock) {
  window->installEventFilter(this);
  dock->installEventFilter(this);
}

void SteadyDock::remember() {
  if (!m_dock->isFloating() && m_dock->isVisible()) m_width = m_dock->width();
}

/// A dock is given widths that nobody chose while its window changes, and once more afterwards.
bool SteadyDock::eventFilter(QObject* object, QEvent* event) {
  constexpr int enough = 4;
  if (event->type() != QEvent::Resize) return false;
  const bool dragged = (QGuiApplication::mouseButtons() & Qt::LeftButton) != 0;
  if (object == m_window) m_tries = enough;
  else if (dragged) remember();
  if (m_width > 0 && m_tries > 0 && m_dock->width() != m_width) QTimer::singleShot(0, this, &SteadyDock::keep);
  return false;
}

void SteadyDock::keep() {
  if (m_tries <= 0 || m_dock->width() == m_width) return;
  --m_tries;
  const Qt::DockWidgetArea area = m_window->dockWidgetArea(m_dock);
  if (m_dock->isFloating() || !m_dock->isVisible() || (area != Qt::LeftDockWidgetArea && area != Qt::RightDockWidgetArea)) return;
  QList<QDockWidget*> docks{m_dock};
  QList<int> widths{m_width};
  for (QDockWidget* other : m_window->findChildren<QDockWidget*>()) {  // the other side has to give or take what this one does not
    const Qt::DockWidgetArea of = m_window->dockWidgetArea(other);
    if (other == m_dock || other->isFloating() || !other->isVisible() || of == area || (of != Qt::LeftDockWidgetArea && of != Qt::RightDockWidgetArea)) continue;
    docks << other;
    widths << m_window->width() - m_width;
    break;
  }
  m_window->resizeDocks(docks, widths, Qt::Horizontal);
}

}  // namespace ulpscope::gui
