// Running statistics that are kept in 16 bits. The first step tells little of them: they move towards what the batches have by a share of it a
// step, so that they leave the range, or stand still, some steps later.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/graph/operator.h"
#include "kernels/ops/narrow_sum.h"
#include "kernels/ops/persistent.h"
#include "profiler/predict/checks.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::profiler {
namespace {

using engine::Node;
using engine::NodeId;
using engine::Value;
using reports::amount;
using reports::fact;
using reports::Foreseen;
using reports::Gravity;
using reports::Kind;
using reports::Provenance;

constexpr double much_of_norm = 0.10;   ///< of a variance and its epsilon, as in norm_checks.cpp
/// Updates that are followed: after so many every average has come to rest.
constexpr std::int64_t most_updates = 100000;

bool is_average(const engine::Graph& graph, const Node& node) {
  return node.op->name == "ema" && node.phase == engine::Phase::forward && is_16bit(graph.value(node.outputs.front()).format);
}

/// The norm whose variance an average takes over; null if it is another's, or no variance.
const Node* norm_beside(const PlanFacts& facts, const Node& average) {
  const engine::ValueId taken = facts.origin(average.inputs.at(1));
  const NodeId maker = facts.graph().value(taken).producer;
  if (!maker) return nullptr;
  const Node& norm = facts.graph().node(maker);
  return norm.op->name == "batch_norm" && norm.outputs.size() > 3 && norm.outputs[3] == taken ? &norm : nullptr;
}

/// An average as the mode keeps it, were every batch like the first.
struct Course {
  std::int64_t overflows_in = 0;   ///< applied step; 0: in none of those planned
  std::int64_t infinite = 0;       ///< elements, then
  double value = 0.0, taken = 0.0; ///< of the greatest of them: what does not fit, and what it averages
};

/// The buffer, what it takes in and how much of it. Everything at once: what is infinite stays so.
Course follow(const std::vector<float>& begin, const std::vector<float>& taken, double momentum, Format format, std::int64_t steps, std::int64_t micro_batches) {
  Course course;
  const EmaParams params{momentum};
  const EmaBody<float> mix = EmaBody<float>::make(&params, nullptr, 0);
  std::vector<float> now(begin.size());
  for (std::size_t i = 0; i < now.size(); ++i) now[i] = rounded_to(format, begin[i]);
  const std::int64_t updates = std::min(most_updates, steps * micro_batches);
  for (std::int64_t u = 0; u < updates && course.infinite == 0; ++u) {
    bool moved = false;
    for (std::size_t i = 0; i < now.size(); ++i) {
      if (!std::isfinite(now[i])) continue;
      const float exact = mix(0, now[i], taken[i]), stored = rounded_to(format, exact);
      moved = moved || stored != now[i];
      now[i] = stored;
      if (std::isfinite(stored) || !std::isfinite(exact)) continue;
      ++course.infinite;
      course.overflows_in = u / micro_batches + 1;
      if (std::fabs(static_cast<double>(exact)) <= std::fabs(course.value)) continue;
      course.value = static_cast<double>(exact);
      course.taken = static_cast<double>(taken[i]);
    }
    if (!moved) break;
  }
  return course;
}

void check(const PlanFacts& facts, NodeId id, FoundFaults& found, std::vector<std::string>& explained) {
  const Node& node = facts.graph().node(id);
  const Value& value = facts.graph().value(node.outputs.front());
  const RoundingCounts* const range = facts.range(node.outputs.front());
  if (range == nullptr) return;
  const double greatest = range->greatest_magnitude, flush = info(value.format).flush_threshold;
  const std::vector<float>*const begin = facts.numbers(node.inputs.at(0)), *const taken = facts.numbers(node.inputs.at(1));
  const bool at_once = greatest >= reports::limit(value.format);
  const bool followed = !at_once && begin != nullptr && taken != nullptr && begin->size() == taken->size();
  const Course course = followed ? follow(*begin, *taken, node.attributes.number("momentum"), value.format, facts.config().steps, facts.plan().micro_batches) : Course{};
  const Node* const norm = norm_beside(facts, node);
  const double epsilon = norm != nullptr ? std::fabs(norm->attributes.number_or("epsilon", 1e-5)) : 0.0;
  const bool nothing = !at_once && course.infinite == 0 && greatest > 0.0 && greatest <= flush && norm != nullptr && flush >= much_of_norm * epsilon;
  if (!at_once && course.infinite == 0 && !nothing) return;
  if (!nothing) explained.push_back(value.name);
  Foreseen f = foreseen_at(facts, id, std::string(name(nothing ? Kind::activation_below_range : Kind::buffers_poisoned)), Gravity::damage);
  f.overflow = !nothing;
  if (at_once)
    f.what = fmt::format("running statistics: {} has {}, in the first step already; it stays infinite, and evaluation, which reads it, is broken from there",
                         value.name, reports::held_against_limit(greatest, value.format));
  else if (nothing)
    f.what = fmt::format("running statistics: the variance in {}, up to {}, is rounded to zero in {} (at or below {}): evaluation divides by the root of an "
                         "epsilon of {} alone",
                         value.name, amount(greatest), name(value.format), amount(flush), amount(epsilon));
  else
    f.what = fmt::format("running statistics: {} averages {} in the first batch, and were every one like it, it would have {} in the applied step {} of {} planned ({} of {} then); it "
                         "stays infinite, and evaluation, which reads it, is broken from there",
                         value.name, amount(course.taken), reports::held_against_limit(course.value, value.format), course.overflows_in, facts.config().steps, course.infinite,
                         reports::counted(std::ssize(*taken), "element"));
  if (course.infinite > 0) {
    f.facts.push_back(fact("applied_step", "applied step", static_cast<double>(course.overflows_in), fmt::format("{} of {}", course.overflows_in, facts.config().steps), Provenance::projected));
    f.facts.push_back(fact("greatest_magnitude", "then", std::fabs(course.value), amount(std::fabs(course.value)), Provenance::projected));
  } else {
    f.facts.push_back(fact("greatest_magnitude", "greatest", greatest, amount(greatest), Provenance::computed));
  }
  found.push_back(std::move(f));
}

}  // namespace

void check_running(const PlanFacts& facts, FoundFaults& found, std::vector<std::string>& explained) {
  for (std::int32_t n = 0; n < facts.graph().node_count(); ++n)
    if (is_average(facts.graph(), facts.graph().node(NodeId{n}))) check(facts, NodeId{n}, found, explained);
}

std::set<std::string> averaged(const engine::StepPlan& plan) {
  std::set<std::string> names;
  for (const Node& node : plan.graph.nodes())
    if (is_average(plan.graph, node))
      for (const engine::ValueId input : node.inputs) add_origins(plan.graph, input, names);
  return names;
}

}  // namespace ulpscope::profiler
