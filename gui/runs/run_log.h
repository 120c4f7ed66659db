// What a run that the viewer started says, with a bar for each of its modes and a button that stops it.
#pragma once

#include <QWidget>

#include "gui/models/session.h"
#include "gui/runs/run_process.h"

class QLabel;
class QPlainTextEdit;
class QPushButton;
class QVBoxLayout;

namespace ulpscope::gui {

class RunLog final : public QWidget {
  Q_OBJECT

 public:
  RunLog(RunProcess& process, Session& session, QWidget* parent = nullptr);
  QString text() const;

 private:
  void add(const QString& said);
  void showProgress(RunDocument* document);

  RunProcess& m_process;
  QLabel* m_state;
  QPushButton* m_stop;
  QVBoxLayout* m_bars;
  QPlainTextEdit* m_text;
  bool m_return = false;  // a carriage return was the last
};

}  // namespace ulpscope::gui
