// The charts of a report as the viewer draws them, for a page. In English, as the rest of the report is.
//
// Made in the window's thread: they are widgets that are never shown. What comes out may be played in any thread.
#pragma once

#include <QColor>
#include <QPicture>
#include <QString>
#include <map>
#include <vector>

#include "reports/analysis/report.h"

namespace ulpscope::gui {

struct ReportChart {
  QPicture picture{};
  QSize size{};  ///< at 96 dots per inch
  std::vector<std::pair<QString, QColor>> legend{};
  QString note{};  ///< beside what the report says of it
};

/// By the names that the HTML of the report has for them; those that have nothing to show are not there.
std::map<QString, ReportChart> drawReportCharts(const reports::Report& report);

}  // namespace ulpscope::gui
