#include "gui/models/timeline_sums.h"

#include <algorithm>

#include "gui/models/text.h"
#include "gui/models/timeline_text.h"

namespace ulpscope::gui {

RangeSum sumsOf(const Timeline& timeline, int row, std::int64_t from, std::int64_t to) {
  RangeSum sums{.row = row, .from = from, .to = to};
  if (row < 0 || row >= static_cast<int>(timeline.rows.size()) || from >= to) return sums;
  const TimelineRow& of = timeline.rows[static_cast<std::size_t>(row)];
  const TimelineSpans& spans = of.spans;
  std::vector<NameSum> names(timeline.names.size());
  const std::size_t end = spans.firstFrom(static_cast<double>(to));
  // One without a length that lies at the very beginning ends after nothing.
  for (std::size_t i = std::min(spans.firstEndingAfter(static_cast<double>(from)), spans.firstFrom(static_cast<double>(from))); i < end; ++i) {
    const std::int64_t start = spans.start(i), until = spans.end(i);
    if (start < from && until <= from) continue;
    if (!timeline.durationOf(of, i)) {
      ++sums.untimed;
      continue;
    }
    const std::int64_t within = std::min(until, to) - std::max(start, from);
    NameSum& sum = names[spans.name(i)];
    if (sum.count == 0 || within > sum.greatest) {
      sum.greatest = within;
      sum.longest = i;
    }
    ++sum.count;
    sum.total = addedUp(sum.total, within);
    ++sums.count;
    sums.total = addedUp(sums.total, within);
  }
  for (std::size_t name = 0; name < names.size(); ++name) {
    if (names[name].count == 0) continue;
    names[name].name = static_cast<std::uint32_t>(name);
    sums.names.push_back(names[name]);
  }
  std::stable_sort(sums.names.begin(), sums.names.end(), [](const NameSum& a, const NameSum& b) { return a.total > b.total; });
  return sums;
}

void TimelineSumsModel::setSums(TimelinePointer timeline, RangeSum sums) {
  beginResetModel();
  m_timeline = std::move(timeline);
  m_sums = std::move(sums);
  if (m_sums.names.size() > mostNames) m_sums.names.resize(mostNames);
  endResetModel();
}

double TimelineSumsModel::share(const NameSum& sum) const { return m_sums.to > m_sums.from ? static_cast<double>(sum.total) / static_cast<double>(m_sums.to - m_sums.from) : 0.0; }

int TimelineSumsModel::rowCount(const QModelIndex& parent) const { return parent.isValid() || !m_timeline ? 0 : static_cast<int>(m_sums.names.size()); }
int TimelineSumsModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : ColumnCount; }

QVariant TimelineSumsModel::data(const QModelIndex& index, int role) const {
  if (!index.isValid()) return {};
  const NameSum& sum = name(index.row());
  const double mean = static_cast<double>(sum.total) / static_cast<double>(std::max<std::int64_t>(1, sum.count));
  if (role == SortRole) {
    switch (index.column()) {
      case NameColumn: return m_timeline->names[sum.name].text;
      case CountColumn: return static_cast<qlonglong>(sum.count);
      case MeanColumn: return mean;
      case GreatestColumn: return static_cast<qlonglong>(sum.greatest);
      default: return static_cast<qlonglong>(sum.total);
    }
  }
  if (role == Qt::TextAlignmentRole && index.column() != NameColumn) return static_cast<int>(Qt::AlignTrailing | Qt::AlignVCenter);
  if (role == Qt::ToolTipRole) {
    if (index.column() == NameColumn) return m_timeline->names[sum.name].text;
    return tr("%1, of what lies within the range [%2]").arg(exactTime(sum.total), word(m_timeline->rows[static_cast<std::size_t>(m_sums.row)].durations));
  }
  if (role != Qt::DisplayRole) return {};
  switch (index.column()) {
    case NameColumn: return m_timeline->names[sum.name].text;
    case CountColumn: return QString::number(sum.count);
    case TotalColumn: return timeText(static_cast<double>(sum.total));
    case ShareColumn: return shareText(share(sum));
    case MeanColumn: return timeText(mean);
    default: return timeText(static_cast<double>(sum.greatest));
  }
}

QVariant TimelineSumsModel::headerData(int section, Qt::Orientation orientation, int role) const {
  if (orientation != Qt::Horizontal) return {};
  if (role == Qt::ToolTipRole && section == ShareColumn) return tr("of the length of the range");
  if (role != Qt::DisplayRole) return {};
  switch (section) {
    case NameColumn: return tr("name");
    case CountColumn: return tr("count");
    case TotalColumn: return tr("time");
    case ShareColumn: return tr("share");
    case MeanColumn: return tr("mean");
    default: return tr("longest");
  }
}

}  // namespace ulpscope::gui
