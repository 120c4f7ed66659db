#include "profiler/trace/kernel_trace.h"

#include <algorithm>
#include <map>

namespace ulpscope::profiler {
namespace {

/// Kernels first: without them there is no trace. External ids are only given for calls that are recorded, too.
constexpr ActivityKind asked_for[] = {ActivityKind::kernel,       ActivityKind::external_correlation, ActivityKind::runtime_call,
                                      ActivityKind::driver_call,  ActivityKind::copy,                 ActivityKind::set,
                                      ActivityKind::memory,       ActivityKind::overhead,             ActivityKind::marker};

std::optional<double> median(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  const std::size_t half = values.size() / 2;
  return values.size() % 2 == 1 ? values[half] : 0.5 * (values[half - 1] + values[half]);
}

}  // namespace

KernelTrace::KernelTrace(engine::Topics& topics, Faults& faults, ActivitySource& source, BufferPool& buffers,
                         std::function<void()> synchronize, TraceWindow window)
    : faults_(faults), source_(source), buffers_(buffers), synchronize_(std::move(synchronize)), window_(window) {
  trainer_ = std::this_thread::get_id();
  declined_before_ = buffers_.declined();
  attached_ = accepted("kernel trace", source_.attach(*this));
  refused_ = !attached_;
  if (refused_) return;
  on_step_begin_ = topics.step_begin.subscribe(
      [this](const engine::StepBegin& step) { faults_.guard("kernel trace", [&] { begin_step(step); }); });
  on_step_end_ = topics.step_end.subscribe([this](const engine::StepResult&) { faults_.guard("kernel trace", [&] { end_step(); }); });
  on_node_begin_ = topics.node_begin.subscribe(
      [this](const engine::NodeEvent& event) { faults_.guard("kernel trace", [&] { begin_node(event); }); });
  on_node_end_ = topics.node_end.subscribe([this](const engine::NodeEvent&) { faults_.guard("kernel trace", [&] { end_node(); }); });
  on_node_begin_.pause();
  on_node_end_.pause();
}

KernelTrace::~KernelTrace() {
  faults_.guard("kernel trace", [&] { finish(); });
  if (attached_) source_.detach();
}

bool KernelTrace::accepted(const std::string& what, int code) {
  if (code != activity_ok) refusals_.push_back({what, code, source_.error_text(code)});
  return code == activity_ok;
}

void KernelTrace::begin_step(const engine::StepBegin& step) {
  in_step_ = false;
  while (!open_spans_.empty()) close_span();   // of a step that threw
  if (!done_ && !tracing_ && step.iteration >= window_.first) start();
  if (tracing_) {
    {
      const std::lock_guard lock(mutex_);
      trainer_ = std::this_thread::get_id();
      data_.steps.push_back(step.iteration);
      if (step.observed) data_.observed.insert(step.iteration);
    }
    open_span({-1, step.iteration, 0, 0});
    on_node_begin_.resume();
    on_node_end_.resume();
  }
  in_step_ = true;
  step_is_plain_ = !step.observed;
  step_begin_ = Clock::now();
}

void KernelTrace::end_step() {
  if (!in_step_) return;
  in_step_ = false;
  const double seconds = std::chrono::duration<double>(Clock::now() - step_begin_).count();
  on_node_begin_.pause();   // nodes of an evaluation are none of a step
  on_node_end_.pause();
  while (!open_spans_.empty()) close_span();
  if (step_is_plain_ && !refused_ && (tracing_ || done_)) (tracing_ ? traced_seconds_ : untraced_seconds_).push_back(seconds);
  if (tracing_ && std::ssize(data_.steps) >= window_.steps) stop();
}

void KernelTrace::begin_node(const engine::NodeEvent& event) {
  if (refused_ || done_) return;
  open_span({event.node.index, event.iteration, event.micro_batch, event.attempt});
}

void KernelTrace::end_node() {
  // A step's own span is not the node's to close.
  if (!open_spans_.empty() && data_.spans[static_cast<std::size_t>(open_spans_.back())].node >= 0) close_span();
}

void KernelTrace::open_span(const NodeSpan& span) {
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    data_.spans.push_back(span);
    id = data_.spans.size();
    open_spans_.push_back(static_cast<std::int64_t>(id - 1));
  }
  if (!pushing_ || push_refused_) return;
  if (const int code = source_.push(id); code != activity_ok) {
    push_refused_ = true;
    accepted(name(ActivityKind::external_correlation), code);
  }
}

void KernelTrace::close_span() {
  std::uint64_t id = 0;
  {
    const std::lock_guard lock(mutex_);
    id = static_cast<std::uint64_t>(open_spans_.back()) + 1;
    open_spans_.pop_back();
  }
  std::uint64_t popped = id;
  if (pushing_ && !push_refused_ && (source_.pop(popped) != activity_ok || popped != id)) ++crossed_;
}

