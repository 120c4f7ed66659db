// Runs that scale their loss: a row each, with the window of scales that suit its gradients.
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "gui/models/sections.h"

namespace ulpscope::gui {

/// "32 … 8192", "up to 8192", "every scale", "no scale suits all layers"; "unknown" if nothing was observed.
QString windowText(const std::optional<reports::LossScaleWindow>& window);

class ScaleModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { RunColumn, FirstColumn, LastColumn, ChangesColumn, OverflowsColumn, WindowColumn, LowestColumn, HighestColumn, ColumnCount };

  explicit ScaleModel(QObject* parent = nullptr);
  /// `shown`: indices into data->section.runs.
  void setData(std::shared_ptr<const ScaleData> data, std::vector<std::size_t> shown);
  const reports::ScaleHistory& history(int row) const { return m_data->section.runs[m_shown[static_cast<std::size_t>(row)]]; }
  const reports::ReportRun& run(int row) const { return m_data->runs[history(row).run]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  QString display(int row, int column) const;
  QString toolTip(int row, int column) const;

  std::shared_ptr<const ScaleData> m_data;
  std::vector<std::size_t> m_shown;
};

}  // namespace ulpscope::gui
