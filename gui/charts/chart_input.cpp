// What a person does with a chart: wheel, mouse, keys, the menu; copying and saving.
#include <QApplication>
#include <QClipboard>
#include <QFileDialog>
#include <QMenu>
#include <QMimeData>
#include <QToolTip>
#include <cmath>

#include "gui/charts/chart.h"
#include "gui/charts/save_picture.h"
#include "gui/models/text.h"
#include "reports/export/numbers.h"

namespace ulpscope::gui {

void Chart::wheelEvent(QWheelEvent* event) {
  const QPointF at = event->position();
  const double turns = event->angleDelta().y() / 120.0;
  // While something is dragged the view is the hand's.
  if (turns == 0.0 || event->buttons() != Qt::NoButton || !axisRect()->rect().contains(at.toPoint())) return event->ignore();
  change([&] {
    QCPAxis* const axis = (event->modifiers() & Qt::ControlModifier) ? yAxis : xAxis;
    axis->scaleRange(std::pow(0.85, turns), axis->pixelToCoord(axis == xAxis ? at.x() : at.y()));
  });
  event->accept();
}

void Chart::mousePressEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) {
    m_pressed = event->position();
    m_beforeDrag = view();
    setSelectionRectMode((event->modifiers() & Qt::ShiftModifier) ? QCP::srmZoom : QCP::srmNone);
  }
  QCustomPlot::mousePressEvent(event);
}

void Chart::mouseMoveEvent(QMouseEvent* event) {
  QCustomPlot::mouseMoveEvent(event);
  if (event->buttons() != Qt::NoButton) return;
  const Hit found = hit(event->position());
  if (found.text.isEmpty()) QToolTip::hideText();
  else QToolTip::showText(event->globalPosition().toPoint(), found.text, this);
}

void Chart::mouseReleaseEvent(QMouseEvent* event) {
  QCustomPlot::mouseReleaseEvent(event);
  if (event->button() != Qt::LeftButton || !m_beforeDrag) return;  // the second half of a double click has nothing before it
  const View before = *m_beforeDrag;
  m_beforeDrag.reset();
  const bool moved = (event->position() - m_pressed).manhattanLength() >= QApplication::startDragDistance();
  if (moved) return remember(before);
  if (!(before == view())) {  // a tremble is no drag
    xAxis->setRange(before.x);
    yAxis->setRange(before.y);
    replot(rpQueuedReplot);
  }
  const Hit found = hit(event->position());
  if (found.mark) emit markClicked(found.name, found.x);
  else if (!found.name.isEmpty()) emit pointClicked(found.x);
}

void Chart::mouseDoubleClickEvent(QMouseEvent* event) {
  if (event->button() == Qt::LeftButton) showAll();
}

void Chart::keyPressEvent(QKeyEvent* event) {
  const double page = 0.15;
  const auto pan = [&](QCPAxis* axis, double share) { change([&] { axis->moveRange(share * axis->range().size()); }); };
  if (m_beforeDrag) return event->ignore();
  if (event->matches(QKeySequence::Undo)) return undoZoom();
  if (event->matches(QKeySequence::Copy)) return copyImage();
  switch (event->key()) {
    case Qt::Key_Plus:
    case Qt::Key_Equal: return scaleView(0.8, Qt::Horizontal);
    case Qt::Key_Minus: return scaleView(1.25, Qt::Horizontal);
    case Qt::Key_Left: return pan(xAxis, -page);
    case Qt::Key_Right: return pan(xAxis, page);
    case Qt::Key_Up:
      if (yAxis->scaleType() == QCPAxis::stLinear) return pan(yAxis, page);
      break;
    case Qt::Key_Down:
      if (yAxis->scaleType() == QCPAxis::stLinear) return pan(yAxis, -page);
      break;
    case Qt::Key_Home: return showAll();
    default: break;
  }
  QCustomPlot::keyPressEvent(event);
}

void Chart::contextMenuEvent(QContextMenuEvent* event) {
  QMenu menu(this);
  QAction* const undo = menu.addAction(tr("Undo zoom"), this, &Chart::undoZoom);
  undo->setShortcut(QKeySequence::Undo);
  undo->setEnabled(zoomed());
  menu.addAction(tr("Show everything"), this, &Chart::showAll)->setEnabled(zoomed());
  menu.addSeparator();
  menu.addAction(tr("Copy picture"), this, &Chart::copyImage)->setShortcut(QKeySequence::Copy);
  menu.addAction(tr("Copy data (CSV)"), this, &Chart::copyData);
  menu.addAction(tr("Save as…"), this, &Chart::askWhereAndSave);
  menu.exec(event->globalPos());
}

void Chart::copyImage() { QApplication::clipboard()->setPixmap(toPixmap(0, 0, devicePixelRatioF())); }

void Chart::copyData() { QApplication::clipboard()->setText(withoutMarks(csv())); }

QString Chart::csv() const {
  const auto exact = [](double value, const ChartAxis& axis) { return QString::fromStdString(reports::exact(value, axis.style)); };
  QString text = QStringLiteral("line,%1,%2,provenance\n").arg(csvField(m_x.label), csvField(m_y.label));
  for (const ChartLine& line : m_content.lines) {
    for (std::size_t i = 0; i < line.x.size(); ++i)
      text += QStringLiteral("%1,%2,%3,%4\n").arg(csvField(line.name), exact(line.x[i], m_x), exact(line.y[i], m_y), csvField(line.provenance));
  }
  for (const ChartBar& bar : m_content.bars)  // a name, where it is, how much it is
    text += QStringLiteral("%1,%2,%3,%4\n").arg(csvField(bar.name), exact(0.5 * (bar.left + bar.right), m_x), exact(bar.high - bar.low, m_y), csvField(bar.toolTip.simplified()));
  return text;
}

bool Chart::save(const QString& fileName, QString* reason) {
  const auto paint = [this](QPaintDevice& device) {
    QCPPainter painter(&device);
    painter.setMode(QCPPainter::pmVectorized);
    painter.setMode(QCPPainter::pmNoCaching);
    toPainter(&painter, width(), height());
  };
  return savePicture({size(), paint, [this] { return csv(); }}, fileName, reason);
}

void Chart::askWhereAndSave() {
  const QString name = QFileDialog::getSaveFileName(this, tr("Save chart"), (m_name.isEmpty() ? QStringLiteral("chart") : m_name) + QStringLiteral(".png"), pictureForms());
  QString reason;
  if (!name.isEmpty() && !save(name, &reason)) emit failed(reason);
}

void Chart::resizeEvent(QResizeEvent* event) {
  fitTicks();
  QCustomPlot::resizeEvent(event);
}

void Chart::changeEvent(QEvent* event) {
  QCustomPlot::changeEvent(event);
  if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) applyPalette();
}

}  // namespace ulpscope::gui
