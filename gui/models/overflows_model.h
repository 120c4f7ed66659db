// Steps whose gradients were not finite, with the operation it began in; a proxy that filters them; the diagnosis of one in words; and
// what is around its operation.
#pragma once

#include <QAbstractTableModel>
#include <QSet>
#include <QSortFilterProxyModel>

#include "gui/models/sections.h"

namespace ulpscope::gui {

class OverflowsModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { StepColumn, RunColumn, KindColumn, NodeColumn, OperationColumn, PhaseColumn, TensorColumn, FormatColumn, NotFiniteColumn, GreatestColumn,
                ScaleColumn, FateColumn, ColumnCount };
  enum Role {
    SortRole = Qt::UserRole,  ///< a number, or a text; invalid: unknown
    KindRole,                 ///< texts that filters go by; KindRole as KindColumn shows it
    ModeRole,
    LayerRole,
    RunIdRole,                ///< qlonglong
  };

  explicit OverflowsModel(QObject* parent = nullptr);
  void setData(std::shared_ptr<const OverflowsData> data);
  const std::shared_ptr<const OverflowsData>& source() const { return m_data; }
  const reports::OverflowEvent& event(int row) const { return m_data->section.events[static_cast<std::size_t>(row)]; }
  const reports::ReportRun& run(int row) const { return m_data->runs[event(row).run]; }
  /// -1: there is none.
  int rowOf(reports::RunId run, std::int64_t step) const;
  /// Different texts of a role, in the order of the rows.
  QStringList choices(Role role) const;

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  QString display(int row, int column) const;
  QString toolTip(int row, int column) const;
  QVariant sortKey(int row, int column) const;
  QString kind(const reports::OverflowEvent& event) const;

  std::shared_ptr<const OverflowsData> m_data;
};

struct OverflowFilter {
  QString kind{}, mode{}, layer{};  ///< empty: all
  QString words{};                  ///< of names of nodes and tensors
  QSet<qlonglong> hidden{};         ///< runs
  std::optional<std::pair<std::int64_t, std::int64_t>> steps{};  ///< first <= iteration < end
  friend bool operator==(const OverflowFilter&, const OverflowFilter&) = default;
};

class OverflowsProxy final : public QSortFilterProxyModel {
  Q_OBJECT

 public:
  explicit OverflowsProxy(QObject* parent = nullptr);
  void setFilter(OverflowFilter filter);

 protected:
  bool filterAcceptsRow(int row, const QModelIndex& parent) const override;
  bool lessThan(const QModelIndex& left, const QModelIndex& right) const override;

 private:
  OverflowFilter m_filter;
};

/// What is known of an event, as rich text: what happened, why, how far it goes, what may help.
QString overflowText(const OverflowsData& data, std::size_t event);
/// What the diagnosis says of the runs themselves, likewise; `hidden`: ids of runs that are left out.
QString verdictsText(const OverflowsData& data, const QSet<qlonglong>& hidden);

/// What an operation reads and makes.
class OperandsModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { DirectionColumn, TensorColumn, FormatColumn, ShapeColumn, OthersColumn, NotFiniteColumn, GreatestColumn, ColumnCount };

  explicit OperandsModel(QObject* parent = nullptr);
  void setNeighbourhood(Neighbourhood around);

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  Neighbourhood m_around;
};

}  // namespace ulpscope::gui
