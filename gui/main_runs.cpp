// What the window does with runs: starts them, goes on with them, shows them while they go on.
#include <QDir>
#include <QDockWidget>
#include <QFileInfo>
#include <QMessageBox>
#include <QPushButton>
#include <QStandardPaths>
#include <QTimer>
#include <utility>

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
    if (m_closeWhenEnded) return QTimer::singleShot(0, this, &QWidget::close), void();
    if (code == 0 || code == stopped) return;
    m_messages->show(messageKey, Severity::Fault, lastLine.isEmpty() ? tr("The run ended with exit code %1").arg(code) : lastLine,
                     {{tr("Show the log"), [this] { showPanel(QStringLiteral("log")); }}});
  });
}

/// Asks what is to become of a run that goes on.
bool MainWindow::mayClose() {
  if (!m_process.running()) return true;
  QMessageBox box(this);
  box.setObjectName(QStringLiteral("run-goes-on"));
  box.setIcon(QMessageBox::Question);
  box.setWindowTitle(tr("A run is going on"));
  box.setText(m_process.stopping() ? tr("The run was asked to stop and ends after its step.") : tr("A run that was started here is still going on."));
  box.setInformativeText(tr("Stopped, it ends after its step, and Run → Resume goes on with it. Left to go on, it needs no viewer; its messages go to %1.").arg(m_process.logFile()));
  QPushButton* const stop = box.addButton(tr("Stop it and close"), QMessageBox::AcceptRole);
  QPushButton* const leave = box.addButton(tr("Let it go on and close"), QMessageBox::DestructiveRole);
  QPushButton* const cancel = box.addButton(tr("Do not close"), QMessageBox::RejectRole);
  stop->setObjectName(QStringLiteral("stop"));
  leave->setObjectName(QStringLiteral("leave"));
  cancel->setObjectName(QStringLiteral("cancel"));
  box.setDefaultButton(stop);
  box.setEscapeButton(cancel);
  connect(&m_process, &RunProcess::ended, &box, &QDialog::reject);  // nothing to ask any more
  const bool closing = std::exchange(m_closeWhenEnded, false);
  box.exec();
  if (!m_process.running()) return box.clickedButton() != cancel;
  if (box.clickedButton() == leave) m_process.letGo();
  if (box.clickedButton() != stop) {
    if (closing) m_messages->remove(messageKey);  // that said that it closes
    return box.clickedButton() == leave;
  }
  m_closeWhenEnded = true;
  m_messages->show(messageKey, Severity::Note, tr("The run ends after its step; then the window closes"), {{tr("Do not close"), [this] {
                     m_closeWhenEnded = false;
                     m_messages->remove(messageKey);
                   }}});
  m_process.stop();
  return false;
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
