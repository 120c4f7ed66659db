// `ulpscope run` as a process of its own: it is started, asked to stop as by Ctrl-C, and what it says is its log. How far it is, the
// run file tells (RunDocument); the process is not asked.
//
// What it says goes through a file and not through a pipe, so that it can be left to go on without the viewer.
#pragma once

#include <QFile>
#include <QObject>
#include <QProcess>
#include <QStringDecoder>
#include <QTemporaryFile>
#include <QTimer>
#include <memory>

#include "gui/models/file_identity.h"
#include "gui/runs/run_request.h"

namespace ulpscope::gui {

class RunProcess final : public QObject {
  Q_OBJECT

 public:
  explicit RunProcess(QObject* parent = nullptr);
  /// A run that is still going on is asked to stop, and waited for a moment.
  ~RunProcess() override;

  /// Refused (false and a line for people) if one is running, or the program is not there.
  bool start(const QString& program, const RunRequest& request, QString* reason);
  /// As Ctrl-C: the run ends after its step and can be gone on with.
  void stop();
  /// The run goes on by itself from now on, also when the viewer has ended; here it is known no more. What it says stays in logFile().
  void letGo();
  bool running() const { return m_process->state() != QProcess::NotRunning; }
  bool stopping() const { return m_stopping && running(); }
  qint64 processId() const { return m_process->processId(); }
  /// Whether the run file of this run is there.
  bool fileSeen() const { return m_fileSeen; }
  const RunRequest& request() const { return m_request; }
  QString command() const { return m_command; }
  QString logFile() const { return m_log ? m_log->fileName() : QString(); }

 signals:
  void started();
  void said(const QString& text);  ///< of its output and its messages; whole characters, not always whole lines
  void fileAppeared(const QString& path);
  /// 0: done; 130: stopped; anything else: a fault, and `lastLine` is what it said last.
  void ended(int code, const QString& lastLine);

 private:
  void makeProcess();
  void interrupt();
  void finished(int code, QProcess::ExitStatus status);
  void read();
  void look();

  std::unique_ptr<QProcess> m_process;
  std::unique_ptr<QTemporaryFile> m_log;
  QFile m_reader;  // of the log
  QStringDecoder m_decoder;
  RunRequest m_request;
  QString m_command;
  QString m_line;      // that has begun and not ended
  QString m_lastLine;  // of those with something in them
  QTimer m_look;
  std::optional<FileIdentity> m_before;  // an older run file of this name
  bool m_fileSeen = false;
  bool m_stopping = false;
};

}  // namespace ulpscope::gui
