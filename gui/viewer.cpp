#include "gui/viewer.h"

#include "gui/language.h"

namespace ulpscope::gui {

Viewer::Viewer(QObject* parent) : QObject(parent) { show(); }
Viewer::~Viewer() = default;

void Viewer::show() {
  m_window = std::make_unique<MainWindow>();
  // Not from within the menu of the window that goes.
  connect(m_window.get(), &MainWindow::languageWanted, this, &Viewer::changeLanguage, Qt::QueuedConnection);
  m_window->show();
}

void Viewer::changeLanguage(const QString& code) {
  QStringList paths;
  for (const RunDocument* document : m_window->session().documents()) paths << document->path();
  const QString current = m_window->session().current() != nullptr ? m_window->session().current()->path() : QString();
  m_window->rememberLayout();
  const std::unique_ptr<MainWindow> old = std::move(m_window);  // stays until the new one is there: without a window the program ends
  useLanguage(code);
  show();
  m_window->open(paths);
  if (!current.isEmpty()) m_window->open({current});
}

}  // namespace ulpscope::gui
