// Running statistics that leave the format they are kept in by their own update: training does not read them, evaluation does.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

/// The moving average of a buffer: what it was, what the batch brings, what it becomes.
struct Average {
  const PlanNode* node = nullptr;
  TensorId buffer{}, batch{}, result{};
  bool variance = false;  ///< of a batch norm: evaluation divides by its root
};

std::optional<Average> average_of(const PlanView& plan, const PlanNode& node) {
  if (node.record.operation != "ema" || node.outputs.empty() || node.inputs.size() < 2 || !node.inputs[0] || !node.inputs[1]) return std::nullopt;
  const TensorId of = plan.uncast(*node.inputs[1]);
  const PlanNode* const norm = plan.producer(of);
  const bool variance = norm != nullptr && norm->record.operation == "batch_norm" && norm->outputs.size() > 3 && norm->outputs[3] == of;
  return Average{&node, *node.inputs[0], *node.inputs[1], node.outputs.front(), variance};
}

/// The average that is kept in this buffer.
std::optional<Average> average_in(const PlanView& plan, TensorId buffer) {
  for (const std::size_t reader : plan.readers(buffer))
    if (const auto average = average_of(plan, plan.nodes()[reader]); average && average->buffer == buffer) return average;
  return std::nullopt;
}

const char* evaluation(const Average& average) {
  return average.variance ? "Training does not read it; evaluation divides by its root, and of what is infinite there remains exactly the bias"
                          : "Training does not read it; evaluation does";
}

/// The greatest that a batch brings, where a format does not hold it: an average moves towards it.
std::optional<double> beyond(const Evidence& e, const ObservedStep& step, const Average& average) {
  const Stat* stat = step.stat(average.batch);
  if (stat == nullptr || stat->bad() > 0 || stat->greatest < limit(e.plan().format(average.result))) return std::nullopt;
  return stat->greatest;
}

Cause begin(const Evidence& e, const ObservedStep& step, const Average& average, double batch) {
  const Format format = e.plan().format(average.result);
  Cause cause;
  cause.kind = Kind::activation_too_large;
  cause.gravity = Gravity::damage;
  cause.step = step.step;
  cause.node = average.node->record.name;
  cause.operation = average.node->record.operation;
  cause.phase = std::string(name(average.node->record.phase));
  cause.tensor = e.plan().title(average.result);
  cause.format = name(format);
  cause.operands = operands_of(e, step, *average.node, 0);
  cause.reaches = "running statistics";
  cause.facts.push_back(fact("batch_value", "of the batch", batch, held_against_limit(batch, format)));
  return cause;
}

/// An average that was infinite when it was looked at first: what the batches bring in that step says why.
std::optional<Cause> unseen_overflow(const Evidence& e, const Average& average, std::int64_t poisoned) {
  const ObservedStep* const step = e.observed_step(poisoned);
  const std::optional<double> batch = step != nullptr ? beyond(e, *step, average) : std::nullopt;
  if (!batch) return std::nullopt;
  Cause cause = begin(e, *step, average, *batch);
  cause.what = fmt::format("{} (ema, forward): the running average {} moves towards what batches bring, {} in step {}, which {} does not hold: it became infinite "
                           "in a step before that, which was not observed. {}",
                           cause.node, e.plan().title(average.buffer), held_against_limit(*batch, e.plan().format(average.result)), shown(poisoned), cause.format,
                           evaluation(average));
  cause.facts.back().provenance = Provenance::inferred;
  return cause;
}

/// Further steps until an average is where its format ends, if the batches stay as they are; none: it is not known, or never.
std::optional<std::int64_t> steps_left(const Average& average, double now, double batch, double edge) {
  const Number momentum = number(*average.node, "momentum");
  if (!momentum || !(*momentum > 0.0) || *momentum >= 1.0 || !(now < edge) || !(batch > edge)) return std::nullopt;
  return static_cast<std::int64_t>(std::ceil(std::log((batch - edge) / (batch - now)) / std::log(1.0 - *momentum)));
}

