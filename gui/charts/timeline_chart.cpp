#include "gui/charts/timeline_chart.h"

#include <QApplication>
#include <QClipboard>
#include <QFontMetricsF>
#include <QPaintEvent>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "gui/models/text.h"
#include "gui/models/timeline_text.h"

namespace ulpscope::gui {

TimelineChart::TimelineChart(QWidget* parent) : QAbstractScrollArea(parent) {
  setFocusPolicy(Qt::WheelFocus);
  setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
  setMinimumSize(220, 120);
  viewport()->setMouseTracking(true);
  viewport()->setLayoutDirection(Qt::LeftToRight);  // time runs to the right
}

void TimelineChart::setTimeline(TimelinePointer timeline, bool keep) {
  keep = keep && m_timeline && timeline && !m_timeline->empty() && m_timeline->view == timeline->view;
  const bool zoomed = keep && !m_history.empty();
  m_timeline = std::move(timeline);
  m_search = {};
  m_node = -1;
  m_step = -1;
  if (!zoomed) {
    m_history.clear();
    m_selected.reset();
    m_range.reset();
  }
  const auto rows = m_timeline ? m_timeline->rows.size() : 0;
  if (m_selected && (m_selected->first >= rows || m_selected->second >= m_timeline->rows[m_selected->first].spans.size())) m_selected.reset();
  if (!keep || m_row >= static_cast<int>(rows)) m_row = -1;
  // Sums begin with kernels, else with what is finest.
  for (std::size_t row = 0; m_row < 0 && row < rows; ++row)
    if (m_timeline->rows[row].kind == TimelineRowKind::Kernels) m_row = static_cast<int>(row);
  if (m_row < 0 && rows > 0) m_row = static_cast<int>(rows) - 1;
  const QFontMetricsF metrics(font());
  m_headWidth = metrics.horizontalAdvance(exactTime(0)) + 16.0;
  for (std::size_t row = 0; row < rows; ++row) m_headWidth = std::max(m_headWidth, metrics.horizontalAdvance(m_timeline->rows[row].title()) + 18.0);
  m_headWidth = std::min(m_headWidth, 260.0);
  if (!zoomed) m_view = everything();
  fitScroll();
  viewport()->update();
  emit rowChanged();
  emit viewChanged();
}

void TimelineChart::setExtent(std::optional<View> extent) {
  m_extent = extent;
  if (m_history.empty()) m_view = everything();
  viewport()->update();
  emit viewChanged();
}

TimelineChart::View TimelineChart::everything() const {
  if (!m_timeline || m_timeline->empty()) return {};
  const View all = m_extent ? *m_extent : View{static_cast<double>(m_timeline->begin), static_cast<double>(m_timeline->end)};
  const double margin = std::max(0.005 * (all.to - all.from), 50.0);
  return {all.from - margin, all.to + margin};
}

/// Not finer than numbers of that size tell apart, not wider than everything, and within it.
TimelineChart::View TimelineChart::limited(View view) const {
  const double magnitude = std::max(std::fabs(view.from), std::fabs(view.to));
  const double least = std::max(20.0, 1e-11 * magnitude);
  const View all{std::min(everything().from, static_cast<double>(m_timeline->begin)), std::max(everything().to, static_cast<double>(m_timeline->end))};
  double width = std::clamp(view.to - view.from, std::min(least, all.to - all.from), all.to - all.from);
  if (!std::isfinite(width)) return all;
  double from = 0.5 * (view.from + view.to) - 0.5 * width;
  from = std::clamp(from, all.from, std::max(all.from, all.to - width));
  return {from, from + width};
}

void TimelineChart::move(View view, bool remember) {
  constexpr std::size_t most = 100;
  if (!m_timeline || m_timeline->empty()) return;
  view = limited(view);
  if (view.from == m_view.from && view.to == m_view.to) return;
  if (remember) {
    if (m_history.size() == most) m_history.erase(m_history.begin() + 1);  // the first shows everything
    m_history.push_back(m_view);
  }
  m_view = view;
  viewport()->update();
  emit viewChanged();
}

void TimelineChart::showView(const View& view) { move(view, true); }

void TimelineChart::showAll() {
  m_history.clear();
  m_view = everything();
  viewport()->update();
  emit viewChanged();
}

void TimelineChart::undoZoom() {
  if (m_history.empty()) return;
  m_view = m_history.back();
  m_history.pop_back();
  viewport()->update();
  emit viewChanged();
}

void TimelineChart::setSearch(TimelineSearch search) {
  m_search = std::move(search);
  viewport()->update();
}

void TimelineChart::setNode(std::int32_t node) {
  if (node == m_node) return;
  m_node = node;
  viewport()->update();
}

void TimelineChart::setStep(int step) {
  if (step == m_step) return;
  m_step = step;
  viewport()->update();
}

void TimelineChart::setRow(int row) {
  const int rows = m_timeline ? static_cast<int>(m_timeline->rows.size()) : 0;
  row = std::clamp(row, rows > 0 ? 0 : -1, rows - 1);
  if (row == m_row) return;
  m_row = row;
  const Geometry g = geometry(viewport()->size(), true);
  const double top = row * g.rowHeight, room = viewport()->height() - g.rulerHeight - g.rowHeight;
  if (top < g.scroll) verticalScrollBar()->setValue(static_cast<int>(top));
  else if (top > g.scroll + room) verticalScrollBar()->setValue(static_cast<int>(std::ceil(top - room)));
  viewport()->update();
  emit rowChanged();
}

void TimelineChart::select(std::optional<Place> place) {
  m_selected = place;
  if (place) setRow(static_cast<int>(place->first));
  viewport()->update();
}

void TimelineChart::reveal(const Place& place) {
  select(place);
  const TimelineSpans& spans = m_timeline->rows[place.first].spans;
  const auto start = static_cast<double>(spans.start(place.second)), duration = static_cast<double>(spans.duration(place.second));
  const double width = m_view.to - m_view.from, pixels = geometry(viewport()->size(), true).width;
  constexpr double leastShare = 4.0, goodShare = 40.0;  // pixels that it takes
  const bool small = duration / width * pixels < leastShare;
  const bool seen = start >= m_view.from && start + std::min(duration, 0.5 * width) <= m_view.to;
  if (seen && !small) return;
  const double wanted = small && duration > 0.0 ? duration * pixels / goodShare : width;
  const double middle = start + 0.5 * std::min(duration, wanted);
  move({middle - 0.5 * wanted, middle + 0.5 * wanted}, true);
}

void TimelineChart::setRange(std::optional<View> range) {
  m_range = range;
  viewport()->update();
  emit rangeChanged();
}

double TimelineChart::timeAt(double x) const {
  const Geometry g = geometry(viewport()->size(), true);
  return m_view.from + (x - g.left) / g.width * (m_view.to - m_view.from);
}

int TimelineChart::rowAt(double y) const {
  const Geometry g = geometry(viewport()->size(), true);
  if (!m_timeline || y < g.rulerHeight) return -1;
  const int row = static_cast<int>((y - g.rulerHeight + g.scroll) / g.rowHeight);
  return row < static_cast<int>(m_timeline->rows.size()) ? row : -1;
}

std::optional<TimelineChart::Place> TimelineChart::spanAt(const QPointF& at, std::int64_t* more) const {
  const int row = rowAt(at.y());
  const Geometry g = geometry(viewport()->size(), true);
  if (row < 0 || at.x() < g.left || !(m_view.from < m_view.to)) return std::nullopt;
  const TimelineSpans& spans = m_timeline->rows[static_cast<std::size_t>(row)].spans;
  const double pixel = (m_view.to - m_view.from) / g.width, from = timeAt(std::floor(at.x()));
  if (more != nullptr) *more = 0;
  // What begins within the pixel, else what reaches over it, else what begins or ends beside it.
  const std::size_t first = spans.firstFrom(from), end = spans.firstFrom(from + pixel);
  if (first < end) {
    const SpanSum sum = spans.sum(first, end);
    if (more != nullptr) *more = sum.count - 1;
    return Place{static_cast<std::size_t>(row), sum.longest};
  }
  const std::vector<std::size_t> reaching = spans.reaching(from, 1);
  if (!reaching.empty()) return Place{static_cast<std::size_t>(row), reaching.front()};
  const SpanSum near = spans.sum(spans.firstFrom(from - 2.0 * pixel), spans.firstFrom(from + 3.0 * pixel));
  if (near.count == 0) return std::nullopt;
  if (more != nullptr) *more = near.count - 1;
  return Place{static_cast<std::size_t>(row), near.longest};
}

void TimelineChart::fitScroll() {
  const Geometry g = geometry(viewport()->size(), false);
  const double rows = m_timeline ? static_cast<double>(m_timeline->rows.size()) * g.rowHeight : 0.0;
  const int room = static_cast<int>(viewport()->height() - g.rulerHeight);
  verticalScrollBar()->setRange(0, std::max(0, static_cast<int>(std::ceil(rows)) - room));
  verticalScrollBar()->setPageStep(std::max(1, room));
  verticalScrollBar()->setSingleStep(static_cast<int>(g.rowHeight));
}

void TimelineChart::paintEvent(QPaintEvent*) {
  QPainter painter(viewport());
  paint(painter, viewport()->size(), devicePixelRatioF());
  if (!hasFocus()) return;
  painter.setClipping(false);
  painter.setPen(QPen(palette().color(QPalette::Highlight), 1.0));
  painter.drawRect(QRectF(viewport()->rect()).adjusted(0.5, 0.5, -0.5, -0.5));
}

QString TimelineChart::csv() const {
  constexpr std::int64_t mostSpans = 200'000;
  constexpr int mostColumns = 2'000;
  const auto quoted = [](QString text) { return QStringLiteral("\"%1\"").arg(text.replace(QLatin1Char('"'), QStringLiteral("\"\""))); };
  const auto seconds = [](std::int64_t ns) { return exactTime(ns).chopped(2); };
  QString text = QStringLiteral("row,name,node,step,start_s,duration_s,spans,provenance,when\n");
  if (!m_timeline || m_timeline->empty()) return text;
  std::int64_t all = 0;
  for (const TimelineRow& row : m_timeline->rows) all += static_cast<std::int64_t>(row.spans.firstFrom(m_view.to) - std::min(row.spans.firstFrom(m_view.to), row.spans.firstEndingAfter(m_view.from)));
  for (const TimelineRow& row : m_timeline->rows) {
    const auto line = [&](std::size_t span, std::int64_t start, std::int64_t duration, std::int64_t count) {
      const TimelineNode* const node = m_timeline->nodeOf(row, span);
      const TimelineStep* const step = m_timeline->stepOf(row, span);
      text += QStringLiteral("%1,%2,%3,%4,%5,%6,%7,%8,%9\n")
                  .arg(quoted(row.title()), quoted(m_timeline->names[row.spans.name(span)].text), quoted(node != nullptr ? node->name : QString()),
                       step != nullptr ? QString::number(personStep(step->step)) : QString(), seconds(start), seconds(duration), QString::number(count),
                       quoted(word(row.durations)), quoted(row.laidOut ? tr("laid out") : tr("as recorded")));
    };
    if (all <= mostSpans) {
      const std::size_t end = row.spans.firstFrom(m_view.to);
      for (std::size_t span = row.spans.firstEndingAfter(m_view.from); span < end; ++span)
        if (static_cast<double>(row.spans.end(span)) > m_view.from || static_cast<double>(row.spans.start(span)) >= m_view.from) line(span, row.spans.start(span), row.spans.duration(span), 1);
    } else {
      for (const SpanColumn& column : row.spans.columns(m_view.from, m_view.to, mostColumns)) line(column.sum.longest, row.spans.start(column.first), column.sum.total, column.sum.count);
    }
  }
  return text;
}

Picture TimelineChart::picture() const {
  const Geometry g = geometry(viewport()->size(), false);
  const double rows = m_timeline ? static_cast<double>(m_timeline->rows.size()) : 0.0;
  const int needed = static_cast<int>(std::ceil(g.rulerHeight + rows * g.rowHeight)) + 1;
  const QSize size(std::max(400, viewport()->width()), std::max(m_timeline && !m_timeline->empty() ? 0 : viewport()->height(), needed));
  return {size, [this, size](QPainter& painter) { paint(painter, size, 2.0); }, [this] { return csv(); }};
}

bool TimelineChart::save(const QString& fileName, QString* reason) const { return savePicture(picture(), fileName, reason); }

void TimelineChart::copyImage() const {
  const Picture of = picture();
  QPixmap pixmap(of.size * devicePixelRatioF());
  pixmap.setDevicePixelRatio(devicePixelRatioF());
  QPainter painter(&pixmap);
  paint(painter, of.size, devicePixelRatioF());
  painter.end();
  QApplication::clipboard()->setPixmap(pixmap);
}

void TimelineChart::copyData() const { QApplication::clipboard()->setText(csv()); }

}  // namespace ulpscope::gui
