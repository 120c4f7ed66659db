// What the window does with runs: starts them, goes on with them, shows them while they go on.
#include <QDir>
#include <QDockWidget>
#include <QFileInfo>
#include <QStandardPaths>

#include "gui/main_window.h"
#include "gui/runs/run_dialog.h"
#include "gui/widgets/message_bar.h"

namespace ulpscope::gui {
namespace {
const QString messageKey = QStringLiteral("run");
}

void MainWindow::connectProcess() {
  connect(&m_process, &RunProcess::fileAppeared, this, [this](const QString& path) { open({path}); });
  connect(&m_process, &RunProcess::ended, this, [this](int code, const QString& lastLine) {
    constexpr int stopped = 130;
    if (code == 0 || code == stopped) return;
    m_messages->show(messageKey, Severity::Fault, lastLine.isEmpty() ? tr("The run ended with exit code %1").arg(code) : lastLine,
                     {{tr("Show the log"), [this] { showPanel(QStringLiteral("log")); }}});
  });
}

void MainWindow::askForRun(const RunRequest& begin) {
  RunDialog dialog(this);
  if (!begin.experiment.isEmpty()) dialog.setRequest(begin);
  if (dialog.exec() == QDialog::Accepted) startRun(dialog.request());
}

void MainWindow::startRun(const RunRequest& request) {
  m_messages->remove(messageKey);
  QString reason;
  if (!m_process.start(findUlpscope(), request, &reason)) return m_messages->show(messageKey, Severity::Fault, reason);
  m_docks.at(QStringLiteral("log"))->show();
}

void MainWindow::resumeRun() {
  if (m_session.current() == nullptr) return;
  RunRequest request;
  request.output = m_session.current()->path();
  request.resume = true;
  startRun(request);
}

/// Recorded in the user's own folder, so that it works wherever the viewer was started.
void MainWindow::startDemo() {
  const QString demo = findDemo();
  if (demo.isEmpty()) return m_messages->show(messageKey, Severity::Fault, tr("The demo's experiment (examples/demo.toml) is not where the viewer looks for it: beside its build, or in share/ulpscope"));
  const QDir folder(QStandardPaths::writableLocation(QStandardPaths::AppDataLocation));
  if (!folder.mkpath(QStringLiteral("."))) return m_messages->show(messageKey, Severity::Fault, tr("The folder %1 cannot be made").arg(folder.path()));
  RunRequest request;
  request.experiment = demo;
  request.output = folder.filePath(QStringLiteral("demo.ulp"));
  request.replace = true;
  startRun(request);
}

}  // namespace ulpscope::gui
