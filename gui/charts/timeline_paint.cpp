// How a timeline is painted.
#include <QFontMetricsF>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <array>
#include <cmath>

#include "gui/charts/timeline_chart.h"
#include "gui/models/timeline_text.h"

namespace ulpscope::gui {
namespace {

constexpr double padding = 4.0;
constexpr double leastText = 26.0;  // pixels: below that a name says nothing

QColor blend(const QColor& a, const QColor& b, double share) {
  const auto mix = [share](int from, int to) { return static_cast<int>(std::lround(from + (to - from) * share)); };
  return {mix(a.red(), b.red()), mix(a.green(), b.green()), mix(a.blue(), b.blue())};
}

bool isDark(const QColor& colour) { return 0.299 * colour.red() + 0.587 * colour.green() + 0.114 * colour.blue() < 140.0; }

/// 1, 2 or 5 times a power of ten, from `least` on.
double tickStep(double least) {
  const double power = std::pow(10.0, std::floor(std::log10(std::max(least, 1.0))));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= least) return factor * power;
  return 10.0 * power;
}

struct Unit {
  double nanoseconds;
  const char* name;
};
Unit unitOf(double step) {
  if (step >= 1e9) return {1e9, "s"};
  if (step >= 1e6) return {1e6, "ms"};
  if (step >= 1e3) return {1e3, "µs"};
  return {1.0, "ns"};
}

}  // namespace

QColor categoryColour(reports::TimeCategory category) {
  static constexpr std::array<QRgb, reports::time_category_count> colours{0xff3b7dd8,   // matrix products
                                                                          0xff8b63e0,   // attention
                                                                          0xff5b6ee1,   // convolution
                                                                          0xff149c94,   // normalisation
                                                                          0xffc98a12,   // softmax, loss
                                                                          0xff57a052,   // element-wise
                                                                          0xffd5533d,   // casts
                                                                          0xff94942c,   // reductions
                                                                          0xffc7689b,   // embedding
                                                                          0xffe07b39,   // unscale and check
                                                                          0xff9c6b4a,   // optimizer
                                                                          0xff6d8aa5,   // copies
                                                                          0xff8a929c,   // other
                                                                          0xffa3a9b1};  // of no known node
  return QColor::fromRgb(colours[static_cast<std::size_t>(category)]);
}

TimelineChart::Geometry TimelineChart::geometry(const QSize& size, bool scrolled) const {
  const QFontMetricsF metrics(font());
  Geometry g;
  g.left = std::min(m_headWidth, 0.4 * size.width());
  g.width = std::max(1.0, size.width() - g.left - 1.0);
  g.rulerHeight = metrics.height() + 2.5 * padding;
  g.rowHeight = metrics.height() + 2.0 * padding;
  g.scroll = scrolled ? static_cast<double>(verticalScrollBar()->value()) : 0.0;
  return g;
}

QColor TimelineChart::spanColour(std::size_t row, std::size_t span) const {
  const TimelineRow& of = m_timeline->rows[row];
  const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text);
  QColor colour;
  if (of.kind == TimelineRowKind::Steps) {
    const bool odd = of.spans.step(span) % 2 != 0;
    colour = m_timeline->names[of.spans.name(span)].skipped ? QColor(0xd6, 0x45, 0x45) : blend(base, text, odd ? 0.34 : 0.26);
  } else if (const auto pass = m_timeline->names[of.spans.name(span)].pass) {
    static constexpr std::array<QRgb, 3> passes{0xff4c8fbf, 0xffa866ad, 0xff9c6b4a};  // forward, backward, update
    colour = QColor::fromRgb(passes[static_cast<std::size_t>(*pass)]);
  } else {
    colour = categoryColour(m_timeline->categoryOf(of, span));
  }
  return colour;
}

