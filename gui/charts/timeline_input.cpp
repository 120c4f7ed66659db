// What a person does with a timeline: wheel, mouse, keys, the menu.
#include <QApplication>
#include <QContextMenuEvent>
#include <QFileDialog>
#include <QHelpEvent>
#include <QMenu>
#include <QScrollBar>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/charts/timeline_chart.h"
#include "gui/models/timeline_text.h"

namespace ulpscope::gui {

bool TimelineChart::event(QEvent* event) {
  // The search of this panel comes before the filter of all panels while the timeline has the keyboard.
  if (event->type() == QEvent::ShortcutOverride && static_cast<QKeyEvent*>(event)->matches(QKeySequence::Find)) {
    event->accept();
    return true;
  }
  return QAbstractScrollArea::event(event);
}

bool TimelineChart::viewportEvent(QEvent* event) {
  if (event->type() != QEvent::ToolTip || !m_timeline) return QAbstractScrollArea::viewportEvent(event);
  const auto* const help = static_cast<QHelpEvent*>(event);
  const QPointF at = help->pos();
  QString text;
  std::int64_t more = 0;
  if (const auto place = spanAt(at, &more)) {
    text = spanToolTip(*m_timeline, m_timeline->rows[place->first], place->second);
    if (more > 0) text += QLatin1Char('\n') + tr("and %1 more here: zoom in").arg(more);
  } else if (const int row = rowAt(at.y()); row >= 0 && at.x() < geometry(viewport()->size(), true).left) {
    text = m_timeline->rows[static_cast<std::size_t>(row)].title() + QLatin1Char('\n') + m_timeline->rows[static_cast<std::size_t>(row)].meaning();
  }
  if (text.isEmpty()) QToolTip::hideText();
  else QToolTip::showText(help->globalPos(), text, viewport());
  return true;
}

void TimelineChart::resizeEvent(QResizeEvent* event) {
  QAbstractScrollArea::resizeEvent(event);
  fitScroll();
}

void TimelineChart::changeEvent(QEvent* event) {
  QAbstractScrollArea::changeEvent(event);
  if (event->type() == QEvent::PaletteChange) viewport()->update();
  if (event->type() == QEvent::FontChange) setTimeline(m_timeline, true);
}

void TimelineChart::wheelEvent(QWheelEvent* event) {
  const QPoint turned = event->angleDelta();
  if (event->modifiers() & Qt::ControlModifier) return QAbstractScrollArea::wheelEvent(event);  // rows
  const double width = m_view.to - m_view.from;
  if (turned.x() != 0 || (event->modifiers() & Qt::ShiftModifier)) {
    const double turns = (turned.x() != 0 ? turned.x() : turned.y()) / 120.0;
    move({m_view.from - 0.1 * turns * width, m_view.to - 0.1 * turns * width}, true);
  } else if (turned.y() != 0) {
    const double at = timeAt(event->position().x()), factor = std::pow(0.8, turned.y() / 120.0);
    move({at - (at - m_view.from) * factor, at + (m_view.to - at) * factor}, true);
  }
  event->accept();
}

void TimelineChart::mousePressEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || !m_timeline || m_timeline->empty()) return;
  m_pressed = event->position();
  m_before = m_view;
  m_moved = false;
  m_drag = (event->modifiers() & Qt::ShiftModifier) ? Drag::Range : Drag::Pan;
}

void TimelineChart::mouseMoveEvent(QMouseEvent* event) {
  if (m_drag == Drag::None) return;
  m_moved = m_moved || (event->position() - m_pressed).manhattanLength() >= QApplication::startDragDistance();
  if (!m_moved) return;
  if (m_drag == Drag::Range) {
    const double a = timeAt(m_pressed.x()), b = timeAt(event->position().x());
    return setRange(View{std::min(a, b), std::max(a, b)});
  }
  viewport()->setCursor(Qt::ClosedHandCursor);
  const double by = (m_pressed.x() - event->position().x()) / geometry(viewport()->size(), true).width * (m_before.to - m_before.from);
  move({m_before.from + by, m_before.to + by}, false);
}

void TimelineChart::mouseReleaseEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton || m_drag == Drag::None) return;
  const Drag drag = m_drag;
  m_drag = Drag::None;
  viewport()->unsetCursor();
  if (m_moved) {
    if (drag == Drag::Pan && m_before.from != m_view.from) rememberView(m_before);
    return;
  }
  if (const int row = rowAt(event->position().y()); row >= 0) setRow(row);
  select(spanAt(event->position()));
  emit selectionChanged();
}

