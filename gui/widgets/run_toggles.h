// A button for each mode and each seed of the current file, in its colour: shows and hides its runs in every panel.
#pragma once

#include <QWidget>

#include "gui/models/selection.h"
#include "gui/models/session.h"

class QHBoxLayout;
class QToolButton;

namespace ulpscope::gui {

class RunToggles final : public QWidget {
  Q_OBJECT

 public:
  RunToggles(Session& session, Selection& selection, QWidget* parent = nullptr);

 private:
  void update();
  void make(const QStringList& modes, const QList<std::int64_t>& seeds);
  void setShown(const std::function<bool(const RunView&)>& which, bool shown);
  bool anyShown(const std::function<bool(const RunView&)>& which) const;

  Session& m_session;
  Selection& m_selection;
  QHBoxLayout* m_row;
  QStringList m_modes;
  QList<std::int64_t> m_seeds;
  std::vector<std::pair<QToolButton*, std::function<bool(const RunView&)>>> m_buttons;
};

}  // namespace ulpscope::gui