void TimelineChart::paintSpan(QPainter& painter, const Geometry& g, std::size_t row, std::size_t span, double top, double pixelRatio) const {
  const TimelineRow& of = m_timeline->rows[row];
  const double scale = g.width / (m_view.to - m_view.from), pixel = 1.0 / pixelRatio;
  const double begin = std::max(g.left, g.left + (static_cast<double>(of.spans.start(span)) - m_view.from) * scale);
  const double end = std::min(g.left + g.width, g.left + (static_cast<double>(of.spans.end(span)) - m_view.from) * scale);
  QRectF rect(begin, top + 1.0, std::max(pixel, end - begin), g.rowHeight - 2.0);
  if (rect.width() > 3.0 * pixel) rect.setWidth(rect.width() - pixel);  // neighbours are told apart
  QColor colour = spanColour(row, span);
  const QColor base = palette().color(QPalette::Base);
  if (m_search.active() && !m_search.finds(row, span)) colour = blend(colour, base, 0.78);
  painter.fillRect(rect, colour);
  const bool framed = m_node >= 0 && of.spans.node(span) == m_node;
  if (framed && rect.width() > 2.0) {
    painter.setPen(QPen(palette().color(QPalette::Text), 1.4));
    painter.drawRect(rect.adjusted(0.7, 0.7, -0.7, -0.7));
  }
  if (rect.width() < leastText) return;
  const QString& name = m_timeline->names[of.spans.name(span)].text;
  const QFontMetricsF metrics(font());
  const double room = rect.width() - 2.0 * padding;
  // What is surely too long is cut before it is measured.
  const auto most = static_cast<qsizetype>(room / std::max(1.0, metrics.averageCharWidth()) * 3.0) + 4;
  const QString shown = metrics.elidedText(name.size() > most ? name.left(most) + QChar(0x2026) : name, Qt::ElideRight, room);
  painter.setPen(isDark(colour) ? Qt::white : QColor(0x16, 0x18, 0x1c));
  painter.drawText(rect.adjusted(padding, 0.0, -padding, 0.0), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, shown);
}

void TimelineChart::paintRow(QPainter& painter, const Geometry& g, std::size_t row, double top, double pixelRatio) const {
  const TimelineSpans& spans = m_timeline->rows[row].spans;
  constexpr std::size_t mostReaching = 8;
  const std::vector<std::size_t> reaching = spans.reaching(m_view.from, mostReaching);
  for (auto span = reaching.rbegin(); span != reaching.rend(); ++span) paintSpan(painter, g, row, *span, top, pixelRatio);
  const int columns = std::max(1, static_cast<int>(std::lround(g.width * pixelRatio)));
  const double pixel = g.width / columns, nanoseconds = (m_view.to - m_view.from) / columns;
  const QColor base = palette().color(QPalette::Base);
  // Neighbouring columns of one colour are one rectangle.
  int first = 0, next = -1;
  QRgb colour = 0;
  const auto flush = [&] {
    if (next > first) painter.fillRect(QRectF(g.left + first * pixel, top + 1.0, (next - first) * pixel, g.rowHeight - 2.0), QColor::fromRgb(colour));
    next = -1;
  };
  for (const SpanColumn& column : spans.columns(m_view.from, m_view.to, columns)) {
    if (column.sum.count == 1) {
      flush();
      paintSpan(painter, g, row, column.first, top, pixelRatio);
      continue;
    }
    const double filled = std::min(1.0, static_cast<double>(column.sum.total) / nanoseconds);
    double density = 0.3 + 0.7 * std::ceil(8.0 * filled) / 8.0;
    if (m_search.active() && !m_search.findsAny(row, column.first, static_cast<std::size_t>(column.sum.count))) density *= 0.25;
    const QRgb of = blend(base, spanColour(row, column.sum.longest), density).rgb();
    if (column.column != next || of != colour) {
      flush();
      first = column.column;
      colour = of;
    }
    next = column.column + 1;
    // What reaches over the edge of the column is there, too, where nothing else begins.
    const double edge = m_view.from + (column.column + 1.2) * nanoseconds;
    const std::size_t last = column.first + static_cast<std::size_t>(column.sum.count) - 1;
    for (const std::size_t span : {last, column.sum.longest}) {
      if (static_cast<double>(spans.end(span)) <= edge) continue;
      flush();
      paintSpan(painter, g, row, span, top, pixelRatio);
      if (span == column.sum.longest) break;
    }
  }
  flush();
}

