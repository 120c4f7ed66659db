#include "profiler/import/trace_steps.h"

#include <algorithm>
#include <charconv>
#include <set>
#include <unordered_map>

namespace ulpscope::profiler {
namespace {

/// The number that a name ends in: "ProfilerStep#12".
std::optional<std::int64_t> last_number(const std::string& name) {
  const std::size_t end = name.find_last_of("0123456789");
  if (end == std::string::npos || end + 1 != name.size()) return std::nullopt;
  const std::size_t before = name.find_last_not_of("0123456789");
  const std::size_t begin = before == std::string::npos ? 0 : before + 1;
  std::int64_t number = 0;
  const auto [rest, error] = std::from_chars(name.data() + begin, name.data() + name.size(), number);
  return error == std::errc() && number < (std::int64_t{1} << 52) ? std::optional(number) : std::nullopt;
}

}  // namespace

std::vector<Step> find_steps(const Trace& trace, const std::string& prefix) {
  std::vector<const TraceRange*> host, device;
  for (const TraceRange& range : trace.ranges)
    if (trace.names[range.name].starts_with(prefix)) (range.on_device ? device : host).push_back(&range);
  const auto earlier = [](const TraceRange* a, const TraceRange* b) { return a->start < b->start; };
  std::stable_sort(host.begin(), host.end(), earlier);
  std::stable_sort(device.begin(), device.end(), earlier);
  const bool only_device = host.empty();
  std::vector<Step> steps;
  std::set<std::int64_t> numbers;
  for (const TraceRange* range : only_device ? device : host) {
    const auto number = last_number(trace.names[range->name]);
    if (!steps.empty() && range->start < steps.back().end) continue;   // of another thread, or nested: the first counts
    steps.push_back({number.value_or(-1), range->start, range->end, {}});
    if (number) numbers.insert(*number);
    if (only_device) steps.back().device = {range->start, range->end};
  }
  const bool numbered = numbers.size() == steps.size() && std::is_sorted(steps.begin(), steps.end(), [](const Step& a, const Step& b) { return a.iteration < b.iteration; });
  if (!numbered)
    for (std::size_t i = 0; i < steps.size(); ++i) steps[i].iteration = static_cast<std::int64_t>(i);
  if (!only_device && numbered) {
    std::unordered_map<std::int64_t, Step*> by_iteration;
    for (Step& step : steps) by_iteration[step.iteration] = &step;
    for (const TraceRange* range : device) {
      const auto number = last_number(trace.names[range->name]);
      if (number && by_iteration.contains(*number)) by_iteration[*number]->device = {range->start, range->end};
    }
  }
  return steps;
}

// Steps follow each other.
const Step* at(const std::vector<Step>& steps, std::int64_t moment) {
  auto after = std::upper_bound(steps.begin(), steps.end(), moment, [](std::int64_t m, const Step& s) { return m < s.start; });
  if (after == steps.begin()) return nullptr;
  --after;
  return moment < after->end ? &*after : nullptr;
}

OnDevice::OnDevice(const std::vector<Step>& steps) {
  for (const Step& step : steps)
    if (step.device) list_.push_back({step.device->first, step.device->second, &step});
  std::stable_sort(list_.begin(), list_.end(), [](const Part& a, const Part& b) { return a.start < b.start; });
  std::int64_t taken = INT64_MIN;
  for (Part& part : list_) {
    part.start = std::max(part.start, taken);
    part.end = std::max(part.start, part.end);
    taken = part.end;
  }
}

const Step* OnDevice::find(std::int64_t moment) const {
  const auto after = std::upper_bound(list_.begin(), list_.end(), moment, [](std::int64_t m, const Part& p) { return m < p.start; });
  // Of those that begin at the same moment all but the last are empty.
  return after != list_.begin() && moment < std::prev(after)->end ? std::prev(after)->step : nullptr;
}

}  // namespace ulpscope::profiler
