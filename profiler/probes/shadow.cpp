#include "profiler/probes/shadow.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/graph/operator.h"
#include "profiler/probes/in_fp32.h"
#include "profiler/probes/tensor_probe.h"

namespace ulpscope::profiler {
namespace {

using engine::Graph;
using engine::Role;
using engine::Value;
using engine::ValueId;

/// What a step reads and the shadow has been given: not optimizer state, which it has none of.
bool is_given(Role role) {
  return role == Role::parameter || role == Role::buffer || role == Role::constant || role == Role::input;
}

bool alike(const Graph& a, ValueId in_a, const Graph& b, ValueId in_b) {
  const Value &x = a.value(in_a), &y = b.value(in_b);
  if (!(x.shape == y.shape) || !is_float(x.format) || !is_float(y.format)) return false;
  if (static_cast<bool>(x.producer) != static_cast<bool>(y.producer)) return false;
  return x.producer
             ? a.node(x.producer).op == b.node(y.producer).op && a.node(x.producer).phase != engine::Phase::update
             : x.role == y.role && is_given(x.role);
}

engine::TrainerSetup unfused(engine::TrainerSetup setup) {
  setup.config.fusion = false;
  setup.config.weights.clear();  // those of the run are taken
  return setup;
}

std::int64_t bytes_of(const engine::StepPlan& plan) { return plan.memory.persistent_bytes + plan.memory.arena_bytes; }

bool is_stored(const engine::StepPlan& plan, ValueId value) {
  return plan.memory.values[static_cast<std::size_t>(plan.graph.memory_owner(value).index)].stored;
}

}  // namespace

std::int64_t Shadow::planned_bytes(Device& device, const engine::StepPlan& plan, const engine::TrainerSetup& setup) {
  if (!of_use(plan)) return 0;
  const engine::Model model = engine::build_model(setup.model, setup.config.batch, true);
  const engine::TrainerSetup fp32 = in_fp32(setup, device), alone = unfused(setup);
  std::int64_t bytes = bytes_of(engine::plan_step(device, model, fp32.mode, fp32.config));
  for (std::int32_t i = 0; i < plan.graph.value_count(); ++i)
    if (!is_stored(plan, ValueId{i}))
      return bytes + bytes_of(engine::plan_step(device, model, alone.mode, alone.config));
  return bytes;
}

Shadow::Shadow(const engine::Trainer& run, Device& device, const engine::Dataset& dataset,
               const engine::TrainerSetup& setup, Sink sink, Faults& faults, reports::RunId id)
    : run_(run), sink_(std::move(sink)), faults_(faults), id_(id) {
  faults_.guard("shadow", [&] {
    engine::TrainerSetup fp32 = in_fp32(setup, device);
    fp32.config.weights.clear();  // those of the run are adopted
    trainer_ = std::make_unique<engine::Trainer>(device, dataset, fp32, topics_);
    match(setup);
    if (std::any_of(counterparts_.begin(), counterparts_.end(), [](const auto& c) { return c && c->fused; })) {
      unfused_ = std::make_unique<engine::Trainer>(device, dataset, unfused(setup), unfused_topics_);
      on_unfused_ = unfused_topics_.tensor.subscribe([this](const engine::TensorEvent& event) { see_unfused(event); });
    }
    measure();
    on_tensor_ = topics_.tensor.subscribe([this](const engine::TensorEvent& event) { see(event); });
  });
}

Shadow::~Shadow() = default;

bool Shadow::of_use(const engine::StepPlan& plan) {
  const Graph& graph = plan.graph;
  return std::any_of(graph.values().begin(), graph.values().end(),
                     [](const Value& v) {
                       return is_float(v.format) && storage_bytes(v.format) < storage_bytes(Format::fp32);
                     }) ||
         std::any_of(graph.nodes().begin(), graph.nodes().end(),
                     [](const engine::Node& n) { return n.multiply != Format::fp32 || !n.arithmetic.standard(); });
}

void Shadow::match(const engine::TrainerSetup& setup) {
  const Graph &run = run_.plan().graph, &shadow = trainer_->plan().graph;
  const bool scaled = engine::scales_loss(setup.mode, setup.config);
  counterparts_.resize(static_cast<std::size_t>(run.value_count()));
  in_run_.resize(static_cast<std::size_t>(shadow.value_count()));
  for (std::int32_t i = 0; i < run.value_count(); ++i) {
    const ValueId v{i};
    const Value& value = run.value(v);
    if (!shadow.contains(value.name)) continue;
    const ValueId twin = shadow.find(value.name);
    if (!alike(run, v, shadow, twin)) continue;
    if (value.producer) in_run_[static_cast<std::size_t>(twin.index)] = v;
    // A step that unscales some of its micro-batches early has gradients of no one scale.
    const engine::Node* const node = value.producer ? &run.node(value.producer) : nullptr;
    if (node != nullptr && setup.config.early_unscale &&
        (node->op->name == "accumulate" || node->phase == engine::Phase::unscale))
      continue;
    const bool before_unscaling =
        node != nullptr && (node->phase == engine::Phase::backward ||
                            (setup.config.optimizer.clip_before_unscale && node->op->name == "global_norm"));
    counterparts_[static_cast<std::size_t>(i)] =
        std::make_unique<Counterpart>(Counterpart{twin, scaled && before_unscaling, !is_stored(run_.plan(), v)});
  }
}

void Shadow::run_shadow(const engine::TensorEvent& event) {
  iteration_ = event.iteration;
  values_.clear();
  passed_on_.clear();
  const engine::TrainerState state = run_.state();
  if (unfused_ != nullptr) {
    unfused_->restore(state);
    unfused_->rehearse([](const engine::Node&) { return true; });
  }
  trainer_->adopt(state);
  trainer_->rehearse([](const engine::Node&) { return true; });
  measure();
  ++steps_;
}

void Shadow::measure() {
  std::int64_t bytes = 0;
  for (const auto& [category, count] : trainer_->memory_by_category()) bytes += count;
  if (unfused_ != nullptr)
    for (const auto& [category, count] : unfused_->memory_by_category()) bytes += count;
  device_bytes_ = std::max(device_bytes_, bytes);
}

void Shadow::see(const engine::TensorEvent& event) {
  if (event.inner || !event.value) return;
  const auto micro_batch = static_cast<std::size_t>(event.micro_batch);
  const auto index = static_cast<std::size_t>(event.value.index);
  const Graph& graph = trainer_->plan().graph;
  if (values_.size() <= micro_batch) values_.resize(micro_batch + 1);
  values_[micro_batch].resize(static_cast<std::size_t>(graph.value_count()));
  const bool wanted = in_run_[index] || !event.node;
  if (!wanted) return;
  values_[micro_batch][index] = trainer_->read(graph.value(event.value).name);
  if (!event.node) return;  // what a step reads: the run has the row
  reports::TensorStatsRecord record = tensor_stats(*event.counts);
  record.run = id_;
  record.step = event.iteration;
  record.tensor = static_cast<reports::TensorId>(in_run_[index].index);
  record.micro_batch = event.micro_batch;
  record.observation = "shadow";
  record.provenance = reports::Provenance::recomputed;
  sink_(std::move(record));
}

void Shadow::see_unfused(const engine::TensorEvent& event) {
  if (event.inner || !event.value || !event.node) return;
  const engine::Graph &graph = unfused_->plan().graph, &run = run_.plan().graph;
  const std::string& name = graph.value(event.value).name;
  if (!run.contains(name)) return;
  const auto index = static_cast<std::size_t>(run.find(name).index);
  if (!counterparts_[index] || !counterparts_[index]->fused) return;
  const auto micro_batch = static_cast<std::size_t>(event.micro_batch);
  if (passed_on_.size() <= micro_batch) passed_on_.resize(micro_batch + 1);
  passed_on_[micro_batch].resize(static_cast<std::size_t>(run.value_count()));
  passed_on_[micro_batch][index] = unfused_->read(name);
}

reports::Number Shadow::error(const engine::TensorEvent& event) {
  if (trainer_ == nullptr || event.inner || !event.value) return std::nullopt;
  reports::Number result;
  bool good = false;
  faults_.guard("shadow", [&] {
    if (event.iteration != iteration_) run_shadow(event);
    if (const auto& counterpart = counterparts_[static_cast<std::size_t>(event.value.index)])
      result = difference(event, *counterpart);
    good = true;
  });
  if (!good) {
    on_tensor_.end();
    on_unfused_.end();
    trainer_.reset();
    unfused_.reset();
    passed_on_.clear();
    values_.clear();
  }
  return result;
}

std::vector<float> Shadow::numbers(const engine::TensorEvent& event, const Counterpart& counterpart) const {
  if (!counterpart.fused) return run_.read(run_.plan().graph.value(event.value).name);
  const auto micro_batch = static_cast<std::size_t>(event.micro_batch);
  return micro_batch < passed_on_.size() ? passed_on_[micro_batch][static_cast<std::size_t>(event.value.index)]
                                         : std::vector<float>();
}

reports::Number Shadow::difference(const engine::TensorEvent& event, const Counterpart& counterpart) const {
  const auto micro_batch = static_cast<std::size_t>(event.micro_batch);
  const auto index = static_cast<std::size_t>(counterpart.in_shadow.index);
  if (micro_batch >= values_.size() || index >= values_[micro_batch].size()) return std::nullopt;
  const std::vector<float>& truth = values_[micro_batch][index];
  if (truth.empty()) return std::nullopt;
  const std::vector<float> value = numbers(event, counterpart);
  if (value.size() != truth.size()) return std::nullopt;
  const double unscale = counterpart.scaled ? 1.0 / static_cast<double>(run_.scaler().scale) : 1.0;
  double differences = 0.0, squares = 0.0;
  for (std::size_t i = 0; i < truth.size(); ++i) {
    const auto exact = static_cast<double>(truth[i]);
    const double d = static_cast<double>(value[i]) * unscale - exact;
    differences += d * d;
    squares += exact * exact;
  }
  if (squares == 0.0) return differences == 0.0 ? reports::Number(0.0) : std::nullopt;
  return std::sqrt(differences / squares);
}

std::int64_t Shadow::device_bytes() const { return device_bytes_; }

void Shadow::record() const {
  if (steps_ == 0) return;
  reports::CompletenessRecord record;
  record.run = id_;
  record.kind = "note";
  record.subject = "shadow steps";
  record.count = steps_;
  record.provenance = reports::Provenance::counted;
  record.detail = fmt::format("run in fp32 beside the observed ones, with {} bytes on the device{}", device_bytes_,
                              trainer_ == nullptr ? "; then it broke down" : "");
  sink_(record);
}

}  // namespace ulpscope::profiler
