#include "gui/widgets/table_view.h"

#include <QAbstractButton>
#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>

#include "gui/models/text.h"
#include "gui/widgets/flat_header.h"

namespace ulpscope::gui {

TableView::TableView(QWidget* parent) : QTableView(parent) {
  setAlternatingRowColors(true);
  setShowGrid(false);
  setWordWrap(false);
  setHorizontalScrollMode(ScrollPerPixel);
  setTabKeyNavigation(false);  // Tab leads out of the table
  if (auto* const corner = findChild<QAbstractButton*>()) {
    m_corner = corner;
    corner->installEventFilter(this);
  }
  setCornerButtonEnabled(false);
  setHorizontalHeader(new FlatHeader(Qt::Horizontal, this));
  setVerticalHeader(new FlatHeader(Qt::Vertical, this));
  verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
  verticalHeader()->setDefaultSectionSize(fontMetrics().height() + 8);
}

void TableView::copySelected() {
  QModelIndexList cells = selectedIndexes();
  if (cells.isEmpty()) return;
  std::sort(cells.begin(), cells.end());
  QString text;
  for (qsizetype i = 0; i < cells.size(); ++i) {
    if (i > 0) text += cells[i].row() == cells[i - 1].row() ? QLatin1Char('\t') : QLatin1Char('\n');
    text += cells[i].data().toString();
  }
  QApplication::clipboard()->setText(withoutMarks(text));
}

void TableView::copyAll() {
  const QAbstractItemModel* const of = model();
  if (of == nullptr) return;
  const bool heads = verticalHeader()->isVisible();
  QString text;
  if (heads) text += QLatin1Char('\t');
  for (int c = 0; c < of->columnCount(); ++c) {
    if (c > 0) text += QLatin1Char('\t');
    text += of->headerData(c, Qt::Horizontal).toString();
  }
  for (int r = 0; r < of->rowCount(); ++r) {
    text += QLatin1Char('\n');
    if (heads) text += of->headerData(r, Qt::Vertical).toString() + QLatin1Char('\t');
    for (int c = 0; c < of->columnCount(); ++c) {
      if (c > 0) text += QLatin1Char('\t');
      text += of->index(r, c).data().toString();
    }
  }
  QApplication::clipboard()->setText(withoutMarks(text));
}

void TableView::fitColumns(int most) {
  resizeColumnsToContents();
  for (int c = 0; c < horizontalHeader()->count(); ++c) {
    setColumnWidth(c, std::min(most, columnWidth(c) + 14));
  }
  fitHeight();
}

void TableView::setAsHighAsRows(bool on) {
  m_asHighAsRows = on;
  setVerticalScrollBarPolicy(on ? Qt::ScrollBarAlwaysOff : Qt::ScrollBarAsNeeded);
  fitHeight();
}

void TableView::fitHeight() {
  if (!m_asHighAsRows) return;
  const bool bar = horizontalHeader()->length() + verticalHeader()->width() + 2 * frameWidth() > width();
  setFixedHeight(horizontalHeader()->sizeHint().height() + verticalHeader()->length() + 2 * frameWidth() + (bar ? horizontalScrollBar()->sizeHint().height() : 0));
}

/// The corner between the headers looks as they do.
bool TableView::eventFilter(QObject* object, QEvent* event) {
  if (object != m_corner || event->type() != QEvent::Paint) return QTableView::eventFilter(object, event);
  auto* const corner = static_cast<QWidget*>(object);
  QPainter painter(corner);
  painter.fillRect(corner->rect(), palette().color(QPalette::Base));
  painter.setPen(palette().color(QPalette::Mid));
  painter.drawLine(corner->rect().bottomLeft(), corner->rect().bottomRight());
  return true;
}

void TableView::resizeEvent(QResizeEvent* event) {
  QTableView::resizeEvent(event);
  fitHeight();
}

void TableView::keyPressEvent(QKeyEvent* event) {
  if (event->matches(QKeySequence::Copy)) return copySelected();
  QTableView::keyPressEvent(event);
}

void TableView::contextMenuEvent(QContextMenuEvent* event) {
  QMenu menu(this);
  QAction* const copy = menu.addAction(tr("Copy"), this, &TableView::copySelected);
  copy->setShortcut(QKeySequence::Copy);
  copy->setEnabled(!selectedIndexes().isEmpty());
  menu.addAction(tr("Copy table"), this, &TableView::copyAll);
  menu.exec(event->globalPos());
}

void TableView::wheelEvent(QWheelEvent* event) {
  if (m_asHighAsRows) return event->ignore();  // the page scrolls
  QTableView::wheelEvent(event);
}

}  // namespace ulpscope::gui
