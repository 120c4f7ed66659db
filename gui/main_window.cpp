#include "gui/main_window.h"

#include <QDockWidget>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QGuiApplication>
#include <QMenuBar>
#include <QMimeData>
#include <QSettings>
#include <QStackedWidget>
#include <QStatusBar>
#include <QTimer>
#include <QToolBar>
#include <QVBoxLayout>
#include <utility>

#include "gui/models/text.h"
#include "gui/panels/panels.h"
#include "gui/runs/run_log.h"
#include "gui/widgets/filter_bar.h"
#include "gui/widgets/first_page.h"
#include "gui/widgets/message_bar.h"
#include "gui/widgets/runs_view.h"
#include "gui/widgets/steady_dock.h"
#include "reports/export/html/page.h"

namespace ulpscope::gui {
namespace {
/// Raised when the docks are others. Docks are not mirrored by Qt: a layout is one reading direction's.
int layoutVersion() { return 2 + (QGuiApplication::isRightToLeft() ? 1000 : 0); }
}

MainWindow::MainWindow(QWidget* parent) : QMainWindow(parent) {
  setWindowTitle(tr("ulpscope"));
  setAcceptDrops(true);
  resize(1280, 800);
  m_panels = new QMainWindow;
  m_panels->setWindowFlags(Qt::Widget);
  m_panels->setDockNestingEnabled(true);
  m_panels->setTabPosition(Qt::AllDockWidgetAreas, QTabWidget::North);
  m_first = new FirstPage(m_session);
  m_first->addButton(tr("Open a recording…"), tr("a run file (.ulp) that was made before, or is being made now"), [this] { askWhatToOpen(); });
  m_first->addButton(tr("Run the demo"), tr("trains a small model in four precision modes, for about a minute, and shows it while it runs"), [this] { startDemo(); });
  m_first->addButton(tr("New run…"), tr("your model and data, in the modes you choose"), [this] { askForRun({}); });
  m_pages = new QStackedWidget;
  m_pages->addWidget(m_first);
  m_pages->addWidget(m_panels);
  m_messages = new MessageBar;
  auto* const centre = new QWidget(this);
  auto* const column = new QVBoxLayout(centre);
  column->setContentsMargins(0, 0, 0, 0);
  column->setSpacing(0);
  column->addWidget(m_messages);
  column->addWidget(m_pages, 1);
  setCentralWidget(centre);

  makeDocks();
  makeFileMenu();
  makeViewMenu();
  makeRunMenu();
  makeHelpMenu();
  QToolBar* const bar = addToolBar(tr("Filter"));
  bar->setObjectName(QStringLiteral("filter"));
  bar->setMovable(false);
  m_filter = new FilterBar(m_selection, bar);
  bar->addWidget(m_filter);

  connect(&m_session, &Session::changed, this, &MainWindow::say);
  connect(&m_session, &Session::changed, this, &MainWindow::update);
  connect(&m_session, &Session::opened, this, &MainWindow::update);
  connect(&m_session, &Session::currentChanged, this, &MainWindow::update);
  connect(&m_session, &Session::closed, this, &MainWindow::update);
  connect(&m_session, &Session::aboutToClose, this, [this](RunDocument* document) {
    m_said.erase(document->path());
    m_messages->remove(document->path());
  });
  connectProcess();
  // A key that is held down asks once.
  for (QAction* action : findChildren<QAction*>()) action->setAutoRepeat(false);
  restoreLayout();
  update();
}

/// What looks at the files goes before them.
MainWindow::~MainWindow() {
  hide();
  delete takeCentralWidget();
}

void MainWindow::makeDocks() {
  const bool mirrored = QGuiApplication::isRightToLeft();
  const Qt::DockWidgetArea beside = mirrored ? Qt::RightDockWidgetArea : Qt::LeftDockWidgetArea;
  const Qt::DockWidgetArea within = mirrored ? Qt::LeftDockWidgetArea : Qt::RightDockWidgetArea;
  const auto add = [this](const QString& id, const QString& title, QWidget* widget, Qt::DockWidgetArea area) {
    auto* const dock = new QDockWidget(title, m_panels);
    dock->setObjectName(id);
    dock->setWidget(widget);
    m_panels->addDockWidget(area, dock);
    m_docks[id] = dock;
    return dock;
  };
  QDockWidget* const runs = add(QStringLiteral("runs"), tr("Runs"), new RunsView(m_session, m_selection), beside);
  m_steady = new SteadyDock(m_panels, runs);  // what a larger window has more of is the panels'
  QDockWidget* first = nullptr;
  for (const PanelInfo& info : panels()) {
    Panel* const panel = info.make({m_session, m_selection}, nullptr);
    connect(panel, &Panel::failed, this, [this](const QString& message) { m_messages->show(message, Severity::Fault, message); });
    connect(panel, &Panel::panelWanted, this, &MainWindow::showPanel);
    QDockWidget* const dock = add(QLatin1String(info.id), titleOf(info), panel, within);
    if (first != nullptr) m_panels->tabifyDockWidget(first, dock);
    else first = dock;
  }
  if (first != nullptr) first->raise();
  add(QStringLiteral("log"), tr("Run log"), new RunLog(m_process, m_session), Qt::BottomDockWidgetArea)->hide();
  m_runsDock = runs;
  m_firstLayout = m_panels->saveState(layoutVersion());
}

void MainWindow::makeFileMenu() {
  QMenu* const menu = menuBar()->addMenu(tr("&File"));
  menu->addAction(tr("&Open…"), QKeySequence::Open, this, &MainWindow::askWhatToOpen);
  QMenu* const recent = menu->addMenu(tr("Open &recent"));
  connect(recent, &QMenu::aboutToShow, this, [this, recent] { fillRecent(recent); });
  menu->addAction(tr("Re&load"), QKeySequence(Qt::Key_F5), &m_session, &Session::reloadAll);
  menu->addAction(tr("&Close file"), QKeySequence::Close, this, [this] {
    if (m_session.current() != nullptr) m_session.close(m_session.current());
  });
  if (reports::can_write_html()) menu->addAction(tr("&Export report…"), QKeySequence(Qt::CTRL | Qt::Key_E), this, &MainWindow::askWhereToExport);
  menu->addSeparator();
  menu->addAction(tr("&Find nodes"), QKeySequence::Find, this, [this] { m_filter->focusNodes(); });
  menu->addSeparator();
  menu->addAction(tr("&Quit"), QKeySequence::Quit, this, &QWidget::close);
}

void MainWindow::fillRecent(QMenu* menu) {
  menu->clear();
  for (const QString& path : m_session.recentFiles()) menu->addAction(path, this, [this, path] { open({path}); });
  if (menu->isEmpty()) {
    menu->addAction(tr("none yet"))->setEnabled(false);
    return;
  }
  menu->addSeparator();
  menu->addAction(tr("Forget them"), &m_session, &Session::clearRecentFiles);
}

/// Narrow runs, wide panels. Only takes once the docks are on show.
void MainWindow::sizeDocks() {
  if (panels().empty()) return;
  m_panels->resizeDocks({m_runsDock, m_docks.at(QLatin1String(panels().front().id))}, {340, 940}, Qt::Horizontal);
  QTimer::singleShot(0, m_steady, &SteadyDock::remember);
}

void MainWindow::resetLayout() {
  m_panels->restoreState(m_firstLayout, layoutVersion());
  sizeDocks();
  for (const auto& [id, dock] : m_docks) dock->setVisible(id != QLatin1String("log") || m_process.running());
  if (!panels().empty()) m_docks.at(QLatin1String(panels().front().id))->raise();
}

void MainWindow::restoreLayout() {
  const QSettings settings;
  restoreGeometry(settings.value(QStringLiteral("window/geometry")).toByteArray());
  restoreDocks();
}

bool MainWindow::restoreDocks() {
  const QByteArray layout = QSettings().value(QStringLiteral("window/layout")).toByteArray();
  const bool done = !layout.isEmpty() && m_panels->restoreState(layout, layoutVersion());
  m_docks.at(QStringLiteral("log"))->setVisible(m_process.running());  // an old log is gone
  return done;
}

void MainWindow::closeEvent(QCloseEvent* event) {
  if (!mayClose()) return event->ignore();
  rememberLayout();
  QMainWindow::closeEvent(event);
}

void MainWindow::rememberLayout() const {
  QSettings settings;
  settings.setValue(QStringLiteral("window/geometry"), saveGeometry());
  settings.setValue(QStringLiteral("window/layout"), m_panels->saveState(layoutVersion()));
}

void MainWindow::open(const QStringList& paths) {
  for (const QString& path : paths) m_session.open(path);
}

void MainWindow::askWhatToOpen() {
  const QString folder = m_session.current() != nullptr ? QFileInfo(m_session.current()->path()).absolutePath() : QString();
  open(QFileDialog::getOpenFileNames(this, tr("Open a recording"), folder, tr("Run files (*.ulp)") + QStringLiteral(";;") + tr("All files (*)")));
}

void MainWindow::showPanel(const QString& id) {
  const auto found = m_docks.find(id);
  if (found == m_docks.end()) return;
  found->second->show();
  found->second->raise();
  found->second->widget()->setFocus(Qt::ShortcutFocusReason);
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
  if (event->mimeData()->hasUrls()) event->acceptProposedAction();
}

void MainWindow::dropEvent(QDropEvent* event) {
  QStringList paths;
  for (const QUrl& url : event->mimeData()->urls()) {
    if (url.isLocalFile()) paths << url.toLocalFile();
    else m_messages->show(url.toString(), Severity::Fault, tr("%1 is not a file on this machine").arg(url.toString()));
  }
  open(paths);
  event->acceptProposedAction();
}

/// Trouble with a file is a line above the panels; the other files stay as they are. It is said once: a line that was dismissed stays
/// away until there is something else to say, or somebody asks anew.
void MainWindow::say(RunDocument* document) {
  const QString path = document->path(), text = document->message();
  if (text.isEmpty()) {
    m_said.erase(path);
    return m_messages->remove(path);
  }
  if (std::exchange(m_said[path], text) == text) return;
  const Severity severity = document->state() == DocumentState::Vanished ? Severity::Warning : Severity::Fault;
  const QPointer<RunDocument> of(document);
  m_messages->show(path, severity, text, {{tr("Try again"), [of] { if (of) of->reload(); }}, {tr("Close file"), [this, of] { if (of) m_session.close(of); }}});
}

void MainWindow::update() {
  RunDocument* const document = m_session.current();
  m_pages->setCurrentWidget(document != nullptr ? static_cast<QWidget*>(m_panels) : m_first);
  if (document != nullptr && !m_sized && isVisible()) {  // sizes take only now
    m_sized = true;
    QTimer::singleShot(0, this, [this] {
      if (!restoreDocks()) sizeDocks();
      m_steady->remember();
    });
  }
  m_filter->parentWidget()->setVisible(document != nullptr);
  if (document == nullptr) {
    setWindowTitle(tr("ulpscope"));
    statusBar()->clearMessage();
    return;
  }
  setWindowTitle(tr("%1 – ulpscope").arg(document->name()));
  statusBar()->showMessage(QStringLiteral("%1 · %2").arg(isolated(QDir::toNativeSeparators(document->path())), stateText(document->state())));
}

}  // namespace ulpscope::gui
