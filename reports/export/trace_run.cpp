#include "reports/export/trace_run.h"

#include <algorithm>
#include <cmath>

#include "reports/analysis/imported.h"
#include "reports/run_file/counter_rows.h"

namespace ulpscope::reports {
namespace {

// Threads of a process, in the order in which they are shown. Streams follow.
constexpr std::int64_t steps_tid = 1, passes_tid = 2, nodes_tid = 3, mean_passes_tid = 4, mean_nodes_tid = 5, streams_tid = 16;
constexpr std::size_t page = 50'000;              // kernels
constexpr std::int64_t most_steps = 4096;         // of a page
constexpr std::int64_t untimed_step = 1'000'000;  // ns that a step without a time is drawn with

std::int64_t nanoseconds(double seconds) { return std::isfinite(seconds) && seconds > 0.0 ? static_cast<std::int64_t>(std::llround(std::min(seconds, 1e9) * 1e9)) : 0; }

/// Of a damaged file a sum may be greater than any time.
std::int64_t sum_of(std::int64_t a, std::int64_t b) {
  if (b > 0 && a > INT64_MAX - b) return INT64_MAX;
  if (b < 0 && a < INT64_MIN - b) return INT64_MIN;
  return a + b;
}

void add(std::string& members, std::string_view key, const std::string& json) { members += fmt::format("{}\"{}\":{}", members.empty() ? "" : ",", key, json); }
void add(std::string& members, std::string_view key, const Number& value) {
  if (value) add(members, key, json_value(*value));
}
void add(std::string& members, std::string_view key, const Count& value) {
  if (value) add(members, key, fmt::format("{}", *value));
}

const std::string& phase_text(Phase phase) {
  static const std::string texts[] = {json_text(name(Phase::forward)), json_text(name(Phase::backward)), json_text(name(Phase::update))};
  return texts[static_cast<std::size_t>(phase)];
}

}  // namespace

RunTrace::RunTrace(const ReportRun& run, int pid, const ModeMemory* memory, TraceEvents& trace) : run_(run), pid_(pid), memory_(memory), trace_(trace), told_by_others_(imported(run.run).has_value()) {
  if (!run.run.plan) return;
  for (const NodeRecord& n : run.reader->nodes(*run.run.plan)) {
    Node node{json_text(n.name), {}, n.phase, n.position};
    add(node.arguments, "operation", json_text(n.operation));
    if (!n.compute_format.empty()) add(node.arguments, "format", json_text(n.compute_format));
    add(node.arguments, "position", Count(n.position));
    nodes_.emplace(n.id, std::move(node));
  }
}

const RunTrace::Node& RunTrace::node(NodeId id) {
  const auto found = nodes_.find(id);
  if (found != nodes_.end()) return found->second;
  return nodes_.emplace(id, Node{json_text(fmt::format("node {}", static_cast<std::int64_t>(id))), {}, Phase::forward, static_cast<std::int64_t>(id)}).first->second;
}

const std::string& RunTrace::kernel_name(const std::string& name) {
  const auto found = kernel_names_.find(name);
  return found != kernel_names_.end() ? found->second : kernel_names_.emplace(name, json_text(name)).first->second;
}

void RunTrace::thread(std::int64_t tid, const std::string& name) {
  if (threads_.emplace(tid, true).second) trace_.thread(pid_, tid, json_text(name));
}

void RunTrace::write() {
  std::string labels = run_.run.device;
  if (run_.emulated) labels += ", times emulated";
  if (run_.live) labels += ", still being written";
  if (run_.cut_off) labels += ", cut off";
  trace_.process(pid_, json_text(run_.label), json_text(labels));
  thread(steps_tid, "steps");
  read_timings();
  write_mean_step();
  // As many steps at a time as hold about a page of kernels.
  std::int64_t range = 1;
  for (std::int64_t next = 0;;) {
    const std::vector<StepRecord> steps = run_.reader->steps(run_.run.id, {.first = next, .limit = range});
    if (steps.empty()) break;
    const std::int64_t end = steps.back().step + 1;
    const bool alone = steps.size() == 1;
    const std::vector<KernelRecord> kernels = run_.reader->kernels(run_.run.id, {.first = next, .end = end, .limit = alone ? -1 : static_cast<std::int64_t>(page)});
    if (!alone && kernels.size() == page) {  // there may be more
      range = std::max<std::int64_t>(1, range / 2);
      continue;
    }
    std::map<std::int64_t, std::vector<const KernelRecord*>> by_step;
    for (const KernelRecord& kernel : kernels)
      if (kernel.step) by_step[*kernel.step].push_back(&kernel);
    for (const StepRecord& step : steps) write_step(step, by_step[step.step]);
    write_events(next, end);
    next = end;
    if (kernels.size() < page / 4) range = std::min(most_steps, range * 2);
  }
}

void RunTrace::read_timings() {
  for (const NodeTiming& t : run_.reader->node_timings(run_.run.id)) {
    if (!t.seconds || !std::isfinite(*t.seconds)) continue;
    if (t.step) {
      timed_[*t.step].push_back({t.node, nanoseconds(*t.seconds), t.provenance});
    } else if (t.sampled_steps.value_or(0) > 0) {
      mean_.push_back({t.node, nanoseconds(*t.seconds / static_cast<double>(*t.sampled_steps)), t.provenance});
      mean_of_ = std::max(mean_of_, *t.sampled_steps);
    }
  }
  counted_ = counted_steps(run_.reader->completeness(), run_.run.id);
  for (MemoryRecord& row : run_.reader->memory(run_.run.id, MemoryKind::sample))
    if (row.step && row.total_bytes) samples_.push_back(std::move(row));
}

void RunTrace::write_mean_step() {
  if (mean_.empty()) return;
  thread(mean_passes_tid, fmt::format("passes, mean of {} sampled step{}", mean_of_, mean_of_ == 1 ? "" : "s"));
  thread(mean_nodes_tid, fmt::format("nodes, mean of {} sampled step{}, in the order of the plan", mean_of_, mean_of_ == 1 ? "" : "s"));
  Ends ends;
  const std::int64_t end = write_nodes(mean_, 0, mean_passes_tid, mean_nodes_tid, ends);
  write_curve(0, end, ends);
}

std::int64_t RunTrace::write_nodes(const std::vector<Timed>& nodes, std::int64_t start, std::int64_t passes, std::int64_t tid, Ends& ends) {
  std::vector<Timed> ordered = nodes;
  std::stable_sort(ordered.begin(), ordered.end(), [&](const Timed& a, const Timed& b) { return node(a.node).position < node(b.node).position; });
  std::int64_t at = start, pass = start;
  for (std::size_t i = 0; i < ordered.size(); ++i) {
    const Node& n = node(ordered[i].node);
    std::string arguments = n.arguments;
    add(arguments, "time", json_text(name(ordered[i].provenance)));
    trace_.slice(pid_, tid, n.name, at, ordered[i].nanoseconds, arguments);
    at = sum_of(at, ordered[i].nanoseconds);
    ends[n.position] = at;
    if (i + 1 < ordered.size() && node(ordered[i + 1].node).phase == n.phase) continue;
    trace_.slice(pid_, passes, phase_text(n.phase), pass, at - pass);
    pass = at;
  }
  return at;
}

void RunTrace::write_step(const StepRecord& step, const std::vector<const KernelRecord*>& kernels) {
  const std::int64_t start = kernels.empty() ? clock_ : std::max(clock_, kernels.front()->start_ns);
  Ends ends;
  std::int64_t end = start;
  if (!kernels.empty()) {
    end = std::max(end, write_kernels(kernels, sum_of(start, -std::max<std::int64_t>(kernels.front()->start_ns, -INT64_MAX)), ends));
  } else if (const auto timed = timed_.find(step.step); timed != timed_.end()) {
    thread(passes_tid, "passes");
    thread(nodes_tid, "nodes");
    end = write_nodes(timed->second, start, passes_tid, nodes_tid, ends);
  }
  std::string arguments;
  add(arguments, "iteration", Count(step.step));
  add(arguments, "loss", step.loss);
  add(arguments, "loss_scale", step.loss_scale);
  add(arguments, "gradient_norm", step.gradient_norm);
  if (!told_by_others_) add(arguments, "gradients_finite", std::string(step.finite ? "true" : "false"));
  add(arguments, "tokens", step.tokens);
  add(arguments, "device_seconds", step.device_seconds);
  if (step.wall_seconds) {
    end = std::max(end, sum_of(start, nanoseconds(*step.wall_seconds)));
    add(arguments, "wall_seconds", step.wall_seconds);
    add(arguments, "time", json_text(name(run_.run.time_provenance)));
  } else {
    add(arguments, "time", std::string("\"unknown\""));
    if (end == start) {
      end = sum_of(end, untimed_step);
      add(arguments, "drawn_as", std::string("\"1 ms\""));
    }
  }
  const bool counted = counted_.contains(step.step);
  if (counted) add(arguments, "nodes_counted", json_text("one after the other, by the GPU's hardware counters: the time is no step's"));
  trace_.slice(pid_, steps_tid, fmt::format("\"step {}{}{}\"", step.step + 1, step.skipped ? ", skipped" : "", counted ? ", nodes counted" : ""), start, end - start, arguments);
  if (step.loss_scale != scale_ && step.loss_scale && std::isfinite(*step.loss_scale)) trace_.counter(pid_, "\"loss scale\"", start, *step.loss_scale);
  scale_ = step.loss_scale;
  if (step.loss && std::isfinite(*step.loss)) trace_.counter(pid_, "\"loss\"", end, *step.loss);
  write_samples(step.step, start, end, ends);
  write_curve(start, end, ends);
  ends_.emplace_back(step.step, end);
  clock_ = end;
}

std::int64_t RunTrace::write_kernels(const std::vector<const KernelRecord*>& kernels, std::int64_t shift, Ends& ends) {
  thread(passes_tid, "passes");
  thread(nodes_tid, "nodes");
  struct Span {
    std::optional<NodeId> node;
    std::int64_t start, end;
  };
  std::vector<Span> spans;
  std::int64_t last = 0;
  for (const KernelRecord* kernel : kernels) {
    write_kernel(*kernel, shift);
    const std::int64_t start = sum_of(kernel->start_ns, shift), end = sum_of(start, std::max<std::int64_t>(0, kernel->duration_ns));
    last = std::max(last, end);
    if (!spans.empty() && spans.back().node == kernel->node)
      spans.back().end = std::max(spans.back().end, end);
    else
      spans.push_back({kernel->node, start, end});
  }
  // What overlaps on other streams is cut where the next one begins: spans of a thread follow one another.
  for (std::size_t i = 0; i + 1 < spans.size(); ++i) spans[i].end = std::min(spans[i].end, spans[i + 1].start);
  std::int64_t pass = -1;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    if (!spans[i].node) continue;
    const Node& n = node(*spans[i].node);
    trace_.slice(pid_, nodes_tid, n.name, spans[i].start, spans[i].end - spans[i].start, n.arguments);
    ends[n.position] = spans[i].end;
    if (pass < 0) pass = spans[i].start;
    std::size_t next = i + 1;
    while (next < spans.size() && !spans[next].node) ++next;
    if (next < spans.size() && node(*spans[next].node).phase == n.phase) continue;
    trace_.slice(pid_, passes_tid, phase_text(n.phase), pass, spans[i].end - pass);
    pass = -1;
  }
  return last;
}

