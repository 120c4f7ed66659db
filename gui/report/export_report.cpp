#include "gui/report/export_report.h"

#include <QCoreApplication>
#include <QFile>
#include <QFileInfo>
#include <QSaveFile>
#include <cstdio>
#include <exception>
#include <sstream>

#include "gui/models/text.h"
#include "gui/report/report_pdf.h"
#include "kernels/error.h"
#include "reports/export/html/page.h"

namespace ulpscope::gui {
namespace {

bool isPdf(const QString& fileName) { return QFileInfo(fileName).suffix().compare(QLatin1String("pdf"), Qt::CaseInsensitive) == 0; }

int fail(const QString& message, int code) {
  std::fprintf(stderr, "ulpscope-gui: %s\n", qPrintable(message));
  return code;
}

QString writePage(const std::vector<const reports::RunFileReader*>& readers, const QString& fileName) {
  std::ostringstream page;
  reports::write_html(reports::make_report(readers), page);
  const std::string bytes = std::move(page).str();
  QSaveFile file(fileName);
  const auto size = static_cast<qint64>(bytes.size());
  if (file.open(QIODevice::WriteOnly) && file.write(bytes.data(), size) == size && file.commit()) return {};
  return QStringLiteral("%1 could not be written: %2").arg(fileName, file.errorString());
}

}  // namespace

bool wantsExport(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    const QByteArray argument(argv[i]);
    if (argument == "--") return false;
    if (argument == "--export" || argument.startsWith("--export=")) return true;
  }
  return false;
}

QString whyNoReport(const QString& fileName) {
  const QString form = QFileInfo(fileName).suffix().toLower();
  QFile there(fileName);
  if (there.open(QIODevice::ReadOnly) && there.read(15) == "SQLite format 3") return QCoreApplication::translate("report", "%1 is a run file, or another database, and is not replaced").arg(fileName);
  if (form == QLatin1String("pdf") || form == QLatin1String("html")) return {};
  return QCoreApplication::translate("report", "%1: a report is written as .pdf or .html").arg(fileName);
}

int exportReport(const QString& fileName, const QStringList& runs, bool force) {
  if (const QString why = whyNoReport(fileName); !why.isEmpty()) return fail(QStringLiteral("--export ") + why, 2);
  if (runs.isEmpty()) return fail(QStringLiteral("--export %1: name the run file that it is to be made of: ulpscope-gui --export %1 RUN.ulp").arg(fileName), 2);
  if (const QString folder = QFileInfo(fileName).path(); !QFileInfo(folder).isDir()) return fail(QStringLiteral("--export %1: there is no folder %2").arg(fileName, folder), 2);
  if (!force && QFileInfo::exists(fileName)) return fail(QStringLiteral("--export %1: it is there already; --force replaces it").arg(fileName), 2);
  try {
    std::vector<reports::RunFileReader> readers;
    std::vector<const reports::RunFileReader*> views;
    readers.reserve(static_cast<std::size_t>(runs.size()));
    for (const QString& run : runs) readers.emplace_back(QFile::encodeName(run).toStdString());
    for (const reports::RunFileReader& reader : readers) views.push_back(&reader);
    QString wrong;
    if (isPdf(fileName)) {
      const ReportText text = readReport(views);
      wrong = writeReportPdf(text, drawReportCharts(*text.report), fileName);
    } else {
      wrong = writePage(views, fileName);
    }
    return wrong.isEmpty() ? 0 : fail(wrong, 1);
  } catch (const UsageError& error) {
    return fail(plain(error.what()), 2);
  } catch (const std::exception& error) {
    return fail(plain(error.what()), 1);
  }
}

}  // namespace ulpscope::gui
