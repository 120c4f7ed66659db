#include "gui/models/timeline_text.h"

#include <QCoreApplication>
#include <QStringList>

#include "gui/models/text.h"

namespace ulpscope::gui {
namespace {

struct TimelineTexts {
  Q_DECLARE_TR_FUNCTIONS(TimelineTexts)
};

QString line(const QString& label, const QString& value) { return QStringLiteral("%1: %2").arg(label, value); }

QString sizes(const std::array<std::int64_t, 3>& of) { return QStringLiteral("%1 × %2 × %3").arg(of[0]).arg(of[1]).arg(of[2]); }

QStringList spanLines(const Timeline& timeline, const TimelineRow& row, std::size_t span) {
  const TimelineSpans& spans = row.spans;
  const TimelineStep* const step = timeline.stepOf(row, span);
  QStringList lines{timeline.names[spans.name(span)].text};
  if (row.kind != TimelineRowKind::Steps) lines << line(TimelineTexts::tr("row"), row.title());
  if (const auto duration = timeline.durationOf(row, span)) lines << line(TimelineTexts::tr("time"), QStringLiteral("%1 [%2]").arg(timeText(static_cast<double>(*duration)), word(row.durations)));
  else if (step != nullptr && !step->untimed) lines << TimelineTexts::tr("time unknown; drawn as long as its kernels or nodes");
  else lines << TimelineTexts::tr("time unknown; drawn as 1 ms");
  if (row.kind == TimelineRowKind::Steps && step != nullptr && step->counted)
    lines << TimelineTexts::tr("no step's time: its nodes were counted one after the other by the GPU's hardware counters");
  const std::int64_t shift = row.kind == TimelineRowKind::Kernels && step != nullptr ? step->shift : 0;
  const QString began = exactTime(spans.start(span) - shift);
  if (timeline.view == TimelineView::MeanStep) lines << line(TimelineTexts::tr("laid out at"), began);
  else if (row.kind == TimelineRowKind::Kernels) lines << line(TimelineTexts::tr("began"), TimelineTexts::tr("%1 after the start of the run").arg(began));
  else if (row.kind == TimelineRowKind::Steps || row.laidOut) lines << line(TimelineTexts::tr("drawn at"), began);
  else lines << line(TimelineTexts::tr("begins"), TimelineTexts::tr("%1 after the start of the run").arg(began));
  if (shift != 0) lines << TimelineTexts::tr("drawn %1 later: the step before was not over").arg(timeText(static_cast<double>(shift)));
  if (const TimelineNode* const node = timeline.nodeOf(row, span)) {
    if (row.kind == TimelineRowKind::Kernels) lines << line(TimelineTexts::tr("node"), node->name);
    if (!node->operation.isEmpty()) lines << line(TimelineTexts::tr("operation"), node->operation);
    if (!node->format.isEmpty()) lines << line(TimelineTexts::tr("computed in"), node->format);
    lines << line(TimelineTexts::tr("pass"), phaseName(node->phase));
    lines << line(TimelineTexts::tr("kind"), categoryName(node->category));
  } else if (row.kind == TimelineRowKind::Kernels) {
    lines << line(TimelineTexts::tr("node"), unknownText());
  }
  if (row.kind != TimelineRowKind::Steps && step != nullptr) lines << line(TimelineTexts::tr("step"), QString::number(personStep(step->step)));
  else if (row.kind == TimelineRowKind::Kernels) lines << line(TimelineTexts::tr("step"), unknownText());
  return lines;
}

}  // namespace

QString timeText(double nanoseconds) { return nanoseconds == 0.0 ? isolated(QStringLiteral("0 s")) : valueText(nanoseconds * 1e-9, reports::FigureStyle::seconds); }

QString exactTime(std::int64_t nanoseconds) {
  const bool negative = nanoseconds < 0;
  const std::uint64_t size = negative ? 0 - static_cast<std::uint64_t>(nanoseconds) : static_cast<std::uint64_t>(nanoseconds);
  return isolated(QStringLiteral("%1%2.%3 s").arg(negative ? QStringLiteral("-") : QString()).arg(size / 1'000'000'000).arg(size % 1'000'000'000, 9, 10, QLatin1Char('0')));
}

QString shareText(double share) { return isolated(QStringLiteral("%1 %").arg(QString::number(100.0 * share, 'g', 3))); }

QString categoryName(reports::TimeCategory category) { return words(label(category)); }

QString phaseName(reports::Phase phase) { return words(name(phase)); }

QString spanToolTip(const Timeline& timeline, const TimelineRow& row, std::size_t span) { return spanLines(timeline, row, span).join(QLatin1Char('\n')); }

QString spanDetails(const Timeline& timeline, const TimelineRow& row, std::size_t span, const std::optional<reports::KernelRecord>& kernel) {
  QStringList lines = spanLines(timeline, row, span);
  if (const auto duration = timeline.durationOf(row, span)) lines.insert(row.kind == TimelineRowKind::Steps ? 2 : 3, line(TimelineTexts::tr("exactly"), exactTime(*duration)));
  if (kernel) {
    lines << line(TimelineTexts::tr("grid"), sizes(kernel->grid)) << line(TimelineTexts::tr("block"), sizes(kernel->block));
    lines << line(TimelineTexts::tr("registers of a thread"), countText(kernel->registers));
    const auto bytes = [](const reports::Count& count) { return count ? valueText(static_cast<double>(*count), reports::FigureStyle::bytes) : unknownText(); };
    lines << line(TimelineTexts::tr("shared memory of a block, static"), bytes(kernel->static_shared_bytes)) << line(TimelineTexts::tr("shared memory of a block, dynamic"), bytes(kernel->dynamic_shared_bytes));
    lines << line(TimelineTexts::tr("tensor pipes active"), kernel->tensor_pipe ? shareText(*kernel->tensor_pipe) : unknownText());
    if (kernel->tensor_pipe && kernel->node) lines << TimelineTexts::tr("that share is of all kernels of this node together, for a micro-batch, in another step");
    lines << line(TimelineTexts::tr("correlation"), QString::number(kernel->correlation));
  }
  lines << row.meaning();
  return lines.join(QLatin1Char('\n'));
}

QString rangeText(const Timeline& timeline, const RangeSum& sums) {
  if (sums.row < 0 || sums.row >= static_cast<int>(timeline.rows.size()) || sums.to <= sums.from) return {};
  const TimelineRow& row = timeline.rows[static_cast<std::size_t>(sums.row)];
  const auto length = static_cast<double>(sums.to - sums.from);
  if (sums.count == 0 && sums.untimed > 0)
    return TimelineTexts::tr("%1, %2 from %3 on: how long they took is unknown; steps without a wall time: %4").arg(row.title(), timeText(length), exactTime(sums.from)).arg(sums.untimed);
  const QString text = TimelineTexts::tr("%1, %2 from %3 on: %4 spans, %5 together [%6], %7 of the range")
                           .arg(row.title(), timeText(length), exactTime(sums.from))
                           .arg(sums.count)
                           .arg(timeText(static_cast<double>(sums.total)), word(row.durations), shareText(static_cast<double>(sums.total) / length));
  return sums.untimed == 0 ? text : TimelineTexts::tr("%1; left out, without a wall time: %2").arg(text).arg(sums.untimed);
}

}  // namespace ulpscope::gui
