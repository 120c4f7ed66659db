// File → Export report: the page of `ulpscope report --html`, or a PDF, of the current file.
#include <QFileDialog>
#include <QFileInfo>
#include <QCoreApplication>
#include <QMessageBox>
#include <QPointer>
#include <QSaveFile>
#include <QThreadPool>
#include <exception>
#include <sstream>
#include <string>
#include <utility>

#include "gui/main_window.h"
#include "gui/models/text.h"
#include "gui/report/export_report.h"
#include "gui/report/report_pdf.h"
#include "gui/widgets/message_bar.h"
#include "reports/analysis/report.h"
#include "reports/export/html/page.h"

namespace ulpscope::gui {
namespace {

struct Page {
  std::string bytes{};
  QString wrong{};
};

Page readPage(const reports::RunFileReader& reader) {
  try {
    std::ostringstream page;
    reports::write_html(reports::make_report({&reader}), page);
    return {std::move(page).str(), {}};
  } catch (const std::exception& error) {
    return {{}, plain(error.what())};
  }
}

/// What is wrong; empty if the page was written.
QString writePage(const std::string& bytes, const QString& fileName) {
  QSaveFile file(fileName);
  const auto size = static_cast<qint64>(bytes.size());
  if (file.open(QIODevice::WriteOnly) && file.write(bytes.data(), size) == size && file.commit()) return {};
  return MainWindow::tr("%1 could not be written: %2").arg(fileName, file.errorString());
}

struct Text {
  ReportText text{};
  QString wrong{};
};

Text readText(const reports::RunFileReader& reader) {
  try {
    return {readReport({&reader}), {}};
  } catch (const std::exception& error) {
    return {{}, plain(error.what())};
  }
}

/// In a thread that the program waits for at its end; `said` gets what is wrong in the window's, if it is still there.
template <class Write, class Said>
void writeBeside(MainWindow* window, Write write, Said said) {
  QThreadPool::globalInstance()->start([to = QPointer<MainWindow>(window), write = std::move(write), said] {
    QMetaObject::invokeMethod(qApp, [to, said, wrong = write()] {
      if (to) said(wrong);
    }, Qt::QueuedConnection);
  });
}

}  // namespace

void MainWindow::askWhereToExport() {
  const RunDocument* const document = m_session.current();
  if (document == nullptr || !document->snapshot()) return;
  const QFileInfo of(document->path());
  const QString pdf = tr("Document (*.pdf)"), page = tr("Web page (*.html)");
  QString chosen = pdf;
  QString name = QFileDialog::getSaveFileName(this, tr("Export report"), of.absoluteDir().filePath(of.completeBaseName() + QStringLiteral(".pdf")),
                                              reports::can_write_html() ? pdf + QStringLiteral(";;") + page : pdf, &chosen);
  if (name.isEmpty()) return;
  if (QFileInfo(name).suffix().isEmpty()) {
    name += chosen == page ? QStringLiteral(".html") : QStringLiteral(".pdf");
    // The dialog asked about the name without it.
    if (QFileInfo::exists(name) && QMessageBox::question(this, tr("Export report"), tr("%1 is there already. Is it to be replaced?").arg(name)) != QMessageBox::Yes) return;
  }
  exportReport(name);
}

/// Made in the document's thread, but for the charts; the message bar says when it is there.
void MainWindow::exportReport(const QString& fileName) {
  RunDocument* const document = m_session.current();
  if (document == nullptr) return;
  const QString key = QStringLiteral("export");
  if (const QString why = whyNoReport(fileName); !why.isEmpty()) return m_messages->show(key, Severity::Fault, why);
  m_messages->show(key, Severity::Note, tr("Writing %1 …").arg(fileName));
  const auto said = [this, key, fileName](const QString& wrong) {
    if (wrong.isEmpty()) m_messages->show(key, Severity::Note, tr("The report is in %1").arg(fileName));
    else m_messages->show(key, Severity::Fault, wrong);
  };
  if (QFileInfo(fileName).suffix().compare(QLatin1String("pdf"), Qt::CaseInsensitive) != 0)
    return document->read(this, readPage, [this, said, fileName](const Page& page) {
      if (!page.wrong.isEmpty()) return said(page.wrong);
      writeBeside(this, [bytes = page.bytes, fileName] { return writePage(bytes, fileName); }, said);
    });
  document->read(this, [](const reports::RunFileReader& reader) { return readText(reader); },
                 [this, said, fileName](const Text& text) {
                   if (!text.wrong.isEmpty()) return said(text.wrong);
                   writeBeside(this, [text = text.text, charts = drawReportCharts(*text.text.report), fileName] { return writeReportPdf(text, charts, fileName); }, said);
                 });
}

}  // namespace ulpscope::gui