/// From the left edge to the first tick may be hours, between two ticks a microsecond: then ticks count from a time that is said once.
void TimelineChart::paintRuler(QPainter& painter, const Geometry& g, const QSize& size) const {
  const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text);
  const QFontMetricsF metrics(font());
  const double scale = g.width / (m_view.to - m_view.from);
  const double widest = metrics.horizontalAdvance(QStringLiteral("+888.8 ms")) + 6.0 * padding;
  const double step = tickStep(widest / scale);
  const Unit unit = unitOf(step);
  const double most = std::max(std::fabs(m_view.from), std::fabs(m_view.to));
  const bool apart = most > 1e5 * step || most >= 1e4 * unit.nanoseconds;
  const double origin = apart ? std::floor(m_view.from / (1000.0 * step)) * 1000.0 * step : 0.0;
  painter.fillRect(QRectF(0, 0, size.width(), g.rulerHeight), palette().color(QPalette::Window));
  const double first = std::ceil((m_view.from - origin) / step) * step;
  for (double tick = first; origin + tick <= m_view.to; tick += step) {
    const double x = g.left + (origin + tick - m_view.from) * scale;
    painter.setPen(QPen(blend(base, text, 0.14), 1.0));
    painter.drawLine(QPointF(x, g.rulerHeight), QPointF(x, size.height()));
    painter.setPen(QPen(blend(base, text, 0.45), 1.0));
    painter.drawLine(QPointF(x, g.rulerHeight - padding), QPointF(x, g.rulerHeight));
    const QString label = QStringLiteral("%1%2 %3").arg(apart && tick > 0.0 ? QStringLiteral("+") : QString(), QString::number(tick / unit.nanoseconds, 'g', 6), QString::fromUtf8(unit.name));
    const double width = metrics.horizontalAdvance(label);
    const double place = std::clamp(x - width / 2.0, g.left + 2.0, std::max(g.left + 2.0, g.left + g.width - width - 2.0));
    painter.setPen(blend(base, text, 0.75));
    painter.drawText(QRectF(place, 0.0, width + 1.0, g.rulerHeight - padding), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, label);
  }
  if (!apart) return;
  painter.setPen(text);
  const QString from = exactTime(static_cast<std::int64_t>(origin));
  painter.drawText(QRectF(padding, 0.0, g.left - 2.0 * padding, g.rulerHeight - padding), Qt::AlignRight | Qt::AlignVCenter | Qt::TextSingleLine, metrics.elidedText(from, Qt::ElideLeft, g.left - 2.0 * padding));
}

void TimelineChart::paintHeads(QPainter& painter, const Geometry& g, const QSize& size) const {
  const QColor base = palette().color(QPalette::Base), text = palette().color(QPalette::Text);
  const QFontMetricsF metrics(font());
  painter.fillRect(QRectF(0, g.rulerHeight, g.left, size.height() - g.rulerHeight), palette().color(QPalette::Window));
  for (std::size_t row = 0; row < m_timeline->rows.size(); ++row) {
    const QRectF rect(0.0, g.rulerHeight + static_cast<double>(row) * g.rowHeight - g.scroll, g.left, g.rowHeight);
    if (rect.bottom() <= g.rulerHeight || rect.top() >= size.height()) continue;
    const bool current = static_cast<int>(row) == m_row;
    if (current) painter.fillRect(rect, palette().color(QPalette::Highlight));
    painter.setPen(current ? palette().color(QPalette::HighlightedText) : text);
    const double room = g.left - 3.0 * padding;
    painter.drawText(rect.adjusted(2.0 * padding, 0.0, -padding, 0.0), Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, metrics.elidedText(m_timeline->rows[row].title(), Qt::ElideRight, room));
  }
  painter.setPen(QPen(blend(base, text, 0.35), 1.0));
  painter.drawLine(QPointF(g.left - 0.5, 0.0), QPointF(g.left - 0.5, size.height()));
}

