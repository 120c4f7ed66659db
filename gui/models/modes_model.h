// The modes side by side: a row for each figure of the comparison, a column for each mode, in sections.
#pragma once

#include <QAbstractTableModel>
#include <memory>
#include <string_view>
#include <vector>

#include "reports/analysis/compare.h"

namespace ulpscope::gui {

class ModesModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Role { SectionRole = Qt::UserRole };  ///< true for a row that is the heading of a section

  explicit ModesModel(QObject* parent = nullptr);
  void setComparison(std::shared_ptr<const reports::Comparison> comparison);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  struct Row {
    const reports::FigureInfo* figure = nullptr;  ///< none: the heading of a section, or the verdict
    const char* label = "";
    bool section = false;
    bool verdict = false;
  };
  void makeRows();
  void addSection(std::string_view section);
  QString cell(const Row& row, const reports::ModeResult& mode) const;
  reports::Provenance sectionProvenance(const char* section, const reports::ModeResult& mode) const;

  std::shared_ptr<const reports::Comparison> m_comparison;
  std::vector<Row> m_rows;
};

/// "fp16", "B fp16" where there are several settings.
QString modeTitle(const reports::ModeResult& mode);

}  // namespace ulpscope::gui
