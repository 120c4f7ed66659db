// The open files and their runs, with a tick for those that are shown and a bar for how far they are.
#pragma once

#include <QTreeView>

#include "gui/models/runs_model.h"

namespace ulpscope::gui {

class RunsView final : public QTreeView {
  Q_OBJECT

 public:
  RunsView(Session& session, Selection& selection, QWidget* parent = nullptr);

 protected:
  void contextMenuEvent(QContextMenuEvent* event) override;

 private:
  RunDocument* documentAt(const QModelIndex& index) const;

  Session& m_session;
  Selection& m_selection;
  RunsModel* m_model;
};

}  // namespace ulpscope::gui
