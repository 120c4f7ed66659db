// The data of a timeline: the spans in view, one in a line; of very many, sums by column.
#include <algorithm>

#include "gui/charts/timeline_chart.h"
#include "gui/models/text.h"
#include "gui/models/timeline_text.h"

namespace ulpscope::gui {
namespace {

QString seconds(std::int64_t nanoseconds) { return withoutMarks(exactTime(nanoseconds)).chopped(2); }  // " s"

class Lines {
 public:
  Lines(const Timeline& timeline, const TimelineRow& row, QString when, QString& text) : m_timeline(timeline), m_row(row), m_when(std::move(when)), m_text(text) {}

  void span(std::size_t span) { line(span, m_row.spans.start(span), m_timeline.durationOf(m_row, span), 1); }

  /// Steps without a wall time have a line of their own.
  void column(const SpanColumn& column) {
    const std::int64_t start = m_row.spans.start(column.first);
    if (m_row.kind != TimelineRowKind::Steps) return line(column.sum.longest, start, column.sum.total, column.sum.count);
    std::int64_t total = 0, greatest = -1, timed = 0;
    std::size_t longest = column.first, without = column.first;
    for (std::size_t span = column.first, end = column.first + static_cast<std::size_t>(column.sum.count); span < end; ++span) {
      const auto duration = m_timeline.durationOf(m_row, span);
      if (!duration) {
        without = span;
        continue;
      }
      ++timed;
      total = addedUp(total, *duration);
      if (*duration > greatest) longest = span;
      greatest = std::max(greatest, *duration);
    }
    if (timed > 0) line(longest, start, total, timed);
    if (timed < column.sum.count) line(without, start, std::nullopt, column.sum.count - timed);
  }

 private:
  void line(std::size_t span, std::int64_t start, std::optional<std::int64_t> duration, std::int64_t count) {
    const TimelineNode* const node = m_timeline.nodeOf(m_row, span);
    const TimelineStep* const step = m_timeline.stepOf(m_row, span);
    const QStringList fields{csvField(m_row.title()), csvField(m_timeline.names[m_row.spans.name(span)].text), csvField(node != nullptr ? node->name : QString()),
                             step != nullptr ? QString::number(personStep(step->step)) : QString(), seconds(start), duration ? seconds(*duration) : QString(), QString::number(count),
                             csvField(word(duration ? m_row.durations : reports::Provenance::unknown)), m_when};
    m_text += fields.join(QLatin1Char(',')) + QLatin1Char('\n');
  }

  const Timeline& m_timeline;
  const TimelineRow& m_row;
  QString m_when;
  QString& m_text;
};

}  // namespace

QString TimelineChart::csv() const {
  constexpr std::int64_t mostSpans = 200'000;
  constexpr int mostColumns = 2'000;
  QString text = QStringLiteral("row,name,node,step,start_s,duration_s,spans,provenance,when\n");
  if (!m_timeline || m_timeline->empty()) return text;
  std::int64_t all = 0;
  for (const TimelineRow& row : m_timeline->rows) all += static_cast<std::int64_t>(row.spans.firstFrom(m_view.to) - std::min(row.spans.firstFrom(m_view.to), row.spans.firstEndingAfter(m_view.from)));
  for (const TimelineRow& row : m_timeline->rows) {
    Lines lines(*m_timeline, row, csvField(row.laidOut ? tr("laid out") : tr("as recorded")), text);
    if (all <= mostSpans) {
      const std::size_t end = row.spans.firstFrom(m_view.to);
      for (std::size_t span = row.spans.firstEndingAfter(m_view.from); span < end; ++span)
        if (static_cast<double>(row.spans.end(span)) > m_view.from || static_cast<double>(row.spans.start(span)) >= m_view.from) lines.span(span);
    } else {
      for (const SpanColumn& column : row.spans.columns(m_view.from, m_view.to, mostColumns)) lines.column(column);
    }
  }
  return text;
}

}  // namespace ulpscope::gui
