#include "gui/runs/run_process.h"

#include <QDateTime>
#include <QFileInfo>
#include <csignal>
#include <sys/types.h>

namespace ulpscope::gui {
namespace {
constexpr int lookEveryMs = 200;
constexpr int patienceMs = 5000;

qint64 fileId(const QString& path) {
  const QFileInfo file(path);
  return file.exists() ? file.fileTime(QFileDevice::FileBirthTime).toMSecsSinceEpoch() : 0;
}
}  // namespace

RunProcess::RunProcess(QObject* parent) : QObject(parent) {
  m_process.setProcessChannelMode(QProcess::MergedChannels);
  m_look.setInterval(lookEveryMs);
  connect(&m_look, &QTimer::timeout, this, &RunProcess::look);
  connect(&m_process, &QProcess::started, this, &RunProcess::started);
  connect(&m_process, &QProcess::readyRead, this, &RunProcess::read);
  connect(&m_process, &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    m_look.stop();
    emit ended(-1, m_process.errorString());
  });
  connect(&m_process, &QProcess::finished, this, [this](int code, QProcess::ExitStatus status) {
    m_look.stop();
    read();
    look();
    emit ended(status == QProcess::NormalExit ? code : -1, m_lastLine);
  });
}

RunProcess::~RunProcess() {
  if (!running()) return;
  m_process.disconnect(this);
  stop();
  m_process.waitForFinished(patienceMs);
}

bool RunProcess::start(const QString& program, const RunRequest& request, QString* reason) {
  const auto refuse = [&](const QString& why) {
    if (reason != nullptr) *reason = why;
    return false;
  };
  if (running()) return refuse(tr("A run is going on already; stop it first, or wait for its end"));
  if (program.isEmpty()) return refuse(tr("The program ulpscope is neither beside the viewer nor in PATH"));
  m_request = request;
  m_command = commandLine(QStringLiteral("ulpscope"), request.arguments());
  m_lastLine.clear();
  m_before = request.resume ? 0 : fileId(request.output);
  emit said(QStringLiteral("$ %1\n").arg(m_command));
  m_process.start(program, request.arguments(), QIODevice::ReadOnly);
  m_look.start();
  return true;
}

void RunProcess::stop() {
  if (m_process.processId() > 0) ::kill(static_cast<pid_t>(m_process.processId()), SIGINT);
}

void RunProcess::read() {
  const QString text = QString::fromUtf8(m_process.readAll());
  if (text.isEmpty()) return;
  const QStringList lines = text.split(QLatin1Char('\n'), Qt::SkipEmptyParts);
  if (!lines.isEmpty()) m_lastLine = lines.back().trimmed();
  emit said(text);
}

/// A new file takes the place of an older one by a rename: it is the new one when it is another file.
void RunProcess::look() {
  if (m_request.output.isEmpty()) return;
  const qint64 now = fileId(m_request.output);
  if (now == 0 || now == m_before) return;
  m_look.stop();
  emit fileAppeared(m_request.output);
}

}  // namespace ulpscope::gui
