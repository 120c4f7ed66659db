#include "engine/train/trainer.h"

#include <algorithm>
#include <array>
#include <utility>

#include <fmt/format.h>

#include "engine/graph/initialise.h"
#include "engine/train/trainer_internals.h"
#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

bool same_start(const Initial& a, const Initial& b) { return a.kind == b.kind && a.scale == b.scale && a.list == b.list; }

/// Evaluation finds its weights, inputs and constants in the training graph, by name: they have to be the same there.
StepPlan with_sources_of(const StepPlan& training, StepPlan evaluation) {
  for (const Value& v : evaluation.graph.values()) {
    if (v.producer) continue;
    if (!training.graph.contains(v.name))
      throw UsageError(fmt::format("evaluation: the {} '{}' is not in the model that is trained", name(v.role), v.name));
    const Value& t = training.graph.value(training.graph.find(v.name));
    if (t.role != v.role || t.format != v.format || !(t.shape == v.shape))
      throw UsageError(fmt::format("evaluation: '{}' is a {} {} {}, in the model that is trained a {} {} {}", v.name,
                                   name(v.role), name(v.format), to_string(v.shape), name(t.role), name(t.format),
                                   to_string(t.shape)));
    if (v.role == Role::constant && !same_start(v.initial, t.initial))
      throw UsageError(fmt::format("evaluation: the constant '{}' has other values than in the model that is trained", v.name));
  }
  return evaluation;
}

}  // namespace

Trainer::State::State(Device& device_, const Dataset& dataset_, const GraphSetup& setup_, Topics& topics_)
    : device(device_),
      dataset(dataset_),
      mode(setup_.mode),
      config(setup_.config),
      seed(setup_.seed),
      topics(topics_),
      training(plan_step(device, setup_.training, mode, config)),
      evaluation(with_sources_of(training, plan_evaluation(device, setup_.evaluation, mode, config))),
      persistent(device, static_cast<std::size_t>(training.memory.persistent_bytes)),
      arena(device, static_cast<std::size_t>(std::max(training.memory.arena_bytes, evaluation.memory.arena_bytes))),
      scaling(scales_loss(mode, config)),
      scaler(scaling::initial_state(scaling ? config.scaler : scaling::Policy{scaling::NoScaling{}})),
      values(device, training.graph, [this](ValueId v) { return address(training, v); }),
      sources(device, training.graph, [this](ValueId v) { return address(training, v); }),
      buffers(device, training.graph, [this](ValueId v) { return address(training, v); }) {
  device.fill(persistent.data(), 0, persistent.bytes());
  const LaunchOptions options{seed};
  train_program = std::make_unique<Program>(
      device, training.graph, training.memory, arena.data(), [this](ValueId v) { return address(training, v); },
      step_state(), options);
  evaluate_program = std::make_unique<Program>(
      device, evaluation.graph, evaluation.memory, arena.data(), [this](ValueId v) { return evaluation_address(v); },
      step_state(), options);
  if (!config.injections.empty())
    injector = std::make_unique<Injector>(device, training.graph, config.injections,
                                          [this](ValueId v) { return address(training, v); }, *train_program);
  values.write_initial(config, mode, seed);
  for (const ValueId v : training.inputs) {
    const Value& value = training.graph.value(v);
    host_inputs.emplace_back(values.bytes(v));
    host_tensors.emplace_back(host_inputs.back().data(), value.format, value.shape);
  }
}

void* Trainer::State::address(const StepPlan& plan, ValueId v) const {
  const Placement& p = plan.memory.values[static_cast<std::size_t>(v.index)];
  void* base = p.persistent ? persistent.data() : arena.data();
  return static_cast<std::byte*>(base) + p.offset;
}

void* Trainer::State::evaluation_address(ValueId v) const {
  const ValueId owner = evaluation.graph.memory_owner(v);
  if (evaluation.memory.values[static_cast<std::size_t>(owner.index)].persistent)
    return address(training, training.graph.find(evaluation.graph.value(owner).name));
  return address(evaluation, v);
}

TrainerState Trainer::State::save() const {
  TrainerState saved{iteration, applied, scaler, {}};
  values.save(saved);
  return saved;
}

void Trainer::State::restore(const TrainerState& saved) {
  values.restore(saved, mode.name);
  iteration = saved.iteration;
  applied = saved.applied;
  scaler = saved.scaler;
}

void Trainer::State::adopt(const TrainerState& saved) {
  values.adopt(saved);
  iteration = saved.iteration;
  applied = saved.applied;
  if (scaling) scaler = saved.scaler;
}

void Trainer::State::upload_inputs() {
  for (std::size_t i = 0; i < host_inputs.size(); ++i)
    device.copy_to_device(address(training, training.inputs[i]), host_inputs[i].data(), host_inputs[i].size());
}

