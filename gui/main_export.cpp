// File → Export report: the page of `ulpscope report --html`, of the current file.
#include <QFileDialog>
#include <QFileInfo>
#include <QSaveFile>
#include <exception>
#include <sstream>

#include "gui/main_window.h"
#include "gui/models/text.h"
#include "gui/widgets/message_bar.h"
#include "reports/analysis/report.h"
#include "reports/export/html/page.h"

namespace ulpscope::gui {
namespace {

/// What is wrong; empty if the page was written.
QString writePage(const reports::RunFileReader& reader, const QString& fileName) {
  try {
    std::ostringstream page;
    reports::write_html(reports::make_report({&reader}), page);
    const std::string bytes = std::move(page).str();
    QSaveFile file(fileName);
    const auto size = static_cast<qint64>(bytes.size());
    if (file.open(QIODevice::WriteOnly) && file.write(bytes.data(), size) == size && file.commit()) return {};
    return MainWindow::tr("%1 could not be written: %2").arg(fileName, file.errorString());
  } catch (const std::exception& error) {
    return plain(error.what());
  }
}

}  // namespace

void MainWindow::askWhereToExport() {
  const RunDocument* const document = m_session.current();
  if (document == nullptr || !document->snapshot()) return;
  const QFileInfo of(document->path());
  const QString name = QFileDialog::getSaveFileName(this, tr("Export report"), of.absoluteDir().filePath(of.completeBaseName() + QStringLiteral(".html")), tr("Web page (*.html)"));
  if (!name.isEmpty()) exportReport(name);
}

/// Made in the document's thread; the message bar says when it is there.
void MainWindow::exportReport(const QString& fileName) {
  RunDocument* const document = m_session.current();
  if (document == nullptr) return;
  const QString key = QStringLiteral("export");
  m_messages->show(key, Severity::Note, tr("Writing %1 …").arg(fileName));
  document->read(this, [fileName](const reports::RunFileReader& reader) { return writePage(reader, fileName); },
                 [this, key, fileName](const QString& wrong) {
                   if (wrong.isEmpty()) m_messages->show(key, Severity::Note, tr("The report is in %1").arg(fileName));
                   else m_messages->show(key, Severity::Fault, wrong);
                 });
}

}  // namespace ulpscope::gui
