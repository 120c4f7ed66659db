// Which spans of a timeline a search finds: by words in their name, their node, its operation; or all of one node.
#pragma once

#include <QString>
#include <optional>
#include <utility>
#include <vector>

#include "gui/models/timeline.h"

namespace ulpscope::gui {

class TimelineSearch {
 public:
  TimelineSearch() = default;
  /// Every word has to be found, whatever its case. No word: nothing is searched for.
  TimelineSearch(TimelinePointer timeline, const QString& words);

  bool active() const { return m_timeline != nullptr; }
  bool finds(std::size_t row, std::size_t span) const { return m_found[row][span + 1] != m_found[row][span]; }
  /// Of the spans from `first` on.
  bool findsAny(std::size_t row, std::size_t first, std::size_t count) const { return m_found[row][first + count] != m_found[row][first]; }
  std::int64_t count() const { return m_count; }
  /// Row and span of the next one found after (or before) that place, row by row, around the end; none if nothing is found.
  std::optional<std::pair<std::size_t, std::size_t>> next(std::optional<std::pair<std::size_t, std::size_t>> from, bool backwards) const;
  /// How many there are up to and with this one.
  std::int64_t place(std::size_t row, std::size_t span) const;

 private:
  TimelinePointer m_timeline{};
  std::vector<std::vector<std::uint32_t>> m_found;  // by row: how many before a span
  std::int64_t m_count = 0;
};

}  // namespace ulpscope::gui
