// The filter that all panels share: from which step to which, and part of the names of nodes. Ctrl+F leads here.
#pragma once

#include <QWidget>

#include "gui/models/selection.h"

class QLineEdit;
class QToolButton;

namespace ulpscope::gui {

class FilterBar final : public QWidget {
  Q_OBJECT

 public:
  explicit FilterBar(Selection& selection, QWidget* parent = nullptr);
  void focusNodes();

 private:
  void takeSteps();
  void show();

  Selection& m_selection;
  QLineEdit* m_first;
  QLineEdit* m_last;
  QLineEdit* m_nodes;
  QToolButton* m_clear;
};

}  // namespace ulpscope::gui
