// The program around its window: makes it anew, with the same files, when another language is chosen.
#pragma once

#include <QObject>
#include <QStringList>
#include <memory>

#include "gui/main_window.h"

namespace ulpscope::gui {

class Viewer final : public QObject {
  Q_OBJECT

 public:
  explicit Viewer(QObject* parent = nullptr);
  ~Viewer() override;
  MainWindow& window() { return *m_window; }

 private:
  void show();
  void changeLanguage(const QString& code);
  std::unique_ptr<MainWindow> m_window;
};

}  // namespace ulpscope::gui
