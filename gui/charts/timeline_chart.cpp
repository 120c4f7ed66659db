#include "gui/charts/timeline_chart.h"

#include <QApplication>
#include <QClipboard>
#include <QFontMetricsF>
#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <cmath>
#include <utility>

#include "gui/models/text.h"
#include "gui/models/timeline_text.h"

namespace ulpscope::gui {
namespace {

/// The row of that kind in a timeline that was read anew, in which there may be more of them; -1: none.
int sameRow(const Timeline& before, std::size_t row, const Timeline& now) {
  const TimelineRow& was = before.rows[row];
  const auto found = std::find_if(now.rows.begin(), now.rows.end(), [&](const TimelineRow& of) { return of.kind == was.kind && of.laidOut == was.laidOut && of.stream == was.stream; });
  return found == now.rows.end() ? -1 : static_cast<int>(found - now.rows.begin());
}

/// The kernel of that record; what else has that name and lies at that time.
std::optional<TimelineChart::Place> sameSpan(const Timeline& before, const TimelineChart::Place& place, const Timeline& now) {
  if (&before == &now) return place;
  const int row = sameRow(before, place.first, now);
  if (row < 0) return std::nullopt;
  const TimelineSpans& was = before.rows[place.first].spans;
  const TimelineSpans& spans = now.rows[static_cast<std::size_t>(row)].spans;
  const std::int64_t record = was.record(place.second), start = was.start(place.second);
  const QString& name = before.names[was.name(place.second)].text;
  for (std::size_t span = record < 0 ? spans.firstFrom(static_cast<double>(start)) : 0; span < spans.size(); ++span) {
    if (record < 0 && spans.start(span) > start) break;
    if (spans.record(span) == record && now.names[spans.name(span)].text == name) return TimelineChart::Place{static_cast<std::size_t>(row), span};
  }
  return std::nullopt;
}

}  // namespace

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
  const TimelinePointer before = std::exchange(m_timeline, std::move(timeline));
  m_search = {};
  m_node = -1;
  m_step = -1;
  if (!zoomed) m_history.clear();
  if (!keep) {
    m_selected.reset();
    m_range.reset();
  }
  const auto rows = m_timeline ? m_timeline->rows.size() : 0;
  if (m_selected) m_selected = sameSpan(*before, *m_selected, *m_timeline);
  m_row = keep && m_row >= 0 ? sameRow(*before, static_cast<std::size_t>(m_row), *m_timeline) : -1;
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

void TimelineChart::rememberView(const View& view) {
  constexpr std::size_t most = 100;
  if (m_history.size() >= most) m_history.erase(m_history.begin() + 1);  // the first shows everything
  m_history.push_back(view);
}

void TimelineChart::move(View view, bool remember) {
  if (!m_timeline || m_timeline->empty()) return;
  view = limited(view);
  if (view.from == m_view.from && view.to == m_view.to) return;
  if (remember) rememberView(m_view);
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

Picture TimelineChart::picture() const {
  const Geometry g = geometry(viewport()->size(), false);
  const double rows = m_timeline ? static_cast<double>(m_timeline->rows.size()) : 0.0;
  const int needed = static_cast<int>(std::ceil(g.rulerHeight + rows * g.rowHeight)) + 1;
  const QSize size(std::max(400, viewport()->width()), std::max(m_timeline && !m_timeline->empty() ? 0 : viewport()->height(), needed));
  const auto paint_into = [this, size](QPaintDevice& device) {
    QPainter painter(&device);
    paint(painter, size, 2.0);
  };
  return {size, paint_into, [this] { return csv(); }};
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

void TimelineChart::copyData() const { QApplication::clipboard()->setText(withoutMarks(csv())); }

}  // namespace ulpscope::gui