/// An average that is on its way out in the last step that was looked at.
void on_its_way(const Evidence& e, const PlanNode& node, std::vector<Cause>& causes) {
  const std::optional<Average> average = e.observed().empty() ? std::nullopt : average_of(e.plan(), node);
  if (!average || std::any_of(causes.begin(), causes.end(), [&](const Cause& c) { return c.node == node.record.name; })) return;
  const ObservedStep& step = e.observed().back();
  const Stat* const now = step.stat(average->result);
  const std::optional<double> batch = beyond(e, step, *average);
  if (!batch || now == nullptr || now->bad() > 0) return;
  const Format format = e.plan().format(average->result);
  const std::optional<std::int64_t> left = steps_left(*average, now->greatest, *batch, limit(format));
  if (!left) return;
  const std::int64_t at = step.step + *left;
  Cause cause = begin(e, step, *average, *batch);
  cause.gravity = Gravity::note;
  const bool over = !e.steps().empty() && e.steps().back().step >= at;
  cause.what = fmt::format("{} (ema, forward): the running average {} is {} in step {}, the last that was observed, and moves towards what the batch brings, {}: if batches "
                           "stay like that it is infinite from about step {} on{}. {}",
                           cause.node, e.plan().title(average->buffer), amount(now->greatest), shown(step.step), held_against_limit(*batch, format), shown(at),
                           over ? ", which the run has passed (observe.every = 1 would tell)" : "", evaluation(*average));
  cause.facts.push_back(fact("leaves_at", "leaves its format", static_cast<double>(at), fmt::format("about step {}", shown(at)), Provenance::projected));
  causes.push_back(std::move(cause));
}

/// The fault that made the average infinite, of what was seen: in its own update, or else in what went into it.
const Cause* maker_of(const std::vector<Cause>& causes, const Average& average, const Cause& poisoned) {
  const std::string& update = average.node->record.name;
  const auto own = std::find_if(causes.begin(), causes.end(), [&](const Cause& c) { return c.node == update; });
  if (own != causes.end()) return &*own;
  const auto other = std::find_if(causes.begin(), causes.end(), [&](const Cause& c) {
    return c.kind != Kind::buffers_poisoned && c.phase == "forward" && c.step < poisoned.step && c.reaches.find("running statistics") != std::string::npos;
  });
  return other != causes.end() ? &*other : nullptr;
}

void follows_from(const Cause& maker, Cause& poisoned) {
  const bool seen = maker.step < poisoned.step;
  poisoned.what += fmt::format(". It follows from what {} did{}", maker.node, seen ? fmt::format(" in step {}", shown(*maker.step)) : " before that, in a step that was not observed");
  poisoned.facts.push_back(fact("follows_from", "follows from", fmt::format("{} at {}", name(maker.kind), maker.node), Provenance::inferred));
}

}  // namespace

void tell_average(const Suspect& s, Cause& cause) {
  const std::optional<Average> average = average_of(s.evidence.plan(), s.node());
  if (!average) return;
  const Stat* const batch = s.input(1);
  cause.what += fmt::format("; it is the running average {}", s.evidence.plan().title(average->buffer));
  if (batch != nullptr && batch->greatest > 0.0) cause.what += fmt::format(", and the batch brings up to {}", amount(batch->greatest));
  cause.what += fmt::format(". {}", evaluation(*average));
}

void silent_buffer_causes(const Evidence& e, std::vector<Cause>& causes) {
  for (std::size_t i = 0; i < causes.size(); ++i) {
    if (causes[i].kind != Kind::buffers_poisoned || !causes[i].node.empty() || !causes[i].step) continue;
    const TensorRecord* const buffer = e.plan().tensor(causes[i].tensor);
    const std::optional<Average> average = buffer != nullptr ? average_in(e.plan(), buffer->id) : std::nullopt;
    if (!average) continue;
    if (const Cause* const maker = maker_of(causes, *average, causes[i])) {
      follows_from(*maker, causes[i]);
    } else if (std::optional<Cause> unseen = unseen_overflow(e, *average, *causes[i].step)) {
      follows_from(*unseen, causes[i]);
      causes.insert(causes.begin() + static_cast<std::ptrdiff_t>(i), std::move(*unseen));
      ++i;
    }
  }
  for (const PlanNode& node : e.plan().nodes()) on_its_way(e, node, causes);
}

}  // namespace ulpscope::reports
