#include "reports/analysis/steps_to_read.h"

#include <algorithm>
#include <set>

namespace ulpscope::reports {

std::vector<std::int64_t> steps_to_read(const RunFileReader& reader, RunId run, std::int64_t rows) {
  const std::vector<std::int64_t> all = reader.observed_steps(run);
  if (all.empty()) return all;
  std::size_t in_one = 1;
  for (const std::int64_t step : {all.front(), all[all.size() / 2], all.back()})
    in_one = std::max(in_one, reader.tensor_stats(run, {.first = step, .end = step + 1}).size());
  const auto most = static_cast<std::size_t>(std::max<std::int64_t>(2, rows / static_cast<std::int64_t>(in_one)));
  if (all.size() <= most) return all;
  std::set<std::int64_t> chosen{all.front(), all.back()};
  for (const EventRecord& event : reader.events(run))
    if (event.kind == event_kind::overflow && chosen.size() < std::max<std::size_t>(2, most / 2) && std::binary_search(all.begin(), all.end(), event.step))
      chosen.insert(event.step);
  const std::size_t others = most - chosen.size();
  for (std::size_t i = 0; i < others; ++i) chosen.insert(all[i * all.size() / others]);
  return {chosen.begin(), chosen.end()};
}

}  // namespace ulpscope::reports
