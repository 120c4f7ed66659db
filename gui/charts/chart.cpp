#include "gui/charts/chart.h"

#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "gui/charts/axis_ticker.h"
#include "gui/models/text.h"

namespace ulpscope::gui {
namespace {

QColor blend(const QColor& a, const QColor& b, double share) {
  const auto mix = [share](int from, int to) { return static_cast<int>(std::lround(from + (to - from) * share)); };
  return {mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue())};
}

QVector<double> vector(const std::vector<double>& values) { return {values.begin(), values.end()}; }

constexpr double markHeight = 0.045;  // of the chart, for each row of marks

}  // namespace

Chart::Chart(QWidget* parent) : QCustomPlot(parent) {
  setFocusPolicy(Qt::WheelFocus);
  setMinimumSize(170, 150);
  setMouseTracking(true);
  setInteractions(QCP::iRangeDrag);
  setNoAntialiasingOnDrag(true);
  m_marks = axisRect()->addAxis(QCPAxis::atRight);
  m_marks->setRange(0.0, 1.0);
  m_marks->setVisible(false);
  axisRect()->setRangeDragAxes(xAxis, yAxis);
  xAxis2->setVisible(true);
  yAxis2->setVisible(true);
  for (QCPAxis* axis : {xAxis2, yAxis2}) {
    axis->setTicks(false);
    axis->setTickLabels(false);
  }
  applyPalette();
}

void Chart::setAxes(const ChartAxis& x, const ChartAxis& y) {
  m_x = x;
  m_y = y;
  for (auto [axis, of] : {std::pair{xAxis, &x}, std::pair{yAxis, &y}}) {
    axis->setLabel(of->label);
    const bool log = of->scale != ChartAxis::Scale::Linear;
    axis->setScaleType(log ? QCPAxis::stLogarithmic : QCPAxis::stLinear);
    axis->setTicker(of->scale == ChartAxis::Scale::Log2 ? makeLog2Ticker() : log ? makeLog10Ticker() : makeTicker(of->style));
  }
}

/// As many ticks as there is room for.
void Chart::fitTicks() {
  xAxis->ticker()->setTickCount(std::clamp(width() / 90, 2, 6));
  yAxis->ticker()->setTickCount(std::clamp((height() - 60) / 32, 2, 6));
}

void Chart::setContent(ChartContent content) {
  m_content = std::move(content);
  fitTicks();
  draw();
}

void Chart::draw() {
  clearGraphs();
  clearItems();
  for (const ChartBand& band : m_content.bands) {
    QCPGraph* const low = addGraph();
    QCPGraph* const high = addGraph();
    low->setData(vector(band.x), vector(band.low), true);
    high->setData(vector(band.x), vector(band.high), true);
    for (QCPGraph* graph : {low, high}) graph->setPen(Qt::NoPen);
    QColor fill = band.colour;
    fill.setAlpha(60);
    high->setBrush(fill);
    high->setChannelFillGraph(low);
  }
  for (const ChartLine& line : m_content.lines) {
    QCPGraph* const graph = addGraph();
    graph->setName(line.name);
    graph->setData(vector(line.x), vector(line.y), true);
    graph->setPen(QPen(line.colour, line.width, line.style));
    if (line.steps) graph->setLineStyle(QCPGraph::lsStepLeft);
    const auto finite = std::count_if(line.y.begin(), line.y.end(), [](double y) { return std::isfinite(y); });
    if (line.dots || finite == 1) graph->setScatterStyle({QCPScatterStyle::ssDisc, 5.0});  // one point makes no line
  }
  for (const ChartMarks& marks : m_content.marks) {
    QCPGraph* const graph = addGraph(xAxis, m_marks);
    graph->setName(marks.name);
    graph->setData(vector(marks.x), QVector<double>(static_cast<qsizetype>(marks.x.size()), markHeight * (0.6 + marks.row)), true);
    graph->setLineStyle(QCPGraph::lsNone);
    graph->setScatterStyle({QCPScatterStyle::ssTriangle, marks.colour, marks.colour, 7.0});
  }
  drawBars();
  drawGaps();
  drawNothing();
  if (!zoomed()) fit();
  replot(rpQueuedReplot);
}

void Chart::drawBars() {
  for (const ChartBar& bar : m_content.bars) {
    auto* const rect = new QCPItemRect(this);
    rect->setPen(bar.hollow ? QPen(bar.colour, 1.4, Qt::DashLine) : QPen(palette().color(QPalette::Base), 0.5));
    rect->setBrush(bar.hollow ? QBrush(Qt::NoBrush) : QBrush(bar.colour));
    rect->topLeft->setCoords(bar.left, bar.high);
    rect->bottomRight->setCoords(bar.right, bar.low);
  }
}

