// The diagnosis of an overflow in words.
#include <QStringList>

#include "gui/models/overflows_model.h"
#include "gui/models/text.h"

namespace ulpscope::gui {
namespace {

using reports::FigureStyle;

QString escaped(const std::string& text) { return sentence(text).toHtmlEscaped(); }
QString paragraph(const QString& html) { return QStringLiteral("<p style='margin-top:0; margin-bottom:6px'>%1</p>").arg(html); }
QString heading(const QString& text) { return QStringLiteral("<p style='margin-top:4px; margin-bottom:2px'><b>%1</b></p>").arg(text.toHtmlEscaped()); }

QString list(const QStringList& items) {
  QString html;
  for (const QString& item : items) html += QStringLiteral("<li>%1</li>").arg(item);
  return items.isEmpty() ? QString() : QStringLiteral("<ul style='margin-top:0; margin-bottom:6px; margin-left:14px; margin-right:14px; -qt-list-indent:0'>%1</ul>").arg(html);
}

QString whereText(const reports::OverflowEvent& event) {
  if (!event.observed) return OverflowsModel::tr("Nothing was observed in this step, so that it is unknown where it began.");
  if (event.node.empty()) return OverflowsModel::tr("In the observed tensors of this step no operation made a value that is not finite of finite ones.");
  return OverflowsModel::tr("It began in %1 (%2, %3): %4 elements of %5, in %6, are not finite; the greatest finite magnitude is %7 [%8].")
      .arg(escaped(event.node), escaped(event.operation), figureLabel(event.phase.c_str()).toHtmlEscaped(), countText(event.not_finite), escaped(event.tensor), escaped(event.format),
           valueText(event.greatest_magnitude, FigureStyle::loss), word(reports::Provenance::counted));
}

QString causeText(const reports::OverflowCause& of) {
  const reports::Cause& cause = of.cause;
  QString html = heading(QStringLiteral("%1 (%2)").arg(words(name(cause.kind)), words(name(cause.gravity))));
  html += paragraph(escaped(cause.what));
  QStringList facts;
  for (const reports::Fact& fact : cause.facts) facts << OverflowsModel::tr("%1: %2 [%3]").arg(escaped(fact.label), escaped(fact.text), word(fact.provenance));
  html += list(facts);
  if (!cause.reaches.empty()) html += paragraph(OverflowsModel::tr("It reaches %1.").arg(escaped(cause.reaches)));
  if (cause.chain.size() > 1) {
    constexpr std::size_t most = 8;
    QStringList nodes;
    for (std::size_t i = 0; i < std::min(most, cause.chain.size()); ++i) nodes << escaped(cause.chain[i]);
    if (cause.chain.size() > most) nodes << OverflowsModel::tr("%n more", nullptr, static_cast<int>(cause.chain.size() - most));
    html += paragraph(OverflowsModel::tr("From there on: %1").arg(nodes.join(QStringLiteral(" → "))));
  }
  QStringList changes;
  for (const reports::Remedy& remedy : cause.remedies) {
    QString line = escaped(remedy.change);
    if (!remedy.ulpscope.empty()) line += QStringLiteral(" <code>%1</code>").arg(escaped(remedy.ulpscope));
    if (!remedy.settings.empty()) line += QStringLiteral("<br/>%1").arg(escaped(remedy.settings));
    if (!remedy.status.empty()) line += QStringLiteral("<br/><i>%1</i>").arg(escaped(remedy.status));
    changes << line;
  }
  if (!changes.isEmpty()) html += heading(OverflowsModel::tr("What may help, what costs least first")) + list(changes);
  return html;
}

QString verdictText(const OverflowsData& data, std::size_t run) {
  QString html;
  if (!data.verdicts[run].empty()) html += paragraph(escaped(data.verdicts[run]));
  for (const reports::OverflowCause& cause : data.section.causes) {
    if (cause.run == run) html += causeText(cause);
  }
  return html;
}

}  // namespace

QString verdictsText(const OverflowsData& data, const QSet<qlonglong>& hidden) {
  QString html;
  for (std::size_t i = 0; i < data.runs.size(); ++i) {
    if (hidden.contains(static_cast<qlonglong>(data.runs[i].run.id))) continue;
    const QString text = verdictText(data, i);
    if (!text.isEmpty()) html += heading(OverflowsModel::tr("Verdict on %1").arg(plain(data.runs[i].label))) + text;
  }
  return html;
}

QString overflowText(const OverflowsData& data, std::size_t index) {
  const reports::OverflowEvent& event = data.section.events[index];
  const reports::ReportRun& run = data.runs[event.run];
  QString html = heading(OverflowsModel::tr("%1: overflow in step %2").arg(plain(run.label)).arg(personStep(event.step)));
  const QString fate = event.skipped ? OverflowsModel::tr("the step was skipped") : OverflowsModel::tr("the step was applied all the same");
  const QString scale = event.loss_scale ? OverflowsModel::tr("loss scale %1").arg(valueText(event.loss_scale, FigureStyle::scale)) : OverflowsModel::tr("no loss scale on record");
  html += paragraph(OverflowsModel::tr("A gradient was not finite: %1 (%2, loss %3) [%4].")
                        .arg(fate, scale, valueText(event.loss, FigureStyle::loss), word(reports::Provenance::counted)));
  html += paragraph(whereText(event));
  if (event.cause) return html + causeText(data.section.causes[*event.cause]);
  const QString verdict = verdictText(data, event.run);
  if (!verdict.isEmpty()) html += heading(OverflowsModel::tr("Verdict on the run")) + verdict;
  return html;
}

}  // namespace ulpscope::gui