void KernelTrace::start() {
  for (const ActivityKind kind : asked_for) {
    const bool kernels = kind == ActivityKind::kernel;
    if (accepted(kernels ? "kernel trace" : name(kind), source_.enable(kind))) {
      enabled_.push_back(kind);
    } else if (kernels) {
      refused_ = done_ = true;
      return;
    }
  }
  counting_ = accepted("counting of launches", source_.count_launches(true));
  std::size_t earlier = 0;
  source_.dropped(earlier);   // before the trace: none of its own
  std::uint64_t origin = 0;
  if (!accepted("clock of the trace", source_.now(origin))) origin = 0;
  {
    const std::lock_guard lock(mutex_);
    data_.launches_counted = counting_;
    data_.origin = origin;
    began_ = Clock::now();
    tracing_ = true;
  }
  pushing_ = std::find(enabled_.begin(), enabled_.end(), ActivityKind::external_correlation) != enabled_.end();
}

void KernelTrace::stop() {
  on_node_begin_.pause();
  on_node_end_.pause();
  while (!open_spans_.empty()) close_span();
  pushing_ = false;
  faults_.guard("kernel trace", [&] { synchronize_(); });
  if (counting_) source_.count_launches(false);
  for (const ActivityKind kind : enabled_) source_.disable(kind);
  accepted("flush of the trace", source_.flush());
  std::size_t dropped = 0;
  accepted("count of dropped records", source_.dropped(dropped));
  source_.detach();
  attached_ = false;
  const std::lock_guard lock(mutex_);
  tracing_ = false;
  done_ = true;
  data_.dropped = static_cast<std::int64_t>(dropped);
  data_.declined = buffers_.declined() - declined_before_;
  std::vector<TracedLaunch> launches;
  for (std::size_t i = 0; i < data_.launches.size(); ++i)
    if (!void_launches_[i]) launches.push_back(data_.launches[i]);
  data_.launches = std::move(launches);
  void_launches_.clear();
  open_launches_.clear();
  std::map<std::int64_t, std::int64_t> executions;
  for (const NodeSpan& span : data_.spans)
    if (span.node >= 0 && span.attempt == 0) executions_ = std::max(executions_, ++executions[span.step]);
}

void KernelTrace::finish() {
  if (tracing_) stop();
  done_ = true;
}

TraceCost KernelTrace::cost() const {
  TraceCost cost;
  cost.traced_step_seconds = median(traced_seconds_);
  cost.untraced_step_seconds = median(untraced_seconds_);
  cost.traced_steps = std::ssize(traced_seconds_);
  cost.untraced_steps = std::ssize(untraced_seconds_);
  for (const OverheadActivity& o : data_.records.overheads)
    if (o.start != 0 && o.end > o.start) cost.own_seconds += 1e-9 * static_cast<double>(o.end - o.start);
  return cost;
}

std::span<std::byte> KernelTrace::buffer_requested() noexcept {
  std::byte* const buffer = buffers_.take();
  return buffer == nullptr ? std::span<std::byte>{} : std::span(buffer, buffers_.bytes());
}

void KernelTrace::buffer_completed(std::byte* buffer, std::size_t valid) noexcept {
  bool read = false;
  try {
    ActivityBatch batch;
    source_.read(buffer, valid, batch);
    const std::lock_guard lock(mutex_);
    data_.records.append(std::move(batch));
    read = true;
  } catch (...) {   // there is no memory for them
  }
  buffers_.give_back(buffer);
  if (read) return;
  const std::lock_guard lock(mutex_);
  ++data_.lost_buffers;
}

std::int64_t KernelTrace::current_span() const {
  return std::this_thread::get_id() == trainer_ && !open_spans_.empty() ? open_spans_.back() : -1;
}

void KernelTrace::launch_begin(std::uint32_t correlation) noexcept {
  const std::lock_guard lock(mutex_);
  if (!tracing_) return;
  try {
    OpenLaunch& open = open_launches_[std::this_thread::get_id()];
    if (open.depth++ > 0) {
      TracedLaunch& launch = data_.launches[open.launch];
      if (correlation != launch.correlation) launch.inner = correlation;
      return;
    }
    open.launch = data_.launches.size();
    open.captured = false;
    data_.launches.push_back({correlation, 0, current_span()});
    void_launches_.push_back(false);
  } catch (...) {   // it would be missing among those counted
    data_.launches_counted = false;
  }
}

void KernelTrace::launch_end(bool failed) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = open_launches_.find(std::this_thread::get_id());
  if (!tracing_ || found == open_launches_.end() || found->second.depth == 0) return;
  OpenLaunch& open = found->second;
  if (--open.depth == 0 && (failed || open.captured)) void_launches_[open.launch] = true;
}

void KernelTrace::graph_node(std::uint64_t node, std::uint64_t original, std::uint32_t graph) noexcept {
  const std::lock_guard lock(mutex_);
  try {
    if (original != 0) {
      const auto found = data_.graph_nodes.find(original);
      if (found == data_.graph_nodes.end()) return;   // it will be counted as unmapped when it runs
      const std::int64_t span = found->second.span;
      data_.graph_nodes[node] = {span, graph};
      return;
    }
    // The call launches nothing: it makes a node. Completeness asks for nodes of the executable copy alone.
    if (const auto open = open_launches_.find(std::this_thread::get_id()); open != open_launches_.end() && open->second.depth > 0)
      open->second.captured = true;
    // CUPTI calls a copy made, too: the span that it has as a copy stays.
    data_.graph_nodes.try_emplace(node, MappedGraphNode{current_span(), 0});
  } catch (...) {
  }
}

}  // namespace ulpscope::profiler
