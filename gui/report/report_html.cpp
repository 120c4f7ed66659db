// From the HTML of a browser to that of a QTextDocument, which knows tables and paragraphs, and neither figures nor folded parts.
#include <QRegularExpression>

#include "gui/models/text.h"
#include "gui/report/report_pdf.h"
#include "reports/export/html/page.h"

namespace ulpscope::gui {
namespace {

QRegularExpression pattern(const char* text) { return QRegularExpression(QLatin1String(text), QRegularExpression::DotMatchesEverythingOption | QRegularExpression::InvertedGreedinessOption); }

QString legendHtml(const ReportChart& chart) {
  QStringList entries;
  for (const auto& [name, colour] : chart.legend) entries << QStringLiteral("<span style=\"color:%1\">■</span>&nbsp;%2").arg(colour.name(), name.toHtmlEscaped().replace(QLatin1Char(' '), QStringLiteral("&nbsp;")));
  return entries.isEmpty() ? QString() : QStringLiteral("<p class=\"legend\">%1</p>").arg(entries.join(QStringLiteral("&nbsp;&nbsp; ")));
}

/// Of a figure its title, what it shows, and the chart.
void replaceFigures(QString& html, const std::map<QString, ReportChart>& charts) {
  static const QRegularExpression figure = pattern("<figure[^>]* id=\"figure-([^\"]+)\".*<h3>(.*)</h3>(.*)</figcaption>.*</figure>");
  QString out;
  qsizetype at = 0;
  for (auto matches = figure.globalMatch(html); matches.hasNext();) {
    const QRegularExpressionMatch match = matches.next();
    out += html.mid(at, match.capturedStart() - at);
    at = match.capturedEnd();
    const auto chart = charts.find(match.captured(1));
    if (chart == charts.end()) continue;
    out += QStringLiteral("<h3>%1</h3>%2").arg(match.captured(2), match.captured(3));
    if (!chart->second.note.isEmpty()) out += QStringLiteral("<p>%1</p>").arg(chart->second.note.toHtmlEscaped());
    out += QStringLiteral("<p><img src=\"chart:%1\"></p>%2").arg(match.captured(1), legendHtml(chart->second));
  }
  html = out + html.mid(at);
}

}  // namespace

ReportText readReport(const std::vector<const reports::RunFileReader*>& readers) {
  reports::Report report = reports::make_report(readers);
  const std::string html = reports::html_sections(report);
  for (reports::ReportRun& run : report.runs) run.reader = nullptr;
  return {std::make_shared<const reports::Report>(std::move(report)), QString::fromStdString(html)};
}

QString documentHtml(const ReportText& text, const std::map<QString, ReportChart>& charts) {
  QString html = text.html;
  replaceFigures(html, charts);
  static const std::pair<QRegularExpression, QString> changes[] = {
      {pattern("<details[^>]*><summary>(.*)</summary>"), QStringLiteral("<h4>\\1</h4>")},
      {pattern("<table[^>]*><caption>(.*)</caption>"), QStringLiteral("<p class=\"caption\">\\1</p><table border=\"1\" cellspacing=\"0\" cellpadding=\"3\" width=\"100%\" style=\"border-collapse:collapse\">")},
      {pattern("<(td|th)([^>]*) class=\"number\""), QStringLiteral("<\\1\\2 align=\"right\"")},
      {pattern("<th([^>]*) scope=\"row\""), QStringLiteral("<td\\1")},
      {pattern("</?(section|article|figure|header|nav|details)[^>]*>"), QString()},
      {pattern("<div class=\"table\"[^>]*>"), QStringLiteral("<div>")},
      {pattern("</table></div>"), QStringLiteral("</table></div><p class=\"after\">&nbsp;</p>")},
      {pattern("<small>"), QStringLiteral("<br><small>")},
  };
  for (const auto& [from, to] : changes) html.replace(from, to);
  QString devices;
  for (const reports::Setting& setting : text.report->modes.settings) devices += (devices.isEmpty() ? QString() : QStringLiteral("; ")) + plain(setting.device);
  return QStringLiteral("<html><body><h1>%1</h1><p class=\"quiet\">%2</p>%3</body></html>").arg(plain(text.report->title).toHtmlEscaped(), devices.toHtmlEscaped(), html);
}

}  // namespace ulpscope::gui