void Chart::drawGaps() {
  for (const ChartGap& gap : m_content.gaps) {
    auto* const rect = new QCPItemRect(this);
    QColor fill = gap.colour;
    fill.setAlpha(46);
    rect->setPen(Qt::NoPen);
    rect->setBrush(fill);
    for (QCPItemPosition* corner : {rect->topLeft, rect->bottomRight}) {
      corner->setTypeX(QCPItemPosition::ptPlotCoords);
      corner->setTypeY(QCPItemPosition::ptAxisRectRatio);
      corner->setAxisRect(axisRect());
    }
    rect->topLeft->setCoords(gap.first, 0.0);
    rect->bottomRight->setCoords(gap.last, 1.0);
  }
}

/// An empty chart says why it is empty.
void Chart::drawNothing() {
  if (!m_content.bars.empty()) return;
  for (const ChartLine& line : m_content.lines) {
    if (std::any_of(line.y.begin(), line.y.end(), [](double y) { return std::isfinite(y); })) return;
  }
  auto* const text = new QCPItemText(this);
  text->position->setType(QCPItemPosition::ptAxisRectRatio);
  text->position->setAxisRect(axisRect());
  text->position->setCoords(0.5, 0.5);
  text->setColor(palette().color(QPalette::Text));
  text->setFont(font());
  QStringList lines;
  for (const ChartGap& gap : m_content.gaps) {
    if (lines.size() < 4) lines << gap.text;
  }
  text->setText(lines.isEmpty() ? tr("nothing on record") : lines.join(QLatin1Char('\n')));
}

void Chart::fit() {
  QCPRange x, y;
  bool any_x = false, any_y = false;
  const auto extend = [](QCPRange& range, bool& any, double value) {
    if (!std::isfinite(value)) return;
    if (!any) range = QCPRange(value, value);
    else range.expand(value);
    any = true;
  };
  const bool log_y = m_y.scale != ChartAxis::Scale::Linear;
  for (const ChartLine& line : m_content.lines) {
    for (const double value : line.x) extend(x, any_x, value);
    for (const double value : line.y)
      if (!log_y || value > 0.0) extend(y, any_y, value);
  }
  for (const ChartBand& band : m_content.bands) {
    for (const std::vector<double>* edge : {&band.low, &band.high})
      for (const double value : *edge)
        if (!log_y || value > 0.0) extend(y, any_y, value);
  }
  for (const ChartBar& bar : m_content.bars) {
    for (const double value : {bar.left, bar.right}) extend(x, any_x, value);
    for (const double value : {bar.low, bar.high})
      if (!log_y || value > 0.0) extend(y, any_y, value);
  }
  for (const ChartGap& gap : m_content.gaps) {
    extend(x, any_x, gap.first);
    extend(x, any_x, gap.last);
  }
  for (const ChartMarks& marks : m_content.marks)
    for (const double value : marks.x) extend(x, any_x, value);
  const auto widened = [](QCPRange range, bool log) {
    if (log) {
      const double factor = range.upper > range.lower ? std::pow(range.upper / range.lower, 0.06) : 2.0;
      return QCPRange(range.lower / factor, range.upper * factor);
    }
    const double margin = range.size() > 0 ? 0.05 * range.size() : std::max(0.5, 0.05 * std::fabs(range.upper));
    return QCPRange(range.lower - margin, range.upper + margin);
  };
  if (any_x) {
    const double margin = x.size() > 0 ? 0.01 * x.size() : 0.5;
    xAxis->setRange(m_x.scale == ChartAxis::Scale::Linear ? QCPRange(x.lower - margin, x.upper + margin) : widened(x, true));
  }
  // A line that moves by less than rounding shows is flat; nothing at all shows no numbers.
  yAxis->setTickLabels(any_y);
  if (any_y) yAxis->setRange(widened(y, log_y));
}

void Chart::remember() {
  constexpr std::size_t most = 100;
  if (m_history.size() == most) m_history.erase(m_history.begin() + 1);  // the first shows everything
  m_history.push_back({xAxis->range(), yAxis->range()});
}

void Chart::showX(double first, double last) {
  if (!(first < last)) return;
  m_history.clear();
  fit();
  remember();
  xAxis->setRange(first, last);
  replot(rpQueuedReplot);
}

