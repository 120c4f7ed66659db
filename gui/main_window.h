// The window: menus, the runs on one side, the panels as docks, messages above them.
#pragma once

#include <QMainWindow>
#include <map>

#include "gui/models/selection.h"
#include "gui/models/session.h"
#include "gui/runs/run_process.h"

class QMenu;
class QStackedWidget;

namespace ulpscope::gui {

class FilterBar;
class FirstPage;
class MessageBar;
class RunLog;
class SteadyDock;

class MainWindow final : public QMainWindow {
  Q_OBJECT

 public:
  explicit MainWindow(QWidget* parent = nullptr);
  ~MainWindow() override;

  Session& session() { return m_session; }
  Selection& selection() { return m_selection; }
  MessageBar& messages() { return *m_messages; }
  const RunProcess& process() const { return m_process; }
  void open(const QStringList& paths);
  /// Writes the page of `ulpscope report --html` of the current file; the message bar says what came of it.
  void exportReport(const QString& fileName);
  /// Brings the panel up and gives it the keyboard.
  void showPanel(const QString& id);
  /// Where it is and how its panels lie, for the next window.
  void rememberLayout() const;

 signals:
  /// Wants to be made anew in this language.
  void languageWanted(const QString& code);

 protected:
  void closeEvent(QCloseEvent* event) override;
  void dragEnterEvent(QDragEnterEvent* event) override;
  void dropEvent(QDropEvent* event) override;

 private:
  void makeDocks();
  void makeFileMenu();
  void makeViewMenu();
  void makeLanguageMenu(QMenu* menu);
  void makeRunMenu();
  void makeHelpMenu();
  void connectProcess();
  void askForRun(const RunRequest& begin);
  void startRun(const RunRequest& request);
  void resumeRun();
  void startDemo();
  void fillRecent(QMenu* menu);
  void resetLayout();
  void sizeDocks();
  void restoreLayout();
  bool restoreDocks();
  void askWhatToOpen();
  void askWhereToExport();
  void say(RunDocument* document);
  bool mayClose();
  void update();

  Session m_session;
  Selection m_selection;
  RunProcess m_process;
  QStackedWidget* m_pages;
  FirstPage* m_first;
  QMainWindow* m_panels;  // the docks' own window within this one
  MessageBar* m_messages;
  FilterBar* m_filter;
  std::map<QString, QDockWidget*> m_docks;
  std::map<QString, QString> m_said;  // of files in trouble, by path
  QByteArray m_firstLayout;
  QDockWidget* m_runsDock = nullptr;
  SteadyDock* m_steady = nullptr;
  bool m_closeWhenEnded = false;  // the run was asked to stop so that the window can close
  bool m_sized = false;  // once the docks were on show
};

}  // namespace ulpscope::gui
