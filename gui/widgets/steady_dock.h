// Keeps the width of a dock when its window becomes wider or narrower: the difference is the other docks'. What a person drags stays.
#pragma once

#include <QObject>

class QDockWidget;
class QMainWindow;

namespace ulpscope::gui {

class SteadyDock final : public QObject {
  Q_OBJECT

 public:
  /// Lives as long as the dock.
  SteadyDock(QMainWindow* window, QDockWidget* dock);
  /// The width that it has now is the one to keep.
  void remember();

 protected:
  bool eventFilter(QObject* object, QEvent* event) override;

 private:
  void keep();

  QMainWindow* m_window;
  QDockWidget* m_dock;
  int m_width = 0;  // of the dock; 0: none to keep yet
  int m_tries = 0;  // since the window became another one
};

}  // namespace ulpscope::gui
