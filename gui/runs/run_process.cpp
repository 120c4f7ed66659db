#include "gui/runs/run_process.h"

#include <QDir>
#include <QFileInfo>
#include <algorithm>
#include <csignal>
#include <sys/types.h>
#include <unistd.h>
#include <vector>

namespace ulpscope::gui {
namespace {

constexpr int lookEveryMs = 100;
constexpr int patienceMs = 5000;
constexpr int stopped = 130;  // of ulpscope after Ctrl-C

/// In the child, before the program begins. A shell that starts the viewer in the background has it ignore Ctrl-C's signal, which would
/// be handed on: then nothing could stop the run. In a session of its own: what ends the viewer in its terminal (Ctrl-C, the terminal that
/// is closed) does not end a run that is to go on without it.
void hearSignals() {
  ::setsid();
  std::signal(SIGINT, SIG_DFL);
  std::signal(SIGTERM, SIG_DFL);
  sigset_t both;
  sigemptyset(&both);
  sigaddset(&both, SIGINT);
  sigaddset(&both, SIGTERM);
  sigprocmask(SIG_UNBLOCK, &both, nullptr);
}

}  // namespace

RunProcess::RunProcess(QObject* parent) : QObject(parent) {
  m_look.setInterval(lookEveryMs);
  connect(&m_look, &QTimer::timeout, this, [this] {
    read();
    look();
  });
  makeProcess();
}

void RunProcess::makeProcess() {
  m_process = std::make_unique<QProcess>();
  m_process->setProcessChannelMode(QProcess::MergedChannels);
  m_process->setStandardInputFile(QProcess::nullDevice());
  m_process->setChildProcessModifier(hearSignals);
  connect(m_process.get(), &QProcess::started, this, [this] {
    if (m_stopping) interrupt();
    emit started();
  });
  connect(m_process.get(), &QProcess::finished, this, &RunProcess::finished);
  connect(m_process.get(), &QProcess::errorOccurred, this, [this](QProcess::ProcessError error) {
    if (error != QProcess::FailedToStart) return;
    m_look.stop();
    emit ended(-1, m_process->errorString());
  });
}

RunProcess::~RunProcess() {
  if (!running()) return;
  m_process->disconnect(this);
  if (m_process->waitForStarted(patienceMs)) interrupt();
  m_process->waitForFinished(patienceMs);
}

bool RunProcess::start(const QString& program, const RunRequest& request, QString* reason) {
  const auto refuse = [&](const QString& why) {
    if (reason != nullptr) *reason = why;
    return false;
  };
  if (running()) return refuse(tr("A run is going on already; stop it first, or wait for its end"));
  if (program.isEmpty()) return refuse(tr("The program ulpscope is neither beside the viewer nor in PATH"));
  m_reader.close();
  m_log = std::make_unique<QTemporaryFile>(QDir::temp().filePath(QStringLiteral("ulpscope-run-XXXXXX.log")));
  if (!m_log->open()) return refuse(tr("%1 could not be written: %2").arg(m_log->fileTemplate(), m_log->errorString()));
  m_reader.setFileName(m_log->fileName());
  if (!m_reader.open(QIODevice::ReadOnly | QIODevice::Unbuffered)) return refuse(tr("%1 could not be read: %2").arg(m_log->fileName(), m_reader.errorString()));
  m_decoder = QStringDecoder(QStringDecoder::Utf8);
  m_request = request;
  m_command = commandLine(QStringLiteral("ulpscope"), request.arguments());
  m_line.clear();
  m_lastLine.clear();
  m_stopping = m_fileSeen = false;
  m_before = request.resume ? std::nullopt : identityOf(request.output);
  emit said(QStringLiteral("$ %1\n").arg(m_command));
  m_process->setStandardOutputFile(m_log->fileName(), QIODevice::Append);
  m_process->start(program, request.arguments(), QIODevice::ReadOnly);
  m_look.start();
  return true;
}

void RunProcess::stop() {
  if (!running()) return;
  m_stopping = true;
  if (m_process->state() == QProcess::Running) interrupt();  // else as soon as it does: a child that is only being made may not hear it yet
}

void RunProcess::interrupt() {
  if (m_process->processId() > 0) ::kill(static_cast<pid_t>(m_process->processId()), SIGINT);
}

void RunProcess::letGo() {
  if (!running()) return;
  m_look.stop();
  m_log->setAutoRemove(false);
  m_process->disconnect(this);
  // A QProcess that ends takes its process with it: these never end.
  static auto* const left = new std::vector<QProcess*>;
  left->push_back(m_process.release());
  makeProcess();
}

void RunProcess::finished(int code, QProcess::ExitStatus status) {
  m_look.stop();
  read();
  look();
  if (!m_line.trimmed().isEmpty()) m_lastLine = m_line.trimmed();
  // A signal that comes before the program listens ends it at once: it was stopped all the same.
  const bool byOurSignal = m_stopping && status == QProcess::CrashExit && code == SIGINT;
  emit ended(byOurSignal ? stopped : status == QProcess::NormalExit ? code : -1, m_lastLine);
}

/// What is new in the log. A character that is not all there yet waits in the decoder.
void RunProcess::read() {
  const QByteArray bytes = m_reader.readAll();
  if (bytes.isEmpty()) return;
  const QString text = m_decoder(bytes);
  if (text.isEmpty()) return;
  const QStringList lines = (m_line + text).split(QLatin1Char('\n'));
  for (qsizetype i = 0; i + 1 < lines.size(); ++i) {
    if (const QString line = lines[i].trimmed(); !line.isEmpty()) m_lastLine = line.mid(line.lastIndexOf(QLatin1Char('\r')) + 1);
  }
  m_line = lines.back().mid(std::max<qsizetype>(0, lines.back().lastIndexOf(QLatin1Char('\r'))));
  emit said(text);
}

/// A new file takes the place of an older one by a rename: it is the new one when it is another file.
void RunProcess::look() {
  if (m_fileSeen || m_request.output.isEmpty()) return;
  const std::optional<FileIdentity> now = identityOf(m_request.output);
  if (!now || now == m_before) return;
  m_fileSeen = true;
  emit fileAppeared(m_request.output);
}

}  // namespace ulpscope::gui