void RunTrace::write_kernel(const KernelRecord& kernel, std::int64_t shift) {
  const std::int64_t tid = streams_tid + std::max<std::int64_t>(0, kernel.stream);
  thread(tid, fmt::format("kernels, stream {}", kernel.stream));
  fmt::memory_buffer arguments;
  const auto out = std::back_inserter(arguments);
  fmt::format_to(out, "\"grid\":\"{}x{}x{}\",\"block\":\"{}x{}x{}\"", kernel.grid[0], kernel.grid[1], kernel.grid[2], kernel.block[0], kernel.block[1], kernel.block[2]);
  if (kernel.registers) fmt::format_to(out, ",\"registers\":{}", *kernel.registers);
  if (kernel.static_shared_bytes || kernel.dynamic_shared_bytes) fmt::format_to(out, ",\"shared_bytes\":{}", kernel.static_shared_bytes.value_or(0) + kernel.dynamic_shared_bytes.value_or(0));
  if (kernel.tensor_pipe) {
    fmt::format_to(out, ",\"tensor_pipe\":{}", json_value(*kernel.tensor_pipe));
    if (kernel.node) fmt::format_to(out, ",\"tensor_pipe_of\":\"all kernels of this node together, for a micro-batch, in another step\"");
  }
  if (kernel.node) fmt::format_to(out, ",\"node\":{}", node(*kernel.node).name);
  trace_.slice(pid_, tid, kernel_name(kernel.name), sum_of(kernel.start_ns, shift), std::max<std::int64_t>(0, kernel.duration_ns), {arguments.data(), arguments.size()});
  ++kernels_;
}

