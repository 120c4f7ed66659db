#include "profiler/trace/kernel_counters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "profiler/trace/kernel_refusals.h"

namespace ulpscope::profiler {
namespace {

constexpr const char* who = "kernel counters";
constexpr const char* run_again = "it was run again under observation";

/// Ranges that are kept ready beyond those of a traced step.
constexpr std::int64_t spare_ranges = 16;

}  // namespace

KernelCounters::KernelCounters(engine::Topics& topics, Faults& faults, CounterSource& source, KernelTrace& trace,
                               std::function<void()> synchronize, Tell tell)
    : faults_(faults), source_(source), trace_(trace), synchronize_(std::move(synchronize)), tell_(std::move(tell)) {
  on_step_begin_ = topics.step_begin.subscribe([this](const engine::StepBegin& step) { faults_.guard(who, [&] { begin_step(step); }); });
  on_step_end_ = topics.step_end.subscribe([this](const engine::StepResult& result) { faults_.guard(who, [&] { end_step(result); }); });
  on_node_begin_ = topics.node_begin.subscribe([this](const engine::NodeEvent& event) { faults_.guard(who, [&] { begin_node(event); }); });
  on_node_end_ = topics.node_end.subscribe([this](const engine::NodeEvent&) { faults_.guard(who, [&] { end_node(); }); });
  on_node_begin_.pause();
  on_node_end_.pause();
}

KernelCounters::~KernelCounters() {
  faults_.guard(who, [&] { finish(); });
}

bool KernelCounters::accepted(const std::string& call, int code) {
  if (code == activity_ok) return true;
  refusal_ = TraceRefusal{"hardware counters", code, source_.error_text(code)};
  data_.refused_call = call;
  done_ = true;
  return false;
}

void KernelCounters::begin_step(const engine::StepBegin& step) {
  if (counting_) abandon("the step ended by a fault");
  // Observed steps launch other kernels than those that were traced.
  if (!done_ && trace_.done() && !trace_.refused() && !step.observed) start(step.iteration);
}

void KernelCounters::start(std::int64_t step) {
  trace_.set_step_aside();
  begin_ = Clock::now();
  data_.steps.push_back({step, 0.0, ""});
  trouble_.clear();
  ranges_.clear();
  open_.clear();
  room_ = static_cast<std::size_t>(std::clamp<std::int64_t>(trace_.executions_in_a_step() + spare_ranges, 1, most_ranges));
  ranges_.reserve(room_);
  counting_ = true;
  data_.plan = source_.open(tensor_pipe_metrics, room_);
  if (!accepted(data_.plan.call, data_.plan.code)) return abandon("CUPTI refused");
  if (data_.plan.metric.empty()) {
    refusal_ = TraceRefusal{"hardware counters", activity_ok, fmt::format("{} has no tensor cores", data_.plan.chip)};
    done_ = true;
    return abandon("the GPU has no tensor cores");
  }
  if (data_.plan.passes != 1) {
    refusal_ = TraceRefusal{"hardware counters", activity_ok, fmt::format("{} needs the work {} times, and another step is other work",
                                                                          data_.plan.metric, data_.plan.passes)};
    done_ = true;
    return abandon("the metric needs more than one pass");
  }
  if (!accepted("start", source_.begin())) return abandon("CUPTI refused");
  on_node_begin_.resume();
  on_node_end_.resume();
}

void KernelCounters::begin_node(const engine::NodeEvent& event) {
  if (!counting_) return;
  if (event.attempt != 0) return abandon(run_again);
  if (!open_.empty()) {   // the kernels of both would share a count
    ++data_.nested;
    Range& outer = ranges_[open_.back()];
    if (!outer.nested) ++data_.nested;
    outer.nested = true;
  }
  if (ranges_.size() >= room_) ++data_.without_room;
  const bool push = trouble_.empty() && open_.empty() && ranges_.size() < room_;
  ranges_.push_back({{event.node.index, event.iteration, event.micro_batch, event.attempt}, false, !open_.empty()});
  open_.push_back(ranges_.size() - 1);
  if (!push) return;
  synchronize_();   // nothing of what was launched before
  ranges_.back().pushed = accepted("push", source_.push(ranges_.size()));
  if (refusal_) trouble_ = "CUPTI refused";
}

void KernelCounters::end_node() {
  if (!counting_ || open_.empty()) return;
  const bool pushed = ranges_[open_.back()].pushed;
  open_.pop_back();
  if (!pushed || refusal_) return;
  synchronize_();   // all of its own
  if (!accepted("pop", source_.pop())) trouble_ = "CUPTI refused";
}

void KernelCounters::end_step(const engine::StepResult& result) {
  if (!counting_) return;
  while (!open_.empty()) end_node();
  if (result.replay != engine::Replay::none) trouble_ = run_again;
  if (trouble_.empty() && (!result.finite || result.skipped || !std::isfinite(result.loss))) trouble_ = "its loss or a gradient was not finite";
  if (!trouble_.empty()) return abandon(trouble_);
  if (accepted("stop", source_.end())) take();
  if (refusal_) return abandon("CUPTI refused");
  counted_ = done_ = true;
  stop();
}

void KernelCounters::abandon(const std::string& why) {
  data_.steps.back().abandoned = why;
  stop();
  data_.pushed = data_.read = data_.unanswered = data_.unknown_ids = data_.repeated = data_.no_numbers = data_.beyond = data_.nested =
      data_.without_room = data_.dropped = 0;
  if (std::ssize(data_.steps) >= most_tries) done_ = true;
}

/// Whatever is open is closed.
void KernelCounters::stop() {
  on_node_begin_.pause();   // nodes of an evaluation are none of a step
  on_node_end_.pause();
  counting_ = false;
  open_.clear();
  source_.close();
  data_.steps.back().seconds = std::chrono::duration<double>(Clock::now() - begin_).count();
  tell_(data_.steps.back());
}

void KernelCounters::take() {
  std::vector<RangeCount> counts;
  std::size_t dropped = 0;
  if (!accepted("read", source_.read(counts, dropped))) return;
  data_.dropped = static_cast<std::int64_t>(dropped);
  data_.read = std::ssize(counts);
  for (const RangeCount& count : counts) {
    if (count.id == 0 || count.id > ranges_.size() || !ranges_[count.id - 1].pushed) {
      ++data_.unknown_ids;
      continue;
    }
    Range& range = ranges_[count.id - 1];
    if (++range.answers == 2) ++data_.repeated;
    range.percent = count.percent;
  }
  std::map<NodeOfMicroBatch, int> executions;
  for (const Range& range : ranges_) {
    ++executions[{range.span.node, range.span.micro_batch}];
    if (!range.pushed) continue;
    ++data_.pushed;
    if (range.answers == 0) ++data_.unanswered;
    if (range.answers != 1 || range.nested) continue;
    if (!std::isfinite(range.percent))
      ++data_.no_numbers;
    else if (range.percent < 0.0 || range.percent > 100.0)
      ++data_.beyond;
    else
      data_.shares[{range.span.node, range.span.micro_batch}] = range.percent / 100.0;
  }
  // Which of two the kernels of another step belong to is not known.
  std::erase_if(data_.shares, [&](const auto& share) { return executions.at(share.first) > 1; });
}

void KernelCounters::before_replay() {
  faults_.guard(who, [&] {
    if (counting_) abandon(run_again);
  });
}

void KernelCounters::finish() {
  if (counting_) abandon("the run ended in it");
  done_ = true;
}

std::optional<double> KernelCounters::share(std::int32_t node, std::int32_t micro_batch) const {
  const auto found = data_.shares.find({node, micro_batch});
  return found == data_.shares.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace ulpscope::profiler
