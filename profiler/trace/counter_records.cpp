#include "profiler/trace/counter_records.h"

#include <fmt/format.h>

#include "profiler/trace/kernel_refusals.h"
#include "profiler/trace/trace_rows.h"
#include "reports/run_file/counter_rows.h"

namespace ulpscope::profiler {

const char* const uncounted =
    "kernel.tensor_pipe is empty: whether tensor cores were used is inferred from the rate where that proves it, else unknown";

namespace {

using reports::Provenance;

std::string chip_words(const CounterPlan& plan) { return plan.chip.empty() ? "" : fmt::format(" on {}", plan.chip); }

void push_ranges(const TraceRows& rows, const CounterData& data) {
  const auto some = [&](const char* kind, const char* subject, std::int64_t count, const char* detail) {
    rows.some(kind, fmt::format("kernel counters: {}", subject), count, detail);
  };
  some("note", "ranges", data.pushed, "executions of nodes, each counted by itself");
  some("note", "counts", data.read, "that CUPTI gave for them");
  some("note", "without work", data.no_numbers, "ranges whose count is no number: no multiprocessor worked in them (copies, sets), or it was lost");
  some("note", "nested nodes", data.nested, "whose kernels would share a count: they have none");
  some("lost", "no room", data.without_room, "executions of nodes beyond the ranges that were kept ready");
  some("lost", "dropped", data.dropped, "ranges that CUPTI had no room for");
  some("lost", "unanswered", data.unanswered, "ranges that no count came back for");
  some("lost", "unknown ids", data.unknown_ids, "counts of ranges that were not pushed");
  some("lost", "repeated ids", data.repeated, "ranges that came back twice: they are counted for none");
  some("lost", "beyond", data.beyond, "counts below 0 % or above 100 % of the cycles: they are shares of nothing");
}

}  // namespace

void record_counted_step(const Sink& sink, reports::RunId run, const CountedStep& step) {
  TraceRows(sink, run).push("note", reports::counted_step_subject + std::to_string(step.step), step.step,
                            step.abandoned.empty() ? "is the step whose nodes were counted, one after the other: its time is left out where times of steps are summed up"
                                                   : fmt::format("is a step in which counting was given up ({}): its time is left out where times of steps are summed up", step.abandoned),
                            step.seconds, Provenance::measured);
}

void record_counters(const Sink& sink, reports::RunId run, const KernelCounters& counters) {
  const TraceRows rows(sink, run);
  const CounterData& data = counters.data();
  if (const auto& refusal = counters.refusal()) {
    const std::string line = refusal->code == activity_ok ? fmt::format("{} not read: {}", refusal->what, refusal->own_words)
                                                          : refusal_line(refusal->what, refusal->code, refusal->own_words);
    const std::string where = data.refused_call.empty() ? chip_words(data.plan) : fmt::format(" ({}{})", data.refused_call, chip_words(data.plan));
    rows.push("refused", reports::counters_subject, {}, fmt::format("{}{}; {}", line, where, uncounted), {}, Provenance::unknown);
  }
  if (!counters.counted()) {
    if (counters.refusal()) return;
    return rows.push("note", reports::counters_subject, 0,
                     fmt::format("{}; {}", data.steps.empty() ? "no step without observation was left behind those that are traced"
                                                              : "none of the steps that were tried could be counted",
                                 uncounted));
  }
  push_ranges(rows, data);
  rows.push("observation_cost", reports::counters_subject, {},
            fmt::format("step {} took this long with {} counted{} and the device waited for around every node; it is neither traced nor timed",
                        data.steps.back().step, data.plan.metric, chip_words(data.plan)),
            data.steps.back().seconds, Provenance::measured);
}

void record_no_counters(const Sink& sink, reports::RunId run, const std::string& why) {
  TraceRows(sink, run).push("refused", reports::counters_subject, {}, fmt::format("{}; {}", why, uncounted), {}, Provenance::unknown);
}

}  // namespace ulpscope::profiler
