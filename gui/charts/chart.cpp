#include "gui/charts/chart.h"

#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>

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

/// All gaps of a line: a strip from the lower to the upper edge for each that can be told from its neighbour.
class GapsItem final : public QCPAbstractItem {
 public:
  GapsItem(QCustomPlot* chart, const ChartGaps& gaps) : QCPAbstractItem(chart), m_gaps(gaps) { setSelectable(false); }
  double selectTest(const QPointF&, bool, QVariant*) const override { return -1.0; }

 protected:
  void draw(QCPPainter* painter) override {
    const QRectF area = parentPlot()->axisRect()->rect();
    const QCPAxis* const axis = parentPlot()->xAxis;
    QColor fill = m_gaps.colour;
    fill.setAlpha(46);
    std::optional<QRectF> strip;
    const auto flush = [&] {
      if (strip) painter->fillRect(strip->intersected(area), fill);
    };
    for (const auto& [first, last] : m_gaps.at) {
      const double left = axis->coordToPixel(first), right = axis->coordToPixel(last);
      if (right < area.left() || left > area.right()) continue;
      if (strip && left <= strip->right() + 0.5) {
        strip->setRight(std::max(strip->right(), right));
        continue;
      }
      flush();
      strip = QRectF(left, area.top(), std::max(1.0, right - left), area.height());
    }
    flush();
  }

 private:
  ChartGaps m_gaps;
};

}  // namespace

Chart::Chart(QWidget* parent) : QCustomPlot(parent) {
  setFocusPolicy(Qt::WheelFocus);
  setMinimumSize(170, 150);
  setLayoutDirection(Qt::LeftToRight);  // steps and exponents rise to the right in every language
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
  if (m_x.scale != x.scale || m_y.scale != y.scale) m_history.clear();  // a view of another scale may hold what this one has not
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
    else drawLonePoints(line);
  }
  for (const ChartMarks& marks : m_content.marks) {
    QCPGraph* const graph = addGraph(xAxis, m_marks);
    graph->setName(marks.name);
    graph->setData(vector(marks.x), QVector<double>(static_cast<qsizetype>(marks.x.size()), markHeight * (0.6 + marks.row)), true);
    graph->setLineStyle(QCPGraph::lsNone);
    graph->setScatterStyle({QCPScatterStyle::ssTriangle, marks.colour, marks.colour, 7.0});
  }
  drawBars();
  for (const ChartGaps& gaps : m_content.gaps) {
    if (!gaps.at.empty()) new GapsItem(this, gaps);
  }
  drawNothing();
  if (!zoomed() && !m_beforeDrag) fit();
  replot(rpQueuedReplot);
}