/// The range, and a frame around the span that was chosen.
void TimelineChart::paintMarks(QPainter& painter, const Geometry& g, const QSize& size) const {
  const double scale = g.width / (m_view.to - m_view.from);
  const auto x = [&](double time) { return std::clamp(g.left + (time - m_view.from) * scale, g.left - 4.0, g.left + g.width + 4.0); };
  QColor mark = palette().color(QPalette::Highlight);
  if (m_range) {
    const QRectF rect(x(m_range->from), g.rulerHeight, x(m_range->to) - x(m_range->from), size.height() - g.rulerHeight);
    QColor fill = mark;
    fill.setAlpha(48);
    painter.fillRect(rect, fill);
    painter.setPen(QPen(mark, 1.2));
    painter.drawLine(rect.topLeft(), rect.bottomLeft());
    painter.drawLine(rect.topRight(), rect.bottomRight());
  }
  if (!m_selected) return;
  const TimelineSpans& spans = m_timeline->rows[m_selected->first].spans;
  const double begin = x(static_cast<double>(spans.start(m_selected->second))), end = x(static_cast<double>(spans.end(m_selected->second)));
  if (end < g.left || begin > g.left + g.width) return;
  const QRectF rect(begin, g.rulerHeight + static_cast<double>(m_selected->first) * g.rowHeight - g.scroll, std::max(2.0, end - begin), g.rowHeight);
  painter.setPen(QPen(palette().color(QPalette::Base), 3.6));
  painter.drawRect(rect);
  painter.setPen(QPen(palette().color(QPalette::Text), 1.8));
  painter.drawRect(rect);
}

void TimelineChart::paint(QPainter& painter, const QSize& size, double pixelRatio) const {
  const QColor base = palette().color(QPalette::Base);
  painter.setFont(font());
  painter.setLayoutDirection(Qt::LeftToRight);  // time runs to the right in every language
  painter.setBrush(Qt::NoBrush);
  painter.fillRect(QRect(QPoint(0, 0), size), base);
  if (!m_timeline || m_timeline->empty() || !(m_view.from < m_view.to)) {
    painter.setPen(palette().color(QPalette::Text));
    painter.drawText(QRect(QPoint(0, 0), size), Qt::AlignCenter | Qt::TextWordWrap, tr("nothing on record"));
    return;
  }
  const bool scrolled = size == viewport()->size();
  const Geometry g = geometry(size, scrolled);
  paintRuler(painter, g, size);
  painter.save();
  painter.setClipRect(QRectF(g.left, g.rulerHeight, g.width, size.height() - g.rulerHeight));
  if (m_step >= 0 && m_step < static_cast<int>(m_timeline->steps.size())) {
    const TimelineStep& step = m_timeline->steps[static_cast<std::size_t>(m_step)];
    const double scale = g.width / (m_view.to - m_view.from);
    QColor shade = palette().color(QPalette::Text);
    shade.setAlpha(22);
    painter.fillRect(QRectF(g.left + (static_cast<double>(step.start) - m_view.from) * scale, g.rulerHeight, static_cast<double>(step.end - step.start) * scale, size.height()), shade);
  }
  for (std::size_t row = 0; row < m_timeline->rows.size(); ++row) {
    const double top = g.rulerHeight + static_cast<double>(row) * g.rowHeight - g.scroll;
    if (top + g.rowHeight > g.rulerHeight && top < size.height()) paintRow(painter, g, row, top, pixelRatio);
  }
  paintMarks(painter, g, size);
  painter.restore();
  paintHeads(painter, g, size);
}

}  // namespace ulpscope::gui