void Chart::showAll() {
  m_history.clear();
  fit();
  replot(rpQueuedReplot);
}

void Chart::undoZoom() {
  if (m_history.empty()) return;
  const View before = m_history.back();
  m_history.pop_back();
  xAxis->setRange(before.x);
  yAxis->setRange(before.y);
  if (m_history.empty()) fit();
  replot(rpQueuedReplot);
}

void Chart::scaleView(double factor, Qt::Orientation direction) {
  remember();
  QCPAxis* const axis = direction == Qt::Horizontal ? xAxis : yAxis;
  axis->scaleRange(factor, axis->scaleType() == QCPAxis::stLogarithmic ? std::sqrt(axis->range().lower * axis->range().upper) : axis->range().center());
  replot(rpQueuedReplot);
}

QString Chart::valueText(double value, const ChartAxis& axis) const { return gui::valueText(value, axis.style); }

Chart::Hit Chart::hit(const QPointF& at) const {
  constexpr double reach = 14.0;  // pixels
  Hit best;
  double best_distance = reach;
  const auto consider = [&](double x, double pixel_y, auto&& make) {
    const double distance = std::hypot(xAxis->coordToPixel(x) - at.x(), pixel_y - at.y());
    if (distance >= best_distance) return;
    best_distance = distance;
    best = make();
  };
  for (const ChartMarks& marks : m_content.marks) {
    for (std::size_t i = 0; i < marks.x.size(); ++i) {
      consider(marks.x[i], m_marks->coordToPixel(markHeight * (0.6 + marks.row)), [&] {
        const QString text = i < marks.toolTips.size() ? marks.toolTips[i] : QStringLiteral("%1\n%2: %3").arg(marks.name, m_x.label, valueText(marks.x[i], m_x));
        return Hit{text, marks.x[i], true, marks.name};
      });
    }
  }
  for (const ChartLine& line : m_content.lines) {
    const double from = xAxis->pixelToCoord(at.x() - reach), to = xAxis->pixelToCoord(at.x() + reach);
    const auto first = std::lower_bound(line.x.begin(), line.x.end(), std::min(from, to)) - line.x.begin();
    for (auto i = static_cast<std::size_t>(first); i < line.x.size() && line.x[i] <= std::max(from, to); ++i) {
      if (!std::isfinite(line.y[i])) continue;
      consider(line.x[i], yAxis->coordToPixel(line.y[i]), [&] {
        QString text = QStringLiteral("%1\n%2: %3\n%4: %5").arg(line.name, m_x.label, valueText(line.x[i], m_x), m_y.label, valueText(line.y[i], m_y));
        if (!line.provenance.isEmpty()) text += QStringLiteral(" [%1]").arg(line.provenance);
        return Hit{text, line.x[i], false, line.name};
      });
    }
  }
  if (!best.text.isEmpty() || !axisRect()->rect().contains(at.toPoint())) return best;
  const double x = xAxis->pixelToCoord(at.x()), y = yAxis->pixelToCoord(at.y());
  for (const ChartBar& bar : m_content.bars) {
    if (bar.left <= x && x <= bar.right && bar.low <= y && y <= bar.high) return {bar.toolTip, 0.5 * (bar.left + bar.right), false, bar.name};
  }
  for (const ChartGap& gap : m_content.gaps) {
    if (gap.first <= x && x <= gap.last) return {gap.text, x, false, {}};
  }
  return best;
}

void Chart::applyPalette() {
  const QPalette colours = palette();
  const QColor base = colours.color(QPalette::Base), text = colours.color(QPalette::Text);
  setBackground(base);
  const QColor quiet = blend(base, text, 0.65), lines = blend(base, text, 0.35), grid = blend(base, text, 0.12);
  for (QCPAxis* axis : {xAxis, yAxis, xAxis2, yAxis2}) {
    axis->setBasePen(QPen(lines));
    axis->setTickPen(QPen(lines));
    axis->setSubTickPen(QPen(grid));
    axis->setTickLabelColor(quiet);
    axis->setLabelColor(text);
    axis->setTickLabelFont(font());
    axis->setLabelFont(font());
    axis->setSelectableParts(QCPAxis::spNone);
    axis->grid()->setPen(QPen(grid, 1, Qt::SolidLine));
    axis->grid()->setZeroLinePen(QPen(grid, 1, Qt::SolidLine));
  }
  replot(rpQueuedReplot);
}

}  // namespace ulpscope::gui