void TimelineChart::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() != Qt::LeftButton) return;
  if (const auto place = spanAt(event->position())) {
    select(place);
    showSelected();
  } else {
    showAll();
  }
}

/// The chosen span fills a third of the view.
void TimelineChart::showSelected() {
  if (!m_selected) return;
  const TimelineSpans& spans = m_timeline->rows[m_selected->first].spans;
  const double duration = std::max(20.0, static_cast<double>(spans.duration(m_selected->second)));
  const auto start = static_cast<double>(spans.start(m_selected->second));
  move({start - duration, start + 2.0 * duration}, true);
}

/// To the next span of the row, or the one before; from nowhere to the first in view.
void TimelineChart::step(int by) {
  if (m_row < 0 || !m_timeline) return;
  const auto row = static_cast<std::size_t>(m_row);
  const TimelineSpans& spans = m_timeline->rows[row].spans;
  std::size_t span = std::min(spans.firstFrom(m_view.from), spans.size() - 1);
  if (m_selected && m_selected->first == row) {
    if ((by < 0 && m_selected->second == 0) || (by > 0 && m_selected->second + 1 >= spans.size())) return;
    span = by < 0 ? m_selected->second - 1 : m_selected->second + 1;
  }
  reveal({row, span});
  emit selectionChanged();
}

void TimelineChart::keyPressEvent(QKeyEvent* event) {
  constexpr double page = 0.15;
  const double width = m_view.to - m_view.from;
  const auto pan = [&](double share) { move({m_view.from + share * width, m_view.to + share * width}, true); };
  const auto scale = [&](double factor) { move({m_view.from + 0.5 * width * (1.0 - factor), m_view.to - 0.5 * width * (1.0 - factor)}, true); };
  if (event->matches(QKeySequence::Undo)) return undoZoom();
  if (event->matches(QKeySequence::Copy)) return copyImage();
  if (event->matches(QKeySequence::Find)) {
    emit searchWanted();
    return;
  }
  switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal: return scale(0.8);
    case Qt::Key_Minus: return scale(1.25);
    case Qt::Key_Left: return pan(-page);
    case Qt::Key_Right: return pan(page);
    case Qt::Key_Up: return setRow(std::max(0, m_row - 1));
    case Qt::Key_Down: return setRow(m_row + 1);
    case Qt::Key_Comma: return step(-1);
    case Qt::Key_Period: return step(1);
    case Qt::Key_Return:
    case Qt::Key_Enter: return showSelected();
    case Qt::Key_Home: return showAll();
    case Qt::Key_Escape:
      setRange(std::nullopt);
      select(std::nullopt);
      emit selectionChanged();
      return;
    default: break;
  }
  QAbstractScrollArea::keyPressEvent(event);
}

void TimelineChart::contextMenuEvent(QContextMenuEvent* event) {
  QMenu menu(this);
  QAction* const undo = menu.addAction(tr("Undo zoom"), this, &TimelineChart::undoZoom);
  undo->setShortcut(QKeySequence::Undo);
  undo->setEnabled(zoomed());
  menu.addAction(tr("Show everything"), this, &TimelineChart::showAll)->setEnabled(zoomed());
  menu.addAction(tr("Show the chosen span"), this, &TimelineChart::showSelected)->setEnabled(m_selected.has_value());
  menu.addAction(tr("Sum up what is in view"), this, [this] { setRange(m_view); });
  menu.addAction(tr("Let go of the range"), this, [this] { setRange(std::nullopt); })->setEnabled(m_range.has_value());
  menu.addSeparator();
  menu.addAction(tr("Copy picture"), this, &TimelineChart::copyImage)->setShortcut(QKeySequence::Copy);
  menu.addAction(tr("Copy data (CSV)"), this, &TimelineChart::copyData);
  menu.addAction(tr("Save as…"), this, &TimelineChart::askWhereAndSave);
  menu.exec(event->globalPos());
}

void TimelineChart::askWhereAndSave() {
  const QString name = QFileDialog::getSaveFileName(this, tr("Save chart"), (m_name.isEmpty() ? QStringLiteral("timeline") : m_name) + QStringLiteral(".png"), pictureForms());
  QString reason;
  if (!name.isEmpty() && !save(name, &reason)) emit failed(reason);
}

}  // namespace ulpscope::gui
