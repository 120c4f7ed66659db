// Run files side by side, by the machine they were recorded on: figures by mode, and what cannot be compared.
#pragma once

#include <QAbstractTableModel>
#include <QStringList>
#include <memory>
#include <vector>

#include "reports/analysis/machines.h"
#include "reports/run_file/reader.h"

namespace ulpscope::gui {

struct MachinesData {
  std::optional<reports::MachineComparison> machines{};  ///< none: all files are of one device
  QStringList unread{};                                  ///< what is wrong with files that could not be read, a line each
};
/// `others`: paths of the files beside this one. A file that cannot be read is left out and said. Throws what the reader throws.
MachinesData readMachines(const reports::RunFileReader& first, const std::vector<std::string>& others);

/// "12.34 ms", "1.52 ×", "37 %"; "unknown".
QString machineFigureText(const reports::Figure& figure, reports::MachineStyle style);
/// "A: NVIDIA A100".
QString machineTitle(const reports::Machine& machine);
/// Refusals, warnings, notes and files that were not read: a line each.
QStringList machineNotes(const MachinesData& data);

class MachinesModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Role { SectionRole = Qt::UserRole };  ///< true for a row that names a mode

  explicit MachinesModel(QObject* parent = nullptr);
  void setData(std::shared_ptr<const MachinesData> data);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;  ///< the first: what a row is
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  struct Row {
    const reports::MachineMode* mode = nullptr;
    const reports::MachineFigureInfo* figure = nullptr;
    const reports::NodeAcross* node = nullptr;
    bool noRatio = false;  ///< neither: the mode's name, or why there is no ratio
  };
  QString label(const Row& row) const;
  QString cell(const Row& row, std::size_t machine) const;
  QString toolTip(const Row& row, std::size_t machine) const;
  const reports::Figure* figureOf(const Row& row, std::size_t machine) const;

  std::shared_ptr<const MachinesData> m_data;
  std::vector<Row> m_rows;
};

}  // namespace ulpscope::gui