void RunTrace::write_samples(std::int64_t step, std::int64_t start, std::int64_t end, const Ends& ends) {
  const auto nodes = std::max<std::int64_t>(1, std::ssize(nodes_));
  while (next_sample_ < samples_.size() && *samples_[next_sample_].step < step) ++next_sample_;
  std::int64_t before = start;
  for (; next_sample_ < samples_.size() && *samples_[next_sample_].step == step; ++next_sample_) {
    const MemoryRecord& row = samples_[next_sample_];
    std::int64_t at = start;
    if (row.position) {
      const auto known = ends.find(*row.position);
      at = known != ends.end() ? known->second : start + (end - start) / nodes * std::min(nodes, *row.position + 1);
    }
    before = std::max(before, at);
    trace_.counter(pid_, "\"memory, bytes\"", before, static_cast<double>(*row.total_bytes));
  }
}

void RunTrace::write_curve(std::int64_t start, std::int64_t end, const Ends& ends) {
  if (curve_written_ || memory_ == nullptr || memory_->curve.empty() || memory_->curve_provenance == Provenance::counted) return;
  curve_written_ = true;
  const auto nodes = std::max<std::int64_t>(1, std::ssize(nodes_));
  std::int64_t at = start;
  for (const MemoryPoint& point : memory_->curve) {
    const auto known = ends.find(point.position);
    at = std::max(at, known != ends.end() ? known->second : start + (end - start) / nodes * std::min(nodes, point.position + 1));
    trace_.counter(pid_, "\"memory of results still to be read, bytes, computed from the plan\"", at, static_cast<double>(point.bytes));
  }
}

void RunTrace::write_events(std::int64_t first, std::int64_t end) {
  std::size_t at = 0;
  for (const EventRecord& event : run_.reader->events(run_.run.id, {.first = first, .end = end})) {
    while (at + 1 < ends_.size() && ends_[at].first < event.step) ++at;
    std::string arguments;
    add(arguments, "iteration", Count(event.step));
    add(arguments, "value", event.value);
    if (event.node) add(arguments, "node", node(*event.node).name);
    trace_.instant(pid_, steps_tid, json_text(event.kind), ends_[at].second, arguments);
  }
  ends_.clear();
}

}  // namespace ulpscope::reports
