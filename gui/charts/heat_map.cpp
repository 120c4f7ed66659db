#include "gui/charts/heat_map.h"

#include <QApplication>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <limits>

#include "gui/charts/save_picture.h"

namespace ulpscope::gui {
namespace {

/// A label for each place 0, 1, 2 …, as many of them as there is room for.
class PlaceTicker final : public QCPAxisTicker {
 public:
  PlaceTicker(QStringList labels, const QCPAxis* axis, double pixels) : m_labels(std::move(labels)), m_axis(axis), m_pixels(pixels) {}

 protected:
  double getTickStep(const QCPRange& range) override {
    const QCPAxisRect* const rect = m_axis->axisRect();
    const double room = std::max(1.0, (m_axis->orientation() == Qt::Horizontal ? rect->width() : rect->height()) / m_pixels);
    return std::max(1.0, std::ceil(range.size() / room));
  }
  int getSubTickCount(double) override { return 0; }
  QString getTickLabel(double tick, const QLocale&, QChar, int) override {
    const auto place = std::llround(tick);
    return place >= 0 && place < m_labels.size() ? m_labels[static_cast<qsizetype>(place)] : QString();
  }

 private:
  QStringList m_labels;
  const QCPAxis* m_axis;
  double m_pixels;  // that a label takes
};

}  // namespace

HeatMap::HeatMap(QWidget* parent) : Chart(parent), m_map(new QCPColorMap(xAxis, yAxis)) {
  m_map->setInterpolate(false);
  m_map->setTightBoundary(false);
  m_map->setDataRange(QCPRange(0.0, 1.0));
  yAxis->setRangeReversed(true);
  paintColours();
}

void HeatMap::paintColours() {
  // From the ground to orange and to red: lightness differs too, for who does not see the hues.
  const bool dark = palette().color(QPalette::Base).lightness() < 128;
  QCPColorGradient colours;
  colours.setColorStopAt(0.0, QColor::fromRgb(dark ? 0xff20415c : 0xffd6e6f4));
  colours.setColorStopAt(0.5, QColor::fromRgb(dark ? 0xffb57d1a : 0xfff0b54a));
  colours.setColorStopAt(1.0, QColor::fromRgb(dark ? 0xffff5a4a : 0xffa11212));
  colours.setNanHandling(QCPColorGradient::nhTransparent);
  m_map->setGradient(colours);
}

void HeatMap::setCells(const QString& columnLabel, HeatMapContent content) {
  m_columnLabel = columnLabel;
  m_cells = std::move(content);
  m_row = m_column = -1;
  if (m_at && (m_at->first >= m_cells.rows.size() || m_at->second >= m_cells.columns.size())) m_at.reset();
  drawCells();
}

void HeatMap::select(int row, int column) {
  if (row == m_row && column == m_column) return;
  m_row = row;
  m_column = column;
  if (row >= 0 && column >= 0) m_at = {row, column};
  drawFrames();
}

void HeatMap::drawCells() {
  const auto rows = static_cast<int>(m_cells.rows.size()), columns = static_cast<int>(m_cells.columns.size());
  setAxes({.label = m_columnLabel, .style = reports::FigureStyle::count}, {});
  xAxis->setTicker(QSharedPointer<PlaceTicker>::create(m_cells.columns, xAxis, 52.0));
  yAxis->setTicker(QSharedPointer<PlaceTicker>::create(m_cells.rows, yAxis, fontMetrics().height() + 2.0));
  m_map->setVisible(rows > 0 && columns > 0);
  ChartContent frame;  // not seen: gives the view its extent
  if (rows > 0 && columns > 0) frame.lines.push_back({.x = {-0.5, columns - 0.5}, .y = {-0.5, rows - 0.5}, .style = Qt::NoPen});
  setContent(std::move(frame));
  if (rows == 0 || columns == 0) return;
  // A map of one row or column would have no extent there: it is drawn as two halves.
  const int nx = std::max(2, columns), ny = std::max(2, rows);
  m_map->data()->setSize(nx, ny);
  m_map->data()->setRange(columns == 1 ? QCPRange(-0.25, 0.25) : QCPRange(0.0, columns - 1.0), rows == 1 ? QCPRange(-0.25, 0.25) : QCPRange(0.0, rows - 1.0));
  for (int y = 0; y < ny; ++y) {
    for (int x = 0; x < nx; ++x) m_map->data()->setCell(x, y, m_cells.gravity[static_cast<std::size_t>(std::min(y, rows - 1))][static_cast<std::size_t>(std::min(x, columns - 1))]);
  }
  if (!m_cells.marks.empty()) {
    QCPGraph* const crosses = addGraph();
    for (const auto& [row, column] : m_cells.marks) crosses->addData(column, row);
    crosses->setLineStyle(QCPGraph::lsNone);
    crosses->setScatterStyle({QCPScatterStyle::ssCross, QPen(palette().color(QPalette::Text), 1.6), Qt::NoBrush, 7.0});
    crosses->setAdaptiveSampling(false);
  }
  drawFrames();
}

/// Around the selected cell, and dashed around the one where the keyboard is.
void HeatMap::drawFrames() {
  const auto frame = [&](QPointer<QCPItemRect>& rect, int row, int column, Qt::PenStyle style) {
    if (rect) removeItem(rect);
    if (row < 0 || row >= m_cells.rows.size() || column < 0 || column >= m_cells.columns.size()) return;
    rect = new QCPItemRect(this);
    rect->setPen(QPen(palette().color(QPalette::Highlight), 2.4, style));
    rect->topLeft->setCoords(column - 0.5, row - 0.5);
    rect->bottomRight->setCoords(column + 0.5, row + 0.5);
  };
  frame(m_selected, m_row, m_column, Qt::SolidLine);
  const bool shown = hasFocus() && m_at && *m_at != std::pair(m_row, m_column);
  frame(m_cursor, shown ? m_at->first : -1, shown ? m_at->second : -1, Qt::DotLine);
  replot(rpQueuedReplot);
}

QString HeatMap::csv() const {
  QString text = csvField(m_columnLabel);
  for (const QString& column : m_cells.columns) text += QLatin1Char(',') + csvField(column);
  for (qsizetype row = 0; row < m_cells.rows.size(); ++row) {
    text += QLatin1Char('\n') + csvField(m_cells.rows[row]);
    for (const QString& value : m_cells.values[static_cast<std::size_t>(row)]) text += QLatin1Char(',') + csvField(value);
  }
  return text + QLatin1Char('\n');
}

std::optional<std::pair<int, int>> HeatMap::cellAt(const QPointF& at) const {
  if (!axisRect()->rect().contains(at.toPoint())) return std::nullopt;
  const auto column = std::lround(xAxis->pixelToCoord(at.x())), row = std::lround(yAxis->pixelToCoord(at.y()));
  if (row < 0 || row >= m_cells.rows.size() || column < 0 || column >= m_cells.columns.size()) return std::nullopt;
  return std::pair{static_cast<int>(row), static_cast<int>(column)};
}

void HeatMap::changeEvent(QEvent* event) {
  Chart::changeEvent(event);
  if (event->type() != QEvent::PaletteChange) return;
  paintColours();
  drawCells();
}

void HeatMap::focusInEvent(QFocusEvent* event) {
  Chart::focusInEvent(event);
  drawFrames();
}

void HeatMap::focusOutEvent(QFocusEvent* event) {
  Chart::focusOutEvent(event);
  drawFrames();
}

/// Into sight, and told as to the mouse.
void HeatMap::goTo(int row, int column) {
  m_at = {std::clamp(row, 0, static_cast<int>(m_cells.rows.size()) - 1), std::clamp(column, 0, static_cast<int>(m_cells.columns.size()) - 1)};
  const auto reach = [](QCPAxis* axis, double place) {
    const QCPRange range = axis->range();
    if (place - 0.5 < range.lower) axis->moveRange(place - 0.5 - range.lower);
    else if (place + 0.5 > range.upper) axis->moveRange(place + 0.5 - range.upper);
  };
  if (zoomed()) {
    change([&] {
      reach(xAxis, m_at->second);
      reach(yAxis, m_at->first);
    });
  }
  drawFrames();
  const QString text = m_cells.toolTip ? m_cells.toolTip(m_at->first, m_at->second) : QString();
  setAccessibleDescription(text);
  const QPoint place(static_cast<int>(xAxis->coordToPixel(m_at->second)), static_cast<int>(yAxis->coordToPixel(m_at->first)));
  if (!text.isEmpty()) QToolTip::showText(mapToGlobal(place), text, this);
}

void HeatMap::keyPressEvent(QKeyEvent* event) {
  if (m_cells.rows.isEmpty() || m_cells.columns.isEmpty() || (event->modifiers() & (Qt::ControlModifier | Qt::AltModifier))) return Chart::keyPressEvent(event);
  const bool begun = m_at.has_value();
  const auto [row, column] = m_at.value_or(std::pair(0, 0));
  switch (event->key()) {
    case Qt::Key_Left: return goTo(row, begun ? column - 1 : column);
    case Qt::Key_Right: return goTo(row, begun ? column + 1 : column);
    case Qt::Key_Up: return goTo(begun ? row - 1 : row, column);
    case Qt::Key_Down: return goTo(begun ? row + 1 : row, column);
    case Qt::Key_Home: return goTo(row, 0);
    case Qt::Key_End: return goTo(row, static_cast<int>(m_cells.columns.size()) - 1);
    case Qt::Key_Return:
    case Qt::Key_Enter:
    case Qt::Key_Space:
      if (begun) emit cellClicked(row, column);
      else goTo(row, column);
      return;
    default: return Chart::keyPressEvent(event);
  }
}

void HeatMap::mousePressEvent(QMouseEvent* event) {
  m_down = event->position();
  Chart::mousePressEvent(event);
}

void HeatMap::mouseMoveEvent(QMouseEvent* event) {
  QCustomPlot::mouseMoveEvent(event);
  if (event->buttons() != Qt::NoButton) return;
  const auto cell = cellAt(event->position());
  if (cell && m_cells.toolTip) QToolTip::showText(event->globalPosition().toPoint(), m_cells.toolTip(cell->first, cell->second), this);
  else QToolTip::hideText();
}

void HeatMap::mouseReleaseEvent(QMouseEvent* event) {
  Chart::mouseReleaseEvent(event);
  if (event->button() != Qt::LeftButton || (event->position() - m_down).manhattanLength() >= QApplication::startDragDistance()) return;
  if (const auto cell = cellAt(event->position())) emit cellClicked(cell->first, cell->second);
}

}  // namespace ulpscope::gui
