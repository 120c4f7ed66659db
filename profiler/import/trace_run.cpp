// A trace as the records of a run.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>
#include <tuple>

#include "kernels/error.h"
#include "profiler/import/trace_launches.h"
#include "profiler/import/trace_steps.h"
#include "reports/analysis/kernel_precision.h"

namespace ulpscope::profiler {
namespace {

constexpr reports::RunId run_id{1};
constexpr std::size_t most_ranges = 200;

std::string counted(std::int64_t count, const char* what) { return fmt::format("{} {}{}", count, what, count == 1 ? "" : "s"); }

/// A sum of what is not negative: it stays at the greatest number instead of beginning anew.
std::int64_t plus(std::int64_t a, std::int64_t b) {
  std::int64_t sum = 0;
  return __builtin_add_overflow(a, b, &sum) ? INT64_MAX : sum;
}

struct RangeSum {
  std::int64_t calls = 0, host = 0, kernels = 0, device = 0;   // nanoseconds
  std::int64_t first = INT64_MAX;
};

/// Of one thread, in their order: time in ranges of a name, once where they lie within each other.
void add_host(const std::vector<const TraceRange*>& ranges, std::map<std::uint32_t, RangeSum>& sums) {
  std::map<std::uint32_t, std::int64_t> until;
  for (const TraceRange* range : ranges) {
    const auto [at, fresh] = until.try_emplace(range->name, range->start);
    const std::int64_t begin = std::max(range->start, at->second);
    if (range->end <= begin) continue;
    sums[range->name].host = plus(sums[range->name].host, range->end - begin);
    at->second = range->end;
  }
}

/// What was launched within the ranges of each name. Nested ranges both have it; a name within itself has it once. Sorts the work by thread
/// and moment of its launch: copies of millions would not do.
std::map<std::uint32_t, RangeSum> sum_ranges(Trace& trace, const std::string& step_prefix) {
  std::map<std::uint32_t, RangeSum> sums;
  std::map<std::int64_t, std::vector<const TraceRange*>> by_thread;
  for (const TraceRange& range : trace.ranges) {
    if (range.on_device || trace.names[range.name].starts_with(step_prefix)) continue;
    RangeSum& sum = sums[range.name];
    ++sum.calls;
    sum.first = std::min(sum.first, range.start);
    by_thread[range.thread].push_back(&range);
  }
  if (by_thread.empty()) return sums;
  const auto thread_of = [&](const TraceWork& w) { return trace.callers[w.caller].thread; };
  const auto launched = std::partition(trace.work.begin(), trace.work.end(), [](const TraceWork& w) { return w.launched(); });
  std::sort(trace.work.begin(), launched, [&](const TraceWork& a, const TraceWork& b) { return std::tuple(thread_of(a), a.launched_at, a.duration) < std::tuple(thread_of(b), b.launched_at, b.duration); });
  for (auto& [thread, ranges] : by_thread) {
    std::stable_sort(ranges.begin(), ranges.end(), [](const TraceRange* a, const TraceRange* b) { return std::pair(a->start, -a->end) < std::pair(b->start, -b->end); });
    add_host(ranges, sums);
    std::vector<const TraceRange*> open;
    std::size_t next = 0;
    for (auto one = std::lower_bound(trace.work.begin(), launched, thread, [&](const TraceWork& w, std::int64_t t) { return thread_of(w) < t; }); one != launched && thread_of(*one) == thread; ++one) {
      const std::int64_t moment = one->launched_at, duration = one->duration;
      while (next < ranges.size() && ranges[next]->start <= moment) open.push_back(ranges[next++]);
      std::erase_if(open, [&](const TraceRange* range) { return range->end <= moment; });
      std::set<std::uint32_t> names;
      for (const TraceRange* range : open)
        if (names.insert(range->name).second) {
          ++sums[range->name].kernels;
          sums[range->name].device = plus(sums[range->name].device, duration);
        }
    }
  }
  return sums;
}

void remark(ImportedRun& out, const char* kind, const std::string& subject, reports::Count count, const std::string& detail) {
  out.rows.push_back(reports::CompletenessRecord{.run = run_id, .kind = kind, .subject = subject, .count = count, .detail = detail});
  out.words.push_back(count ? fmt::format("{}: {}{}", subject, *count, detail.empty() ? "" : " (" + detail + ")") : fmt::format("{}: {}", subject, detail));
}

std::string kernel_name(const Trace& trace, const WorkShape& work) {
  const std::string& name = trace.names[work.name];
  if (work.kind == WorkKind::kernel) return name;
  const char* what = work.kind == WorkKind::copy ? "memcpy" : "memset";
  std::string rest = name;
  if (rest.size() >= 6 && (rest.starts_with("Mem") || rest.starts_with("mem"))) rest.erase(0, 6);
  if (rest.starts_with(' ')) rest.erase(0, 1);
  return fmt::format("[{}{}{}]", what, rest.empty() ? "" : " ", rest);
}

reports::Count known(std::int32_t value) { return value < 0 ? reports::Count() : reports::Count(value); }

struct StepCounts {
  std::int64_t by_launch = 0, by_device = 0, by_time = 0, none = 0;
};

/// Which step a piece of work belongs to; -1: none.
std::int64_t step_of(const TraceWork& work, const std::vector<Step>& steps, const OnDevice& on_device, StepCounts& counts) {
  if (work.launched()) {
    const Step* step = at(steps, work.launched_at);
    (step != nullptr ? counts.by_launch : counts.none) += 1;
    return step != nullptr ? step->iteration : -1;
  }
  if (const Step* step = on_device.find(work.start)) {
    ++counts.by_device;
    return step->iteration;
  }
  const Step* step = at(steps, work.start);
  (step != nullptr ? counts.by_time : counts.none) += 1;
  return step != nullptr ? step->iteration : -1;
}

std::int64_t begin_of(const Trace& trace, const std::vector<Step>& steps) {
  std::int64_t first = INT64_MAX;
  for (const TraceWork& work : trace.work) first = std::min(first, work.start);
  for (const Step& step : steps) first = std::min(first, step.start);
  return first - 1;   // a start of 0 says that there is none
}

void add_steps(const std::vector<Step>& steps, ImportedRun& out) {
  std::int64_t applied = 0;
  for (const Step& step : steps)
    out.rows.push_back(reports::StepRecord{.run = run_id, .step = step.iteration, .applied = ++applied, .wall_seconds = 1e-9 * static_cast<double>(step.end - step.start)});
}

void add_ranges(const Trace& trace, const std::map<std::uint32_t, RangeSum>& sums, const std::vector<Step>& steps, ImportedRun& out) {
  std::vector<std::pair<std::uint32_t, RangeSum>> list(sums.begin(), sums.end());
  std::stable_sort(list.begin(), list.end(), [](const auto& a, const auto& b) { return std::pair(a.second.device, a.second.host) > std::pair(b.second.device, b.second.host); });
  for (std::size_t i = 0; i < list.size() && i < most_ranges; ++i) {
    const auto& [name, sum] = list[i];
    const Step* step = at(steps, sum.first);
    const nlohmann::json detail{{"range", trace.names[name]}, {"calls", sum.calls}, {"host_seconds", 1e-9 * static_cast<double>(sum.host)}, {"kernels", sum.kernels}};
    out.rows.push_back(reports::EventRecord{.run = run_id,
                                            .step = step != nullptr ? step->iteration : 0,
                                            .kind = "range",
                                            .value = 1e-9 * static_cast<double>(sum.device),
                                            .provenance = reports::Provenance::measured,
                                            .detail_json = detail.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
  }
  if (list.size() > most_ranges) remark(out, "note", "names of ranges left out", static_cast<std::int64_t>(list.size() - most_ranges), "those with the least kernel time");
}

/// Processes may call different GPUs the same. Null: it is unknown which one it was.
const TraceDevice* device_of(const Trace& trace, const TraceKept& kept) {
  const std::int64_t pid = kept.process < 0 ? -1 : kept.process & 0xffffff;
  const TraceDevice* any = nullptr;
  bool one = true;
  for (const TraceDevice& device : trace.devices) {
    if (device.id != kept.device) continue;
    if (pid >= 0 && device.pid == pid) return &device;
    one = one && (any == nullptr || any->name == device.name);
    if (any == nullptr) any = &device;
  }
  return one ? any : nullptr;
}

void add_device(const Trace& trace, const TraceKept& kept, ImportedRun& out) {
  const TraceDevice* found = device_of(trace, kept);
  out.run.device_kind = "cuda";
  if (found == nullptr) return;
  out.run.device = found->name.empty() ? "unknown" : found->name;
  nlohmann::json gpu(found->facts);
  gpu["name"] = found->name;
  out.run.machine = reports::MachineId{1};
  const nlohmann::json devices{{"cuda", {{"gpus", nlohmann::json::array({gpu})}}}};
  out.rows.push_back(reports::MachineRecord{.id = reports::MachineId{1}, .processor = "unknown", .devices_json = devices.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)});
}

/// Time by format, as the names say it.
std::string precision_words(const Trace& trace) {
  std::vector<std::int64_t> by_name(trace.names.size());
  std::int64_t all = 0;
  for (const TraceWork& work : trace.work) {
    const WorkShape& shape = trace.of(work);
    if (shape.kind != WorkKind::kernel) continue;
    by_name[shape.name] = plus(by_name[shape.name], work.duration);
    all = plus(all, work.duration);
  }
  std::map<std::string, std::int64_t> by_format;
  for (std::uint32_t i = 0; i < by_name.size(); ++i) {
    if (by_name[i] == 0) continue;
    const reports::KernelPrecision precision = reports::kernel_precision(trace.names[i]);
    std::int64_t& sum = by_format[precision.known() ? precision.reads : "unknown"];
    sum = plus(sum, by_name[i]);
  }
  std::vector<std::pair<std::int64_t, std::string>> list;
  for (const auto& [format, time] : by_format) list.emplace_back(time, format);
  std::sort(list.rbegin(), list.rend());
  std::string words;
  for (const auto& [time, format] : list) words += fmt::format("{}{} {:.1f} %", words.empty() ? "" : ", ", format, 100.0 * static_cast<double>(time) / static_cast<double>(all));
  return words;
}

void add_remarks(const Trace& trace, const std::vector<Step>& steps, const StepCounts& counts, const TraceKept& kept, ImportedRun& out) {
  if (steps.empty()) remark(out, "note", "steps of the trace", {}, "none are marked (ProfilerStep#N, or --step-range NAME): kernels have no step");
  if (!steps.empty() && counts.none > 0) remark(out, "note", "kernel trace: of no step", counts.none, "kernels, copies and sets that were launched outside of every step");
  if (counts.by_time > 0 && !steps.empty()) remark(out, "note", "kernel trace: step inferred", counts.by_time, "no call that launched them is known: they are of the step that was under way");
  const char* const whose = "left out: the process and device with the most kernels are the run's";
  if (kept.others_work > 0) remark(out, "note", "kernel trace: of other processes", kept.others_work, whose);
  if (kept.others_ranges > 0) remark(out, "note", "ranges of other processes", kept.others_ranges, whose);
  if (kept.elsewhere > 0) remark(out, "note", "kernel trace: on other devices", kept.elsewhere, whose);
  if (trace.negative > 0) remark(out, "lost", "events with a negative duration", trace.negative, "left out");
  if (trace.broken > 0) remark(out, "lost", "events that cannot be read", trace.broken, "left out; the first: " + trace.first_broken);
  for (const std::string& missing : trace.missing) {
    const std::size_t colon = missing.find(": ");
    remark(out, "note", "not in it: " + missing.substr(0, colon), {}, colon == std::string::npos ? "this version has none" : missing.substr(colon + 2));
  }
  for (const auto& [what, count] : trace.ignored) remark(out, "note", "not read: " + what, count, "");
}

/// Work in the order of time, as rows of the table kernel.
std::function<void(const ImportedRun::Push&)> kernel_rows(std::shared_ptr<Trace> trace, std::vector<Step> steps, std::int64_t begin) {
  return [trace, steps, begin](const ImportedRun::Push& push) {
    const OnDevice on_device(steps);
    StepCounts counts;
    for (const TraceWork& w : trace->work) {
      const WorkShape& shape = trace->of(w);
      reports::KernelRecord row{.run = run_id, .correlation = std::max<std::int64_t>(w.correlation, 0), .stream = shape.stream, .name = kernel_name(*trace, shape), .start_ns = w.start - begin, .duration_ns = w.duration};
      if (const std::int64_t step = step_of(w, steps, on_device, counts); step >= 0) row.step = step;
      std::copy(shape.grid.begin(), shape.grid.end(), row.grid.begin());
      std::copy(shape.block.begin(), shape.block.end(), row.block.begin());
      row.registers = known(shape.registers);
      row.static_shared_bytes = known(shape.static_shared);
      row.dynamic_shared_bytes = known(shape.dynamic_shared);
      push(std::move(row));
    }
  };
}

/// The work that is the run's, each with the call that launched it.
const TraceKept& match_launches(Trace& trace) {
  keep_one(trace);
  if (!trace.launches.empty()) {
    LaunchMatcher matcher(trace);
    for (const TraceLaunch& launch : trace.launches) matcher.offer(launch);
    matcher.finish();
    trace.launches = {};
  }
  trace.kept->others_ranges = static_cast<std::int64_t>(std::erase_if(trace.ranges, [&](const TraceRange& range) { return trace.kept->other(range.process); }));
  return *trace.kept;
}

}  // namespace

std::uint32_t Names::id(std::string_view name) {
  const auto [at, fresh] = ids_.try_emplace(std::string(name), static_cast<std::uint32_t>(list_.size()));
  if (fresh) list_.push_back(&at->first);
  return at->second;
}

ImportedRun run_of_trace(Trace given, const TraceOptions& options, const ImportedAs& as) {
  auto trace = std::make_shared<Trace>(std::move(given));
  ImportedRun out{.run = imported_run_record(as), .rows = {}, .words = {}, .more = {}};
  const TraceKept kept = match_launches(*trace);
  if (trace->work.empty()) throw UsageError(fmt::format("{}: no kernel, copy or set of memory that can be read is in this {}", as.file, trace->format));
  const std::string prefix = options.step_range.empty() ? "ProfilerStep#" : options.step_range;
  const std::vector<Step> steps = find_steps(*trace, prefix);
  if (!options.step_range.empty() && steps.empty()) throw UsageError(fmt::format("--step-range {}: no range in {} begins so", options.step_range, as.file));
  const OnDevice on_device(steps);
  const auto sums = sum_ranges(*trace, prefix);
  std::sort(trace->work.begin(), trace->work.end(), [](const TraceWork& a, const TraceWork& b) { return std::pair(a.start, a.correlation) < std::pair(b.start, b.correlation); });
  StepCounts counts;
  std::array<std::int64_t, 3> kinds{};
  std::int64_t moved = 0;
  for (const TraceWork& work : trace->work) {
    step_of(work, steps, on_device, counts);
    const WorkShape& shape = trace->of(work);
    ++kinds[static_cast<std::size_t>(shape.kind)];
    moved = plus(moved, std::max<std::int64_t>(shape.bytes, 0));
  }
  out.run.attributes_json = reports::attributes_with({.trace = true, .format = trace->format, .file = as.file, .mode_from = as.mode.empty() ? "unknown" : "given"});
  out.run.time_provenance = reports::Provenance::measured;
  out.run.loss_scaling = "unknown";
  add_device(*trace, kept, out);
  out.words.push_back(fmt::format("{}: {}, {}, {}, {}", trace->format, counted(kinds[0], "kernel"), kinds[1] == 1 ? "1 copy" : fmt::format("{} copies", kinds[1]), counted(kinds[2], "set") + " of memory",
                                  counted(std::ssize(steps), "step")));
  out.words.push_back(fmt::format("device: {}", out.run.device));
  if (as.mode.empty()) out.words.emplace_back("mode: unknown (--mode says it)");
  add_steps(steps, out);
  add_ranges(*trace, sums, steps, out);
  if (moved > 0) remark(out, "note", "kernel trace: bytes copied", moved, "");
  if (const std::string words = precision_words(*trace); !words.empty()) remark(out, "note", "kernel time by format", {}, words + " [inferred from kernels' names]");
  add_remarks(*trace, steps, counts, kept, out);
  if (!trace->work.empty()) out.more = kernel_rows(trace, steps, begin_of(*trace, steps));
  return out;
}

}  // namespace ulpscope::profiler
