// A report as a PDF: the sections of the page of `ulpscope report --html`, word for word, with the viewer's own charts in them.
//
// Three moves, so that no thread waits for another's work: readReport() in the thread of the file, drawReportCharts() in the window's,
// writeReportPdf() in any.
#pragma once

#include <QString>
#include <map>
#include <memory>

#include "gui/report/report_charts.h"

namespace ulpscope::gui {

struct ReportText {
  std::shared_ptr<const reports::Report> report{};  ///< without readers
  QString html{};                                   ///< its sections
};

/// Throws what make_report throws.
ReportText readReport(const std::vector<const reports::RunFileReader*>& readers);

/// The HTML that a QTextDocument understands: places of charts are images ("chart:loss"), those without a chart are gone, what the page
/// folds away stands open.
QString documentHtml(const ReportText& text, const std::map<QString, ReportChart>& charts);

/// A4, pages numbered. Empty if the file was written, else why not.
QString writeReportPdf(const ReportText& text, const std::map<QString, ReportChart>& charts, const QString& fileName);

}  // namespace ulpscope::gui
