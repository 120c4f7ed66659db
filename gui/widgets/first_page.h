// What the window shows while no file is open: how to begin.
#pragma once

#include <QWidget>

#include "gui/models/session.h"

class QVBoxLayout;

namespace ulpscope::gui {

class FirstPage final : public QWidget {
  Q_OBJECT

 public:
  explicit FirstPage(Session& session, QWidget* parent = nullptr);
  void addButton(const QString& label, const QString& about, std::function<void()> act);

 private:
  void showRecent();

  Session& m_session;
  QVBoxLayout* m_buttons;
  QVBoxLayout* m_recent;
};

}  // namespace ulpscope::gui