float Trainer::State::read_loss(const StepPlan& plan) const {
  const Value& value = plan.graph.value(plan.loss);
  alignas(double) std::array<std::byte, sizeof(double)> bytes{};   // of the widest format
  device.copy_to_host(bytes.data(), address(plan, plan.loss), static_cast<std::size_t>(storage_bytes(value.format)));
  float loss = 0.0f;
  load(value.format, bytes.data(), {&loss, 1});
  return loss;
}

Trainer::Evaluation Trainer::State::evaluate(const std::function<bool()>& stop) {
  Evaluation result;
  const std::int64_t available = dataset.held_out_batches(config.batch);
  result.batches = std::min(available, config.evaluation_batches);
  result.available = result.batches > 0;
  if (!result.available) return result;
  Topics quiet;
  double sum = 0.0;
  for (std::int64_t i = 0; i < result.batches; ++i) {
    if (stop && stop()) return {.stopped = true};
    dataset.held_out_batch(i, host_tensors);
    upload_inputs();
    evaluate_program->run(Phase::forward, quiet, {iteration});
    device.synchronize();
    sum += static_cast<double>(read_loss(evaluation));
  }
  result.loss = sum / static_cast<double>(result.batches);
  return result;
}

Trainer::Trainer(Device& device, const Dataset& dataset, const TrainerSetup& setup, Topics& topics)
    : Trainer(device, dataset,
              GraphSetup{build_model(setup.model, setup.config.batch, true), build_model(setup.model, setup.config.batch, false),
                         setup.mode, setup.config, setup.seed},
              topics) {}
Trainer::Trainer(Device& device, const Dataset& dataset, const GraphSetup& setup, Topics& topics)
    : state_(std::make_unique<State>(device, dataset, setup, topics)) {}
// What the kernels observed with is in this trainer's account, and of no use to the next.
Trainer::~Trainer() {
  if (state_ != nullptr) state_->device.release_observation();
}

StepResult Trainer::step() {
  state_->expect_nothing_in_flight();
  return state_->step();
}
void Trainer::run_ahead(std::int64_t steps, const std::function<void(const StepResult&)>& ended) { state_->run_ahead(steps, ended); }
bool Trainer::can_run_ahead() const { return state_->can_run_ahead(); }
Trainer::Evaluation Trainer::evaluate(const std::function<bool()>& stop) {
  state_->expect_nothing_in_flight();
  return state_->evaluate(stop);
}
TrainerState Trainer::state() const {
  state_->expect_nothing_in_flight();
  return state_->save();
}
void Trainer::restore(const TrainerState& state) {
  state_->expect_nothing_in_flight();
  state_->restore(state);
}
void Trainer::adopt(const TrainerState& state) {
  state_->expect_nothing_in_flight();
  state_->adopt(state);
}
StepResult Trainer::rehearse(const std::function<bool(const Node&)>& which) {
  state_->expect_nothing_in_flight();
  return state_->rehearse(which);
}
const StepPlan& Trainer::plan() const { return state_->training; }
const StepPlan& Trainer::evaluation_plan() const { return state_->evaluation; }
std::int64_t Trainer::iteration() const { return state_->iteration; }
std::int64_t Trainer::applied() const { return state_->applied; }
const scaling::ScalerState& Trainer::scaler() const { return state_->scaler; }

std::map<std::string, std::int64_t> Trainer::memory_by_category() const {
  std::map<std::string, std::int64_t> result;
  for (const auto& [category, bytes] : state_->training.memory.peak_by_category) result[name(category)] += bytes;
  result[name(MemoryCategory::gaps)] += static_cast<std::int64_t>(state_->arena.bytes()) - state_->training.memory.arena_bytes;
  if (state_->ahead != nullptr) result[name(MemoryCategory::workspace)] += state_->ahead->device_bytes();
  if (const std::int64_t bytes = state_->observation_bytes + static_cast<std::int64_t>(state_->device.observation_bytes()); bytes > 0) result["observation"] = bytes;
  return result;
}

std::vector<float> Trainer::read(const std::string& value_name) const {
  return state_->values.read(state_->training.graph.find(value_name));
}
void Trainer::write(const std::string& value_name, const std::vector<float>& values) {
  state_->values.write(state_->training.graph.find(value_name), values);
}
void Trainer::observe(Observation observation) {
  state_->expect_nothing_in_flight();
  state_->look(false);   // whoever looked until now
  state_->observation = std::move(observation);
  state_->watch_ranges();
}
void Trainer::observe(std::function<bool(const Node&)> which) { observe(Observation{std::move(which), {}, {}, false}); }

}  // namespace ulpscope::engine