/// Points between two gaps make no line, either.
void Chart::drawLonePoints(const ChartLine& line) {
  const auto finite = [&](std::size_t i) { return i < line.y.size() && std::isfinite(line.y[i]); };
  QVector<double> x, y;
  for (std::size_t i = 0; i < line.x.size(); ++i) {
    if (!finite(i) || (i > 0 && finite(i - 1)) || finite(i + 1)) continue;
    x << line.x[i];
    y << line.y[i];
  }
  if (x.isEmpty()) return;
  QCPGraph* const graph = addGraph();
  graph->setName(line.name);
  graph->setData(x, y, true);
  graph->setPen(QPen(line.colour, line.width));
  graph->setLineStyle(QCPGraph::lsNone);
  graph->setScatterStyle({QCPScatterStyle::ssDisc, 5.0});
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
  for (const ChartGaps& gaps : m_content.gaps) {
    for (std::size_t i = 0; i < gaps.at.size() && lines.size() < 4; ++i) lines << gaps.toolTip(i);
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
  for (const ChartGaps& gaps : m_content.gaps) {
    if (gaps.at.empty()) continue;
    extend(x, any_x, gaps.at.front().first);
    extend(x, any_x, gaps.at.back().second);
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

/// To be undone, if anything is other than before.
void Chart::remember(const View& before) {
  constexpr std::size_t most = 100;
  if (before == view()) return;
  if (m_history.size() == most) m_history.erase(m_history.begin() + 1);  // the first shows everything
  m_history.push_back(before);
}

void Chart::change(const std::function<void()>& how) {
  const View before = view();
  how();
  remember(before);
  replot(rpQueuedReplot);
}

void Chart::showX(double first, double last) {
  if (!(first < last)) return;
  m_history.clear();
  fit();
  change([&] { xAxis->setRange(first, last); });
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
  change([&] {
    QCPAxis* const axis = direction == Qt::Horizontal ? xAxis : yAxis;
    axis->scaleRange(factor, axis->scaleType() == QCPAxis::stLogarithmic ? std::sqrt(axis->range().lower * axis->range().upper) : axis->range().center());
  });
}

QString Chart::valueText(double value, const ChartAxis& axis) const { return gui::valueText(value, axis.style); }

Chart::Hit Chart::hitOfPoints(const QPointF& at) const {
  constexpr double reach = 14.0;  // pixels
  const double from = xAxis->pixelToCoord(at.x() - reach), to = xAxis->pixelToCoord(at.x() + reach);
  Hit best;
  double best_distance = reach;
  const auto within = [&](const std::vector<double>& x, auto&& pixel_y, auto&& make) {
    const auto first = std::lower_bound(x.begin(), x.end(), std::min(from, to)) - x.begin();
    std::optional<std::size_t> nearest;
    for (auto i = static_cast<std::size_t>(first); i < x.size() && x[i] <= std::max(from, to); ++i) {
      const double distance = std::hypot(xAxis->coordToPixel(x[i]) - at.x(), pixel_y(i) - at.y());
      if (!(distance < best_distance)) continue;  // nor where it is not finite
      best_distance = distance;
      nearest = i;
    }
    if (nearest) best = make(*nearest);
  };
  for (const ChartMarks& marks : m_content.marks) {
    within(marks.x, [&](std::size_t) { return m_marks->coordToPixel(markHeight * (0.6 + marks.row)); }, [&](std::size_t i) {
      const QString text = marks.toolTip ? marks.toolTip(i) : QStringLiteral("%1\n%2: %3").arg(marks.name, m_x.label, valueText(marks.x[i], m_x));
      return Hit{text, marks.x[i], true, marks.name};
    });
  }
  for (const ChartLine& line : m_content.lines) {
    within(line.x, [&](std::size_t i) { return std::isfinite(line.y[i]) ? yAxis->coordToPixel(line.y[i]) : std::numeric_limits<double>::quiet_NaN(); }, [&](std::size_t i) {
      QString text = QStringLiteral("%1\n%2: %3\n%4: %5").arg(line.name, m_x.label, valueText(line.x[i], m_x), m_y.label, valueText(line.y[i], m_y));
      if (!line.provenance.isEmpty()) text += QStringLiteral(" [%1]").arg(line.provenance);
      return Hit{text, line.x[i], false, line.name};
    });
  }
  return best;
}

Chart::Hit Chart::hit(const QPointF& at) const {
  const Hit best = hitOfPoints(at);
  if (!best.text.isEmpty() || !axisRect()->rect().contains(at.toPoint())) return best;
  const double x = xAxis->pixelToCoord(at.x()), y = yAxis->pixelToCoord(at.y());
  for (const ChartBar& bar : m_content.bars) {
    if (bar.left <= x && x <= bar.right && bar.low <= y && y <= bar.high) return {bar.toolTip, 0.5 * (bar.left + bar.right), false, bar.name};
  }
  for (const ChartGaps& gaps : m_content.gaps) {
    const auto gap = std::lower_bound(gaps.at.begin(), gaps.at.end(), x, [](const auto& of, double place) { return of.second < place; });
    if (gap != gaps.at.end() && gap->first <= x) return {gaps.toolTip(static_cast<std::size_t>(gap - gaps.at.begin())), x, false, {}};
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
