// Memory at the peak: a row for each category, a column for each mode.
#pragma once

#include <QAbstractTableModel>
#include <QColor>
#include <vector>

#include "gui/models/sections.h"

namespace ulpscope::gui {

QString categoryText(reports::MemoryCategory category);
/// The same in charts and tables.
QColor categoryColour(reports::MemoryCategory category);
/// In the order in which they are stacked: what stays over steps first.
const std::vector<reports::MemoryCategory>& stackedCategories();

class MemoryModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  explicit MemoryModel(QObject* parent = nullptr);
  /// `shown`: indices into data->section.modes.
  void setData(std::shared_ptr<const MemoryData> data, std::vector<std::size_t> shown);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;  ///< the first: what a row is
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  enum class Row : std::uint8_t { Category, Peak, Predicted, Ratio };
  struct Line {
    Row row = Row::Category;
    reports::MemoryCategory category{};
  };
  const reports::ModeMemory& mode(int column) const { return m_data->section.modes[m_shown[static_cast<std::size_t>(column - 1)]]; }
  QString label(const Line& line) const;
  QString display(const Line& line, int column) const;
  QString toolTip(const Line& line, int column) const;

  std::shared_ptr<const MemoryData> m_data;
  std::vector<std::size_t> m_shown;
  std::vector<Line> m_lines;
};

}  // namespace ulpscope::gui
