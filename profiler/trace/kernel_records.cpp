#include "profiler/trace/kernel_records.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>

#include "profiler/trace/counter_records.h"
#include "profiler/trace/kernel_refusals.h"
#include "profiler/trace/trace_rows.h"

namespace ulpscope::profiler {
namespace {

using reports::Provenance;

constexpr const char* empty_columns =
    "; the run goes on with event timing: the table kernel is empty, node_timing holds what lies between events around each node";

/// CUPTI's clock when the trace began; where it did not say, the first time stamp.
std::uint64_t origin_of(const TraceData& data) {
  if (data.origin != 0) return data.origin;
  std::uint64_t first = 0;
  for (const KernelActivity& k : data.records.kernels)
    if (k.start != 0 && k.end >= k.start && (first == 0 || k.start < first)) first = k.start;
  return first;
}

/// How many of them have a count of their tensor pipes. It is of a node's kernels together.
std::int64_t push_kernels(const Sink& sink, reports::RunId run, const TraceData& data, const TraceMatch& matched, std::int64_t offset_ns,
                          const KernelCounters* counters) {
  const std::uint64_t origin = origin_of(data);
  std::int64_t counted = 0;
  for (const Placed& placed : matched.kernels) {
    const KernelActivity& k = data.records.kernels[placed.kernel];
    reports::KernelRecord row;
    row.run = run;
    row.step = placed.step;
    if (placed.node) row.node = reports::NodeId{*placed.node};
    row.correlation = k.correlation;
    row.stream = k.stream;
    row.name = k.name;
    row.start_ns = offset_ns + static_cast<std::int64_t>(k.start - origin);
    row.duration_ns = static_cast<std::int64_t>(k.end - k.start);
    row.grid = k.grid;
    row.block = k.block;
    row.registers = k.registers;
    row.static_shared_bytes = k.static_shared_bytes;
    row.dynamic_shared_bytes = k.dynamic_shared_bytes;
    row.tensor_pipe = k.tensor_pipe;
    // What was counted are the kernels of a plain step.
    if (!row.tensor_pipe && counters != nullptr && placed.node && placed.micro_batch && placed.step && !data.observed.contains(*placed.step))
      row.tensor_pipe = counters->share(*placed.node, *placed.micro_batch);
    counted += row.tensor_pipe ? 1 : 0;
    sink(row);
  }
  return counted;
}

void push_node_times(const Sink& sink, reports::RunId run, const TraceMatch& matched) {
  for (const NodeDeviceTime& node : matched.nodes) {
    reports::NodeTiming row;
    row.run = run;
    row.node = reports::NodeId{node.node};
    row.sampled_steps = node.steps;
    row.calls = node.calls;
    row.seconds = node.seconds;
    row.provenance = Provenance::measured;
    sink(row);
  }
}

std::string coverage_words(const TraceData& data, const TraceCoverage& c) {
  const std::string steps = c.steps_covered ? fmt::format("trace covers {} of {} steps", *c.steps_covered, c.steps)
                                            : fmt::format("{} steps were traced, how many of them wholly is unknown", c.steps);
  const std::string launches = c.launches ? fmt::format("{} launches, {} of them answered", *c.launches, *c.launches - c.unanswered)
                                          : std::string("launches could not be counted");
  return fmt::format("{}; {}; {} kernels, {} copies and sets, {} records dropped", steps, launches, c.kernels, c.transfers, data.dropped);
}

void push_losses(const TraceRows& rows, const TraceData& data, const TraceCoverage& c, std::int64_t crossed) {
  const auto some = [&](const char* kind, const char* subject, std::int64_t count, const char* detail) {
    rows.some(kind, fmt::format("kernel trace: {}", subject), count, detail);
  };
  some("dropped", "records", data.dropped, "for which CUPTI had no room");
  some("dropped", "buffers", data.declined, "that CUPTI asked for and did not get: all were in use");
  some("lost", "buffers", data.lost_buffers, "that there was no memory to read");
  some("lost", "broken buffers", data.records.broken, "whose reading ended early");
  some("lost", "launches", c.unanswered, "never answered by a record; their nodes' times leave out these steps");
  some("lost", "graph nodes", c.graph_nodes_missing, "of launched graphs without a record; their times leave out these steps");
  some("lost", "zero time stamps", c.zero_stamps, "records whose time could not be taken: in no table");
  some("lost", "inverted time stamps", c.inverted_stamps, "records that end before they begin: in no table");
  some("lost", "early time stamps", c.early_stamps, "records from before the trace began: in no table");
  some("lost", "contradictions", c.contradictions, "correlation ids that two nodes claim: they are counted for none");
  some("lost", "unknown ids", c.unknown_ids, "external ids that were never given");
  some("lost", "crossed ids", crossed, "external ids that were not on top when they were popped");
  some("note", "unmatched", c.unmatched, "records that no node and no step is known for");
  some("note", "unmapped graph nodes", c.unmapped, "records of graph nodes that were made while nothing listened");
  some("note", "whole graphs", c.graphs_whole, "launches of graphs of which only the whole was traced");
  some("note", "replays and rehearsals", c.other_attempts, "records in no table");
  some("note", "between nodes", c.between_nodes, "records of a step, and of none of its nodes");
  some("note", "other tools", data.records.foreign, "external ids of other tools, not looked at");
  some("note", "unknown kinds", data.records.unknown, "records of kinds that are not read");
  some("note", "memory", data.records.memory, "allocations and releases of device memory in the traced steps");
  some("note", "markers", data.records.markers, "of NVTX, not used for matching");
}

/// On a GPU kernels of their own count, between those of the node that they are launched for.
void push_counting(const TraceRows& rows, std::int64_t observed, bool ranges) {
  constexpr const char* longer = "what counts was launched among a node's own kernels, and its time holds both; the timing phase counts nothing";
  if (ranges) return rows.push("note", "kernel trace: ranges", {}, fmt::format("every step counted ranges: {}", longer));
  rows.some("note", "kernel trace: observed steps", observed, fmt::format("of the traced ones: {}", longer));
}

void push_cost(const TraceRows& rows, const TraceCost& cost) {
  std::string detail;
  reports::Number seconds;
  if (cost.traced_step_seconds && cost.untraced_step_seconds && *cost.untraced_step_seconds > 0) {
    const double more = *cost.traced_step_seconds - *cost.untraced_step_seconds;
    seconds = std::max(0.0, more) * static_cast<double>(cost.traced_steps);
    detail = fmt::format("a traced step takes {:+.1f} % (medians of {} traced and {} later steps)", 100 * more / *cost.untraced_step_seconds,
                         cost.traced_steps, cost.untraced_steps);
  } else {
    detail = "there are no untraced steps to compare with";
  }
  rows.push("observation_cost", "kernel trace", {},
            fmt::format("{}; CUPTI's own records speak of {:.6f} s; the timing phase is not traced", detail, cost.own_seconds), seconds,
            seconds ? Provenance::measured : Provenance::unknown);
}

}  // namespace

void record_trace(const Sink& sink, reports::RunId run, const KernelTrace& trace, std::chrono::steady_clock::time_point run_begin,
                  const KernelCounters* counters, bool ranges) {
  const TraceRows rows(sink, run);
  for (const TraceRefusal& refusal : trace.refusals()) {
    const bool all = refusal.what == "kernel trace";
    rows.push("refused", all ? refusal.what : "kernel trace: " + refusal.what, {},
              refusal_line(refusal.what, refusal.code, refusal.own_words) + (all ? empty_columns : ""), {}, Provenance::unknown);
  }
  if (trace.refused()) return push_counting(rows, 0, ranges);
  const TraceData& data = trace.data();
  if (data.steps.empty()) {
    rows.push("note", "kernel trace", 0, "the run ended before the first step that is traced");
    return;
  }
  const TraceMatch matched = match(data);
  const std::int64_t offset = std::chrono::duration_cast<std::chrono::nanoseconds>(trace.began() - run_begin).count();
  const std::int64_t counted = push_kernels(sink, run, data, matched, std::max<std::int64_t>(0, offset), counters);
  push_node_times(sink, run, matched);
  const TraceCoverage& c = matched.coverage;
  rows.push("note", "kernel trace", c.kernels, coverage_words(data, c));
  rows.push("note", "kernel trace: launches", c.launches, c.launches ? "calls that launched kernels or graphs" : "could not be counted", {},
            c.launches ? Provenance::counted : Provenance::unknown);
  rows.push("note", "kernel trace: copies and sets", c.transfers, "of memory: in node_timing, not in the table kernel", c.transfer_seconds,
            Provenance::measured);
  rows.push("note", "kernel trace: clock", {},
            fmt::format("the GPU's time stamps, converted by CUPTI {} to the host's real-time clock; the trace began {:.6f} s after the run",
                        trace.source_version(), 1e-9 * static_cast<double>(offset)),
            {}, Provenance::measured);
  push_losses(rows, data, c, trace.crossed_ids());
  push_counting(rows, std::ssize(data.observed), ranges);
  push_cost(rows, trace.cost());
  rows.push("note", "kernel trace: tensor pipes", counted,
            counted > 0 ? "kernels with a count of their tensor pipes: that of their node's kernels together, in another step"
                        : fmt::format("no hardware counters were read, {}", uncounted));
}

void record_no_trace(const Sink& sink, reports::RunId run, const std::string& why, bool ranges) {
  const TraceRows rows(sink, run);
  rows.push("refused", "kernel trace", {}, why + empty_columns, {}, Provenance::unknown);
  push_counting(rows, 0, ranges);
}

}  // namespace ulpscope::profiler
