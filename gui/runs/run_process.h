// `ulpscope run` as a process of its own: it is started, asked to stop as by Ctrl-C, and what it says is its log. How far it is, the
// run file tells (RunDocument); the process is not asked.
#pragma once

#include <QObject>
#include <QProcess>
#include <QTimer>

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
  bool running() const { return m_process.state() != QProcess::NotRunning; }
  const RunRequest& request() const { return m_request; }
  QString command() const { return m_command; }

 signals:
  void started();
  void said(const QString& text);  ///< of its output and its messages
  void fileAppeared(const QString& path);
  /// 0: done; 130: stopped; anything else: a fault, and `lastLine` is what it said last.
  void ended(int code, const QString& lastLine);

 private:
  void read();
  void look();

  QProcess m_process;
  RunRequest m_request;
  QString m_command;
  QString m_lastLine;
  QTimer m_look;
  qint64 m_before = 0;  // when an older run file of this name was written
};

}  // namespace ulpscope::gui
