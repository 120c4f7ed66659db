// The spans of one row of a timeline by their start, summed up beforehand: how many begin in a piece of time, how long they take together,
// which is the longest. A question costs the logarithm of their number, so that a row of millions is drawn column by column.
//
// Times are nanoseconds. Spans may overlap; sums then count the time of each.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace ulpscope::gui {

struct TimelineSpan {
  std::int64_t start = 0;
  std::int64_t duration = 0;   ///< below 0: taken as 0
  std::uint32_t name = 0;      ///< in Timeline::names
  std::int32_t node = -1;      ///< in Timeline::nodes
  std::int32_t step = -1;      ///< in Timeline::steps
  std::int64_t record = -1;    ///< of a kernel: its row in the run file
};

/// Of spans. Sums do not run over: they stop at the greatest number.
struct SpanSum {
  std::int64_t count = 0;
  std::int64_t total = 0;
  std::int64_t greatest = -1;  ///< -1: of none
  std::size_t longest = 0;     ///< the first of the greatest duration
};

/// What begins within one column of a picture.
struct SpanColumn {
  int column = 0;
  std::size_t first = 0;
  SpanSum sum{};
};

class TimelineSpans {
 public:
  void reserve(std::size_t spans);
  void add(const TimelineSpan& span);
  /// After the last one: sorts them by their start and sums them up.
  void finish();

  std::size_t size() const { return m_start.size(); }
  bool empty() const { return m_start.empty(); }
  std::int64_t start(std::size_t i) const { return m_start[i]; }
  std::int64_t duration(std::size_t i) const { return m_duration[i]; }
  std::int64_t end(std::size_t i) const { return m_start[i] + m_duration[i]; }
  std::uint32_t name(std::size_t i) const { return m_name[i]; }
  std::int32_t node(std::size_t i) const { return m_node[i]; }
  std::int32_t step(std::size_t i) const { return m_step[i]; }
  std::int64_t record(std::size_t i) const { return m_record.empty() ? -1 : m_record[i]; }
  std::int64_t lastEnd() const { return m_levels.empty() ? 0 : m_levels.back().front().lastEnd; }

  /// Of the spans from `first` to before `end`.
  SpanSum sum(std::size_t first, std::size_t end) const;
  /// The first that begins at `time` or later; size() if none does.
  std::size_t firstFrom(double time) const;
  /// The first that ends after `time`; size() if none does.
  std::size_t firstEndingAfter(double time) const;
  /// What begins in each of `columns` equal pieces of the time from `from` to before `to`; pieces in which nothing begins are left out.
  std::vector<SpanColumn> columns(double from, double to, int columns) const;
  /// Spans that began before `time` and end after it: at most `most`, the latest.
  std::vector<std::size_t> reaching(double time, std::size_t most) const;

 private:
  struct Block {
    std::int64_t total = 0, greatest = -1, lastEnd = 0;
    std::size_t longest = 0;
  };
  static constexpr std::size_t fan = 8;  // spans of a block, blocks of the next level
  void sort();

  std::vector<std::int64_t> m_start, m_duration, m_record;
  std::vector<std::uint32_t> m_name;
  std::vector<std::int32_t> m_node, m_step;
  std::vector<std::vector<Block>> m_levels;  // the last one has one block
};

/// a + b of two that are not negative, at most the greatest number.
std::int64_t addedUp(std::int64_t a, std::int64_t b);

}  // namespace ulpscope::gui
