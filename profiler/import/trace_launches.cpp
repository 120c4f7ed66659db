#include "profiler/import/trace_launches.h"

#include <algorithm>
#include <tuple>

namespace ulpscope::profiler {
namespace {

/// It stays at the greatest number instead of beginning anew.
std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

}  // namespace

std::uint32_t WorkShapes::id(const WorkShape& shape) {
  const auto [at, fresh] = ids_.try_emplace(shape, static_cast<std::uint32_t>(list_.size()));
  if (fresh) list_.push_back(shape);
  return at->second;
}

std::size_t WorkShapes::Hash::operator()(const WorkShape& s) const {
  std::uint64_t hash = 0x9e3779b97f4a7c15;
  const auto mix = [&](auto value) { hash = (hash ^ static_cast<std::uint64_t>(value)) * 0xff51afd7ed558ccd, hash ^= hash >> 32; };
  mix(s.name), mix(s.kind), mix(s.stream), mix(s.device), mix(s.process), mix(s.registers), mix(s.static_shared), mix(s.dynamic_shared), mix(s.bytes);
  for (const std::int32_t side : s.grid) mix(side);
  for (const std::int32_t side : s.block) mix(side);
  return static_cast<std::size_t>(hash);
}

void keep_one(Trace& trace) {
  if (trace.kept) return;
  std::map<std::pair<std::int32_t, std::int32_t>, std::pair<std::int64_t, std::int64_t>> amounts;
  for (const TraceWork& work : trace.work) {
    const WorkShape& shape = trace.of(work);
    auto& [kernels, time] = amounts[{shape.process, shape.device}];
    kernels += shape.kind == WorkKind::kernel ? 1 : 0;
    time = plus(time, work.duration);
  }
  const auto most = std::max_element(amounts.begin(), amounts.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
  TraceKept kept;
  kept.device = trace.devices.empty() ? 0 : trace.devices.front().id;
  if (most != amounts.end()) std::tie(kept.process, kept.device) = most->first;
  kept.others_work = static_cast<std::int64_t>(std::erase_if(trace.work, [&](const TraceWork& work) { return kept.other(trace.of(work).process); }));
  kept.elsewhere = static_cast<std::int64_t>(std::erase_if(trace.work, [&](const TraceWork& work) { return trace.of(work).device != kept.device; }));
  trace.kept = kept;
}

LaunchMatcher::LaunchMatcher(Trace& trace) : trace_(trace) {
  keep_one(trace);
  const auto key = [&](const TraceWork& work) { return std::pair(work.correlation, trace.of(work).process); };
  std::sort(trace.work.begin(), trace.work.end(), [&](const TraceWork& a, const TraceWork& b) { return key(a) < key(b); });
}

std::size_t LaunchMatcher::first_of(std::int64_t correlation) {
  const std::vector<TraceWork>& work = trace_.work;
  // Calls and kernels are counted alike: mostly it is the one after the last.
  const std::size_t next = hint_ < work.size() ? next_group(hint_) : work.size();
  for (const std::size_t at : {hint_, next})
    if (at < work.size() && work[at].correlation == correlation && (at == 0 || work[at - 1].correlation != correlation)) return hint_ = at;
  const auto found = std::lower_bound(work.begin(), work.end(), correlation, [](const TraceWork& w, std::int64_t c) { return w.correlation < c; });
  if (found == work.end() || found->correlation != correlation) return work.size();
  return hint_ = static_cast<std::size_t>(found - work.begin());
}

std::size_t LaunchMatcher::next_group(std::size_t i) const {
  const std::vector<TraceWork>& work = trace_.work;
  const auto key = std::pair(work[i].correlation, process_of(i));
  if (i + 1 >= work.size() || std::pair(work[i + 1].correlation, process_of(i + 1)) != key) return i + 1;
  const auto after = std::upper_bound(work.begin() + static_cast<std::ptrdiff_t>(i), work.end(), key, [&](const auto& k, const TraceWork& w) { return k < std::pair(w.correlation, trace_.of(w).process); });
  return static_cast<std::size_t>(after - work.begin());
}

std::uint32_t LaunchMatcher::caller(const TraceLaunch& launch) {
  const auto [at, fresh] = callers_.try_emplace({launch.thread, launch.process}, static_cast<std::uint32_t>(trace_.callers.size()));
  if (fresh) trace_.callers.push_back(at->first);
  return at->second;
}

void LaunchMatcher::take(std::size_t head, const TraceLaunch& launch) {
  TraceWork& work = trace_.work[head];
  if (work.caller == TraceWork::doubtful) return;
  if (work.launched()) {
    const std::int32_t process = process_of(head), known = trace_.callers[work.caller].process;
    if (process < 0 && known != launch.process) {
      work.caller = TraceWork::doubtful;
      return;
    }
    if (process >= 0 && known == process && launch.process != process) return;
    if (known == launch.process && launch.at >= work.launched_at) return;
  }
  work.caller = caller(launch);
  work.launched_at = launch.at;
}

void LaunchMatcher::offer(const TraceLaunch& launch) {
  if (launch.correlation < 0 || trace_.kept->other(launch.process)) return;
  const std::vector<TraceWork>& work = trace_.work;
  std::size_t head = first_of(launch.correlation);
  for (int i = 0; i < most_processes && head < work.size() && work[head].correlation == launch.correlation; ++i) {
    const std::int32_t process = process_of(head);
    if (launch.process < 0 || process < 0 || process == launch.process) take(head, launch);
    head = next_group(head);
  }
}

void LaunchMatcher::finish() {
  std::vector<TraceWork>& work = trace_.work;
  for (std::size_t i = 1; i < work.size(); ++i) {
    if (work[i].correlation < 0 || work[i].correlation != work[i - 1].correlation || process_of(i) != process_of(i - 1)) continue;
    work[i].caller = work[i - 1].caller;
    work[i].launched_at = work[i - 1].launched_at;
  }
}

}  // namespace ulpscope::profiler
