// The nodes of a mode's plan: formats and why, work, bytes, and the time of a step in every mode. With a proxy that sorts by value and
// filters by name, operation or format.
#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>
#include <string>
#include <vector>

#include "reports/analysis/time.h"
#include "reports/run_file/reader.h"

namespace ulpscope::gui {

struct NodeRow {
  reports::NodeRecord node{};
  std::string formats{};                     ///< "fp32, fp16 > fp16": what it reads and writes
  std::vector<reports::Figure> seconds{};    ///< per step, by mode of NodeTable; unknown where it was not timed
  std::vector<std::string> launched_with{};  ///< by mode: the node whose time holds this one's; empty: its own
  reports::TensorCores tensorCores = reports::TensorCores::unknown;  ///< in the plan's own mode
  std::string tensorCoresWhy{};
};

struct NodeTable {
  std::string mode{};                ///< whose plan it is
  std::vector<std::string> modes{};  ///< that were timed, as in TimeReport
  std::vector<NodeRow> rows{};       ///< by position
};

/// mode: of one of the file's runs; empty: the first. Throws UsageError what the reader throws.
NodeTable readNodes(const reports::RunFileReader& reader, const std::string& mode);

class NodesModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { PositionColumn, NameColumn, OperationColumn, PhaseColumn, FormatsColumn, ComputeColumn, FlopsColumn, ReadColumn,
                WrittenColumn, TensorCoresColumn, WhyColumn, FirstTimeColumn };
  enum Role { SortRole = Qt::UserRole };  ///< a number, or a text; invalid: unknown

  explicit NodesModel(QObject* parent = nullptr);
  void setTable(NodeTable table);
  const NodeTable& table() const { return m_table; }
  const NodeRow& row(int row) const { return m_table.rows[static_cast<std::size_t>(row)]; }
  int rowOf(const QString& node) const;  ///< -1: none of this name

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  QVariant display(const NodeRow& row, int column) const;
  QVariant sortKey(const NodeRow& row, int column) const;
  QVariant toolTip(const NodeRow& row, int column) const;

  NodeTable m_table;
};

/// Sorts by SortRole, unknown last in either direction; keeps rows with every word of the filter in name, operation, phase or formats.
class NodesProxy final : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit NodesProxy(QObject* parent = nullptr);
  void setFilter(const QString& words);

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
  bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

 private:
  QStringList m_words;
};

}  // namespace ulpscope::gui
