// The form for a new run: what is trained on what, in which modes; the command line that does the same can be copied.
#pragma once

#include <QDialog>
#include <functional>

#include "gui/runs/run_request.h"

class QCheckBox;
class QComboBox;
class QFormLayout;
class QLabel;
class QLineEdit;
class QListWidget;
class QPushButton;
class QSpinBox;

namespace ulpscope::gui {

class RunDialog final : public QDialog {
  Q_OBJECT

 public:
  explicit RunDialog(QWidget* parent = nullptr);
  RunRequest request() const;
  /// Fills the form.
  void setRequest(const RunRequest& request);
  /// What is missing or wrong; empty: it can be started.
  QString problem() const;

 private:
  QWidget* makeModes();
  QLineEdit* makePath(QFormLayout* form, const QString& label, const QString& hint, std::function<QString()> ask);
  void update();

  QLineEdit* m_experiment;
  QComboBox* m_model;
  QLineEdit* m_data;
  QListWidget* m_modes;
  QSpinBox* m_steps;
  QSpinBox* m_seeds;
  QLineEdit* m_output;
  QCheckBox* m_replace;
  QLineEdit* m_command;
  QLabel* m_problem;
  QPushButton* m_start;
};

}  // namespace ulpscope::gui
