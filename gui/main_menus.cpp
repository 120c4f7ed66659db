// Menus of the window that are about the window: View and Help.
#include <QActionGroup>
#include <QCoreApplication>
#include <QDockWidget>
#include <QMenuBar>
#include <QMessageBox>
#include <QSettings>

#include "gui/main_window.h"
#include "gui/panels/panels.h"
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
  menu->addAction(tr("&First layout"), this, &MainWindow::resetLayout);
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
