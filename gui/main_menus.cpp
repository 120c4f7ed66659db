// Menus of the window that are about the window: View and Help.
#include <QActionGroup>
#include <QCoreApplication>
#include <QDockWidget>
#include <QMenuBar>
#include <QMessageBox>
#include <QSettings>

#include "gui/language.h"
#include "gui/main_window.h"
#include "gui/panels/panels.h"
#include "gui/widgets/message_bar.h"
#include "gui/widgets/theme.h"

namespace ulpscope::gui {

void MainWindow::makeViewMenu() {
  QMenu* const menu = menuBar()->addMenu(tr("&View"));
  for (const PanelInfo& info : panels()) {
    const QString id = QLatin1String(info.id);
    menu->addAction(titleOf(info), QKeySequence(QLatin1String(info.shortcut)), this, [this, id] { showPanel(id); });
  }
  menu->addAction(m_docks.at(QStringLiteral("runs"))->toggleViewAction());
  menu->addSeparator();
  QMenu* const themes = menu->addMenu(tr("&Colours"));
  auto* const group = new QActionGroup(this);
  const int chosen = QSettings().value(QStringLiteral("window/theme"), 0).toInt();
  const std::pair<Theme, QString> choices[] = {{Theme::System, tr("As the system")}, {Theme::Light, tr("Light")}, {Theme::Dark, tr("Dark")}};
  for (const auto& [theme, label] : choices) {
    QAction* const action = themes->addAction(label);
    action->setCheckable(true);
    action->setChecked(static_cast<int>(theme) == chosen);
    group->addAction(action);
    const Theme choice = theme;
    connect(action, &QAction::triggered, this, [choice] {
      QSettings().setValue(QStringLiteral("window/theme"), static_cast<int>(choice));
      applyTheme(choice);
    });
  }
  makeLanguageMenu(menu->addMenu(tr("&Language")));
  menu->addAction(tr("&First layout"), this, &MainWindow::resetLayout);
}

/// Each language by its own name, for who cannot read the one that is on.
void MainWindow::makeLanguageMenu(QMenu* menu) {
  menu->setObjectName(QStringLiteral("languages"));
  auto* const group = new QActionGroup(this);
  const QString chosen = QSettings().value(QStringLiteral("window/language")).toString();
  const auto add = [&](const QString& label, const QString& code) {
    QAction* const action = menu->addAction(label);
    action->setObjectName(code);
    action->setCheckable(true);
    action->setChecked(code == chosen);
    group->addAction(action);
    connect(action, &QAction::triggered, this, [this, code] {
      QSettings().setValue(QStringLiteral("window/language"), code);
      const QString wanted = chosenLanguage();
      if (wanted == usedLanguage()) return;
      if (!m_process.running()) return emit languageWanted(wanted);
      m_messages->show(QStringLiteral("language"), Severity::Note, tr("A run is going on: the language changes when the viewer is started anew"));
    });
  };
  add(tr("As the system"), QString());
  for (const Language& language : languages()) add(QString::fromUtf8(language.name), QLatin1String(language.code));
}

void MainWindow::makeRunMenu() {
  QMenu* const menu = menuBar()->addMenu(tr("&Run"));
  menu->addAction(tr("&New run…"), QKeySequence::New, this, [this] { askForRun({}); });
  QAction* const resume = menu->addAction(tr("&Resume"), this, &MainWindow::resumeRun);
  resume->setToolTip(tr("Goes on with the current file, which was interrupted or cut off"));
  QAction* const stop = menu->addAction(tr("&Stop"), &m_process, &RunProcess::stop);
  menu->addAction(tr("Run the &demo"), this, &MainWindow::startDemo);
  menu->addAction(m_docks.at(QStringLiteral("log"))->toggleViewAction());
  connect(menu, &QMenu::aboutToShow, this, [this, resume, stop] {
    const RunDocument* const document = m_session.current();
    resume->setEnabled(!m_process.running() && document != nullptr && document->snapshot() && document->state() != DocumentState::Live);
    stop->setEnabled(m_process.running());
  });
}

void MainWindow::makeHelpMenu() {
  QMenu* const menu = menuBar()->addMenu(tr("&Help"));
  menu->addAction(tr("&About"), this, [this] {
    QMessageBox::about(this, tr("About ulpscope"),
                       tr("<p><b>ulpscope %1</b>: the viewer of recordings.</p>"
                          "<p>The viewer is free software under the GNU General Public License, version 3, as QCustomPlot is, with which it draws. "
                          "It comes without any warranty.</p>").arg(QCoreApplication::applicationVersion()));
  });
  menu->addAction(tr("About &Qt"), this, [this] { QMessageBox::aboutQt(this); });
}

}  // namespace ulpscope::gui
