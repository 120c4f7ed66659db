// ulpscope-gui --export FILE RUN.ulp …: a report without a window and without a display.
#pragma once

#include <QString>
#include <QStringList>

namespace ulpscope::gui {

/// Whether the command line asks for it: then no display is needed.
bool wantsExport(int argc, char** argv);
/// Why `fileName` is no report that can be written (its ending, or a run file that is there); empty if it is.
QString whyNoReport(const QString& fileName);
/// Writes it: a PDF or a web page, by its ending; a file that is there is replaced only if `force`. What is wrong is one line on standard error. Exit code: 0, 1 (it could not be written),
/// 2 (a wrong name, or a run file that cannot be read).
int exportReport(const QString& fileName, const QStringList& runs, bool force);

}  // namespace ulpscope::gui
