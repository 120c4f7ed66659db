#include "reports/analysis/steps_to_read.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace ulpscope::reports {
namespace {

/// Observed steps with an overflow, ascending.
std::vector<std::int64_t> overflows(const RunFileReader& reader, RunId run, const std::vector<std::int64_t>& observed) {
  std::vector<std::int64_t> steps;
  for (const EventRecord& event : reader.events(run))
    if (event.kind == event_kind::overflow && (steps.empty() || steps.back() != event.step) && std::binary_search(observed.begin(), observed.end(), event.step)) steps.push_back(event.step);
  return steps;
}

/// `most` of a list, evenly: the first among them.
void choose(const std::vector<std::int64_t>& from, std::size_t most, std::set<std::int64_t>& chosen) {
  const std::size_t n = std::min(most, from.size());
  for (std::size_t i = 0; i < n; ++i) chosen.insert(from[i * from.size() / n]);
}

}  // namespace

std::vector<std::int64_t> steps_to_read(const RunFileReader& reader, RunId run, std::int64_t rows) {
  const std::vector<std::int64_t> all = reader.observed_steps(run);
  if (all.empty()) return all;
  std::size_t in_one = 1;
  for (const std::int64_t step : {all.front(), all[all.size() / 2], all.back()})
    in_one = std::max(in_one, reader.tensor_stats(run, {.first = step, .end = step + 1}).size());
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(2, rows / static_cast<std::int64_t>(in_one)));
  if (all.size() <= most) return all;
  std::set<std::int64_t> chosen{all.front(), all.back()};
  if (most > 3) choose(overflows(reader, run, all), std::max<std::size_t>(3, most / 2) - 2, chosen);
  choose(all, most - chosen.size(), chosen);
  return {chosen.begin(), chosen.end()};
}

std::string words_of_reading(const RunFileReader& reader, RunId run, const std::vector<std::int64_t>& read) {
  const std::vector<std::int64_t> all = reader.observed_steps(run);
  if (read.size() >= all.size()) return "";
  const std::vector<std::int64_t> bad = overflows(reader, run, all);
  const auto known = std::count_if(bad.begin(), bad.end(), [&](std::int64_t step) { return std::binary_search(read.begin(), read.end(), step); });
  return fmt::format("of {} observed steps the statistics of {} were read: the first, the last, {}others evenly between them", all.size(), read.size(),
                     bad.empty() ? "" : fmt::format("{} of the {} with an overflow, ", known, bad.size()));
}

}  // namespace ulpscope::reports
