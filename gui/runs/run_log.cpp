#include "gui/runs/run_log.h"

#include <QDir>
#include <QFileInfo>
#include <QFontDatabase>
#include <QLabel>
#include <QPlainTextEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QTextBlock>
#include <QVBoxLayout>
#include <algorithm>
#include <map>

#include "gui/models/text.h"

namespace ulpscope::gui {

RunLog::RunLog(RunProcess& process, Session& session, QWidget* parent) : QWidget(parent), m_process(process) {
  m_state = new QLabel(tr("no run was started here"), this);
  m_state->setTextInteractionFlags(Qt::TextSelectableByMouse);
  m_stop = new QPushButton(tr("Stop"), this);
  m_stop->setToolTip(tr("Ends the run after its step, as Ctrl-C does; it can be gone on with"));
  m_stop->setEnabled(false);
  m_bars = new QVBoxLayout;
  m_text = new QPlainTextEdit(this);
  m_text->setReadOnly(true);
  m_text->setFont(QFontDatabase::systemFont(QFontDatabase::FixedFont));
  m_text->setLineWrapMode(QPlainTextEdit::NoWrap);
  m_text->setLayoutDirection(Qt::LeftToRight);  // a program's words
  m_text->setMaximumBlockCount(10'000);
  m_text->setAccessibleName(tr("What the run says"));
  auto* const head = new QHBoxLayout;
  head->addWidget(m_state, 1);
  head->addWidget(m_stop);
  auto* const column = new QVBoxLayout(this);
  column->setContentsMargins(8, 4, 8, 8);
  column->addLayout(head);
  column->addLayout(m_bars);
  column->addWidget(m_text, 1);
  connect(m_stop, &QPushButton::clicked, &process, &RunProcess::stop);
  connect(&process, &RunProcess::said, this, &RunLog::add);
  connect(&process, &RunProcess::started, this, [this] {
    m_state->setText(paragraphs(tr("running: %1").arg(m_process.command())));
    m_stop->setEnabled(true);
  });
  connect(&process, &RunProcess::ended, this, [this](int code, const QString&) {
    m_state->setText(code == 0 ? tr("finished") : code == 130 ? (m_process.fileSeen() ? tr("stopped; Run → Resume goes on") : tr("stopped before it began")) : tr("ended with exit code %1").arg(code));
    m_stop->setEnabled(false);
  });
  connect(&session, &Session::changed, this, &RunLog::showProgress);
}

QString RunLog::text() const { return m_text->toPlainText(); }

/// A carriage return begins the line anew, as on a terminal, once something comes after it. What is said may be cut anywhere.
void RunLog::add(const QString& said) {
  QTextCursor end(m_text->document());
  end.movePosition(QTextCursor::End);
  const auto write = [&](QStringView text) {
    if (text.isEmpty()) return;
    if (m_return) {
      end.movePosition(QTextCursor::StartOfBlock, QTextCursor::KeepAnchor);
      end.removeSelectedText();
    }
    m_return = false;
    end.insertText(plain(text.toString().toStdString()));
  };
  qsizetype from = 0;
  for (qsizetype i = 0; i < said.size(); ++i) {
    if (said[i] != QLatin1Char('\n') && said[i] != QLatin1Char('\r')) continue;
    write(QStringView(said).mid(from, i - from));
    from = i + 1;
    m_return = said[i] == QLatin1Char('\r');
    if (!m_return) end.insertText(QStringLiteral("\n"));
  }
  write(QStringView(said).mid(from));
  m_text->setTextCursor(end);
}

void RunLog::showProgress(RunDocument* document) {
  const bool ours = !m_process.request().output.isEmpty() && QFileInfo(m_process.request().output).absoluteFilePath() == document->path();
  if (!ours || !document->snapshot()) return;
  struct Progress {
    std::int64_t done = 0, planned = 0;
    bool known = true;  ///< how many are planned
  };
  std::map<QString, Progress> modes;  // over the seeds that have begun
  for (const RunView& run : document->snapshot()->runs) {
    Progress& mode = modes[plain(run.record.mode)];
    mode.done += run.steps;
    mode.planned += run.record.steps_planned.value_or(0);
    mode.known = mode.known && run.record.steps_planned.has_value();
  }
  while (m_bars->count() > static_cast<int>(modes.size())) {
    QLayoutItem* const item = m_bars->takeAt(0);
    delete item->widget();
    delete item;
  }
  while (m_bars->count() < static_cast<int>(modes.size())) m_bars->addWidget(new QProgressBar(this));
  int row = 0;
  for (const auto& [mode, progress] : modes) {
    auto* const bar = static_cast<QProgressBar*>(m_bars->itemAt(row++)->widget());
    bar->setRange(0, progress.known ? static_cast<int>(std::clamp<std::int64_t>(progress.planned, 1, 2'000'000'000)) : 0);
    bar->setValue(static_cast<int>(std::clamp<std::int64_t>(progress.done, 0, 2'000'000'000)));
    bar->setFormat(progress.known ? tr("%1: step %2 of %3").arg(mode).arg(progress.done).arg(progress.planned)
                                  : tr("%1: step %2, of how many is unknown").arg(mode).arg(progress.done));
    bar->setAccessibleName(mode);
  }
}

}  // namespace ulpscope::gui
