// What a piece of a timeline's row adds up to, by name; as a table that can be sorted.
#pragma once

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>
#include <vector>

#include "gui/models/timeline.h"

namespace ulpscope::gui {

/// Spans of one name. Of what reaches over the edges only what lies within counts.
struct NameSum {
  std::uint32_t name = 0;
  std::int64_t count = 0;      ///< that lie there, if only in part
  std::int64_t total = 0;      ///< ns
  std::int64_t greatest = 0;   ///< ns
  std::size_t longest = 0;     ///< that span
};

struct RangeSum {
  int row = -1;  ///< in Timeline::rows; -1: none
  std::int64_t from = 0, to = 0;
  std::int64_t count = 0;
  std::int64_t total = 0;
  std::int64_t untimed = 0;  ///< steps there without a wall time: in no count and no sum
  std::vector<NameSum> names{};  ///< by total, the greatest first
};

RangeSum sumsOf(const Timeline& timeline, int row, std::int64_t from, std::int64_t to);

class TimelineSumsModel final : public QAbstractTableModel {
  Q_OBJECT

 public:
  enum Column { NameColumn, CountColumn, TotalColumn, ShareColumn, MeanColumn, GreatestColumn, ColumnCount };
  enum Role { SortRole = Qt::UserRole };
  static constexpr std::size_t mostNames = 2000;

  explicit TimelineSumsModel(QObject* parent = nullptr) : QAbstractTableModel(parent) {}
  void setSums(TimelinePointer timeline, RangeSum sums);
  const RangeSum& sums() const { return m_sums; }
  const NameSum& name(int row) const { return m_sums.names[static_cast<std::size_t>(row)]; }

  int rowCount(const QModelIndex& parent = {}) const override;
  int columnCount(const QModelIndex& parent = {}) const override;
  QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
  QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

 private:
  double share(const NameSum& sum) const;

  TimelinePointer m_timeline;
  RangeSum m_sums;
};

}  // namespace ulpscope::gui
