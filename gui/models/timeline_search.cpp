#include "gui/models/timeline_search.h"

#include <QStringList>
#include <algorithm>

namespace ulpscope::gui {

TimelineSearch::TimelineSearch(TimelinePointer timeline, const QString& text) {
  const QStringList words = text.split(QLatin1Char(' '), Qt::SkipEmptyParts);
  if (!timeline || words.isEmpty()) return;
  m_timeline = std::move(timeline);
  // A word has to be in the span's own name or in what is said of its node.
  const auto bits = [&words](const QString& in) {
    std::uint64_t found = 0;
    for (qsizetype i = 0; i < std::min<qsizetype>(words.size(), 64); ++i)
      if (in.contains(words[i], Qt::CaseInsensitive)) found |= std::uint64_t{1} << i;
    return found;
  };
  const auto many = static_cast<unsigned>(std::min<qsizetype>(words.size(), 64));
  const std::uint64_t all = many == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << many) - 1;
  std::vector<std::uint64_t> names, nodes;
  for (const TimelineName& name : m_timeline->names) names.push_back(bits(name.text));
  for (const TimelineNode& node : m_timeline->nodes) nodes.push_back(bits(node.name + QLatin1Char(' ') + node.operation));
  for (const TimelineRow& row : m_timeline->rows) {
    std::vector<std::uint32_t>& found = m_found.emplace_back(row.spans.size() + 1);
    for (std::size_t i = 0; i < row.spans.size(); ++i) {
      const std::int32_t node = row.spans.node(i);
      const std::uint64_t has = names[row.spans.name(i)] | (node < 0 ? 0 : nodes[static_cast<std::size_t>(node)]);
      found[i + 1] = found[i] + (has == all ? 1u : 0u);
    }
    m_count += found.back();
  }
}

std::optional<std::pair<std::size_t, std::size_t>> TimelineSearch::next(std::optional<std::pair<std::size_t, std::size_t>> from, bool backwards) const {
  if (m_count == 0) return std::nullopt;
  // The place among all that are found, from 0.
  std::int64_t target = backwards ? m_count - 1 : 0;
  if (from && from->first < m_found.size()) {
    const std::int64_t upTo = place(from->first, from->second);
    const bool itself = finds(from->first, from->second);
    target = backwards ? upTo - (itself ? 2 : 1) : upTo;
  }
  target = (target % m_count + m_count) % m_count;
  for (std::size_t row = 0; row < m_found.size(); ++row) {
    const auto inRow = static_cast<std::int64_t>(m_found[row].back());
    if (target >= inRow) {
      target -= inRow;
      continue;
    }
    const auto at = std::upper_bound(m_found[row].begin(), m_found[row].end(), static_cast<std::uint32_t>(target));
    return std::pair{row, static_cast<std::size_t>(at - m_found[row].begin()) - 1};
  }
  return std::nullopt;
}

std::int64_t TimelineSearch::place(std::size_t row, std::size_t span) const {
  std::int64_t before = 0;
  for (std::size_t r = 0; r < row; ++r) before += m_found[r].back();
  return before + m_found[row][span + 1];
}

}  // namespace ulpscope::gui
