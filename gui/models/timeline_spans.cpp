#include "gui/models/timeline_spans.h"

#include <algorithm>
#include <limits>
#include <numeric>

namespace ulpscope::gui {
namespace {

// What a file may claim, kept so far from the greatest number that ends and differences do not run over.
constexpr std::int64_t mostTime = std::int64_t{1} << 61;

}  // namespace

std::int64_t addedUp(std::int64_t a, std::int64_t b) {
  constexpr std::int64_t most = std::numeric_limits<std::int64_t>::max();
  return a > most - b ? most : a + b;
}

void TimelineSpans::reserve(std::size_t spans) {
  m_start.reserve(spans);
  m_duration.reserve(spans);
  m_name.reserve(spans);
  m_node.reserve(spans);
  m_step.reserve(spans);
}

void TimelineSpans::add(const TimelineSpan& span) {
  if (span.record >= 0 && m_record.empty()) m_record.assign(m_start.size(), -1);
  m_start.push_back(std::clamp(span.start, -mostTime, mostTime));
  m_duration.push_back(std::clamp<std::int64_t>(span.duration, 0, mostTime));
  m_name.push_back(span.name);
  m_node.push_back(span.node);
  m_step.push_back(span.step);
  if (!m_record.empty() || span.record >= 0) m_record.push_back(span.record);
}

void TimelineSpans::sort() {
  if (std::is_sorted(m_start.begin(), m_start.end())) return;
  std::vector<std::uint32_t> order(m_start.size());
  std::iota(order.begin(), order.end(), 0u);
  std::stable_sort(order.begin(), order.end(), [this](std::uint32_t a, std::uint32_t b) { return m_start[a] < m_start[b]; });
  const auto apply = [&order](auto& values) {
    if (values.empty()) return;
    auto sorted = values;
    for (std::size_t i = 0; i < order.size(); ++i) sorted[i] = values[order[i]];
    values = std::move(sorted);
  };
  apply(m_start);
  apply(m_duration);
  apply(m_record);
  apply(m_name);
  apply(m_node);
  apply(m_step);
}

void TimelineSpans::finish() {
  sort();
  m_levels.clear();
  for (std::size_t below = size(); below > 0 && (m_levels.empty() || below > 1);) {
    std::vector<Block> level((below + fan - 1) / fan);
    const std::vector<Block>* const from = m_levels.empty() ? nullptr : &m_levels.back();
    for (std::size_t i = 0; i < below; ++i) {
      const Block part = from != nullptr ? (*from)[i] : Block{m_duration[i], m_duration[i], end(i), i};
      Block& block = level[i / fan];
      if (i % fan == 0) block = {0, -1, part.lastEnd, part.longest};
      block.total = addedUp(block.total, part.total);
      block.lastEnd = std::max(block.lastEnd, part.lastEnd);
      if (part.greatest > block.greatest) {
        block.greatest = part.greatest;
        block.longest = part.longest;
      }
    }
    below = level.size();
    m_levels.push_back(std::move(level));
  }
}

SpanSum TimelineSpans::sum(std::size_t first, std::size_t end) const {
  SpanSum sum;
  end = std::min(end, size());
  if (first >= end) return sum;
  sum.count = static_cast<std::int64_t>(end - first);
  const auto take = [&sum](std::int64_t total, std::int64_t greatest, std::size_t longest) {
    sum.total = addedUp(sum.total, total);
    if (greatest <= sum.greatest) return;
    sum.greatest = greatest;
    sum.longest = longest;
  };
  for (std::size_t i = first; i < end;) {
    std::size_t level = 0, width = 1;  // the greatest block that begins here and ends in time
    while (level < m_levels.size() && i % (width * fan) == 0 && i + width * fan <= end) {
      width *= fan;
      ++level;
    }
    if (level == 0) {
      take(m_duration[i], m_duration[i], i);
    } else {
      const Block& block = m_levels[level - 1][i / width];
      take(block.total, block.greatest, block.longest);
    }
    i += width;
  }
  return sum;
}

std::size_t TimelineSpans::firstFrom(double time) const {
  return static_cast<std::size_t>(std::partition_point(m_start.begin(), m_start.end(), [time](std::int64_t start) { return static_cast<double>(start) < time; }) - m_start.begin());
}

std::size_t TimelineSpans::firstEndingAfter(double time) const {
  if (m_levels.empty() || !(static_cast<double>(m_levels.back().front().lastEnd) > time)) return size();
  std::size_t at = 0;  // of the level below
  for (std::size_t level = m_levels.size(); level-- > 1;) {
    at *= fan;
    while (!(static_cast<double>(m_levels[level - 1][at].lastEnd) > time)) ++at;
  }
  at *= fan;
  while (!(static_cast<double>(end(at)) > time)) ++at;
  return at;
}

std::vector<SpanColumn> TimelineSpans::columns(double from, double to, int columns) const {
  std::vector<SpanColumn> out;
  if (!(from < to) || columns < 1) return out;
  const double width = (to - from) / columns;
  const std::size_t last = firstFrom(to);
  for (std::size_t i = firstFrom(from); i < last;) {
    const auto place = static_cast<int>((static_cast<double>(m_start[i]) - from) / width);
    const int column = std::clamp(place, 0, columns - 1);
    const double until = column == columns - 1 ? to : from + width * (column + 1);
    // Most often the next one begins beyond; else ever greater strides, then halves.
    std::size_t stride = 1, end = i + 1;
    while (end < last && static_cast<double>(m_start[end]) < until) {
      end = std::min(i + stride, last);
      stride *= 2;
    }
    const auto begin = m_start.begin();
    const auto next = std::partition_point(begin + static_cast<std::ptrdiff_t>(i) + 1, begin + static_cast<std::ptrdiff_t>(std::min(end, last)),
                                           [until](std::int64_t start) { return static_cast<double>(start) < until; });
    const auto beyond = static_cast<std::size_t>(next - begin);
    out.push_back({column, i, sum(i, beyond)});
    i = beyond;
  }
  return out;
}

std::vector<std::size_t> TimelineSpans::reaching(double time, std::size_t most) const {
  constexpr std::size_t mostLooks = 4096;
  std::vector<std::size_t> found;
  const std::size_t first = firstEndingAfter(time);
  std::size_t looks = 0;
  for (std::size_t i = firstFrom(time); i-- > first && found.size() < most && looks < mostLooks; ++looks)
    if (static_cast<double>(end(i)) > time) found.push_back(i);
  // What is farther back than that is as good as unseen, but for the one that surely reaches here.
  if (first < firstFrom(time) && found.size() < most && (found.empty() || found.back() != first)) found.push_back(first);
  return found;
}

}  // namespace ulpscope::gui
