#include "tests/profiler/support/case_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "engine/graph/operator.h"
#include "engine/train/non_standard.h"
#include "engine/train/trainer.h"
#include "kernels/error.h"
#include "profiler/experiment/load_data.h"

namespace ulpscope::profiler::testing {
namespace {

/// Parameters that an update reads a gradient for.
bool is_updated(const engine::Graph& graph, engine::ValueId parameter) {
  for (const engine::Node& node : graph.nodes())
    if (node.phase == engine::Phase::update && std::find(node.inputs.begin(), node.inputs.end(), parameter) != node.inputs.end()) return true;
  return false;
}

}  // namespace

CaseRun::CaseRun(Experiment experiment, const std::string& mode, const std::vector<Wanted>& wanted) {
  for (const Wanted& w : wanted)
    if (std::find(experiment.train.keep.begin(), experiment.train.keep.end(), w.value) == experiment.train.keep.end())
      experiment.train.keep.push_back(w.value);
  non_standard_ = engine::non_standard(experiment.train);
  const std::unique_ptr<Device> device = make_cpu_device({2, {}});
  const std::unique_ptr<engine::Dataset> data = load_data(experiment);
  engine::Topics topics;
  engine::Trainer trainer(*device, *data,
                          engine::TrainerSetup{experiment.model, engine::find_mode(mode), experiment.train,
                                               static_cast<std::uint64_t>(experiment.run.seed)},
                          topics);
  const engine::Graph& graph = trainer.plan().graph;
  for (const engine::ValueId p : graph.with_role(engine::Role::parameter))
    (is_updated(graph, p) ? with_gradient_ : without_gradient_).push_back(graph.value(p).name);
  const auto listening = topics.tensor.subscribe([&](const engine::TensorEvent& event) {
    if (event.inner) return;
    const engine::Node& node = graph.node(event.node);
    const RoundingCounts& c = *event.counts;
    if (node.outputs.front() == event.value) merge_counts(counts_[{node.name, event.iteration}], c);
    if (first_not_finite_.empty() && c.nan + c.positive_infinity + c.negative_infinity + c.overflowed > 0) first_not_finite_ = node.name;
  });
  trainer.observe([](const engine::Node&) { return true; });
  for (std::int64_t step = 0; step < experiment.train.steps; ++step) {
    results_.push_back(trainer.step());
    for (const Wanted& w : wanted)
      if (w.step == step) values_[{w.value, step}] = trainer.read(w.value);
    if (results_.back().stopped) break;
  }
  const engine::Trainer::Evaluation evaluation = trainer.evaluate();
  evaluation_ = evaluation.available ? evaluation.loss : std::numeric_limits<double>::quiet_NaN();
}

const std::vector<float>& CaseRun::value(const std::string& name, std::int64_t step) const {
  const auto found = values_.find({name, step});
  if (found == values_.end()) throw Error(fmt::format("'{}' was not read after step {}: the run ended before", name, step));
  return found->second;
}

const RoundingCounts& CaseRun::counts(const std::string& node, std::int64_t step) const {
  const auto found = counts_.find({node, step});
  if (found == counts_.end()) throw Error(fmt::format("no node '{}' ran in step {}", node, step));
  return found->second;
}

std::int64_t CaseRun::skips() const {
  return std::count_if(results_.begin(), results_.end(), [](const engine::StepResult& r) { return r.skipped; });
}

std::int64_t CaseRun::losses_not_finite() const {
  return std::count_if(results_.begin(), results_.end(), [](const engine::StepResult& r) { return !std::isfinite(r.loss); });
}

float CaseRun::greatest_scale() const {
  float greatest = 0.0f;
  for (const engine::StepResult& r : results_) greatest = std::max(greatest, r.next_loss_scale);
  return greatest;
}

}  // namespace ulpscope::profiler::testing
