#include "engine/train/trainer.h"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "engine/optim/schedule.h"
#include "engine/passes/commit.h"
#include "engine/train/initialise.h"
#include "engine/train/injector.h"
#include "engine/train/program.h"
#include "engine/train/weights.h"
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

const NamedTensor& saved_tensor(const TrainerState& saved, const Value& value, std::size_t bytes) {
  const auto tensor = std::find_if(saved.tensors.begin(), saved.tensors.end(),
                                   [&](const NamedTensor& t) { return t.name == value.name; });
  if (tensor == saved.tensors.end()) throw Error(fmt::format("the saved state has no '{}'", value.name));
  const Shape shape(tensor->shape);
  if (tensor->dtype != dtype(value.format) || !(shape == value.shape) || tensor->data.size() != bytes)
    throw Error(fmt::format("'{}' is {} {}, and in the saved state {} {}", value.name, dtype(value.format), to_string(value.shape),
                            tensor->dtype, to_string(shape)));
  return *tensor;
}

}  // namespace

struct Trainer::State {
  State(Device& device_, const Dataset& dataset_, const GraphSetup& setup_, Topics& topics_)
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
        scaler(scaling::initial_state(scaling ? config.scaler : scaling::Policy{scaling::NoScaling{}})) {
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
    for (const Role role : {Role::parameter, Role::constant, Role::buffer})
      for (const ValueId v : training.graph.with_role(role)) write(v, initial_values(training.graph.value(v), seed));
    if (!config.weights.empty()) read_weights();
    for (const ValueId v : training.inputs) {
      const Value& value = training.graph.value(v);
      host_inputs.emplace_back(tensor_bytes(v));
      host_tensors.emplace_back(host_inputs.back().data(), value.format, value.shape);
    }
  }

  std::size_t tensor_bytes(ValueId v) const {
    const Value& value = training.graph.value(v);
    return static_cast<std::size_t>(value.shape.elements() * storage_bytes(value.format));
  }

  StepState* step_state() const { return static_cast<StepState*>(persistent.data()); }

  void* address(const StepPlan& plan, ValueId v) const {
    const Placement& p = plan.memory.values[static_cast<std::size_t>(v.index)];
    void* base = p.persistent ? persistent.data() : arena.data();
    return static_cast<std::byte*>(base) + p.offset;
  }

  /// Weights and inputs of the evaluation are those of the training graph, by name.
  void* evaluation_address(ValueId v) const {
    const ValueId owner = evaluation.graph.memory_owner(v);
    if (evaluation.memory.values[static_cast<std::size_t>(owner.index)].persistent)
      return address(training, training.graph.find(evaluation.graph.value(owner).name));
    return address(evaluation, v);
  }

  void write(ValueId v, const std::vector<float>& values) {
    if (const ValueId twin = committed_twin(training.graph, v)) write(twin, values);
    const Value& value = training.graph.value(v);
    if (static_cast<std::int64_t>(values.size()) != value.shape.elements())
      throw Error(fmt::format("'{}' has {} elements, not {}", value.name, value.shape.elements(), values.size()));
    std::vector<std::byte> bytes(tensor_bytes(v));
    store(values, value.format, bytes.data());
    device.copy_to_device(address(training, v), bytes.data(), bytes.size());
  }

  std::vector<float> read(ValueId v) const {
    const Value& value = training.graph.value(v);
    std::vector<std::byte> bytes(tensor_bytes(v));
    device.copy_to_host(bytes.data(), address(training, v), bytes.size());
    return load(value.format, bytes.data(), value.shape.elements());
  }

  void read_weights() {
    const TensorFile file = read_safetensors(config.weights);
    check_weights(file, config.weights, training.graph, mode, config.widen);
    for (const Role role : {Role::parameter, Role::buffer})
      for (const ValueId v : training.graph.with_role(role))
        if (const std::vector<float> numbers = weights_of(file, training.graph.value(v)); !numbers.empty()) write(v, numbers);
  }

  /// Kept from one step to the next.
  std::vector<ValueId> kept() const {
    std::vector<ValueId> values;
    for (std::int32_t i = 0; i < training.graph.value_count(); ++i) {
      const Value& value = training.graph.value(ValueId{i});
      if (!value.producer && value.role != Role::input && value.role != Role::constant) values.push_back(ValueId{i});
    }
    return values;
  }

  TrainerState save() const {
    TrainerState saved{iteration, applied, scaler, {}};
    for (const ValueId v : kept()) {
      const Value& value = training.graph.value(v);
      const auto dims = std::span(value.shape.dim).first(static_cast<std::size_t>(value.shape.rank));
      NamedTensor tensor{value.name, dtype(value.format), {dims.begin(), dims.end()}, std::vector<std::byte>(tensor_bytes(v))};
      device.copy_to_host(tensor.data.data(), address(training, v), tensor.data.size());
      saved.tensors.push_back(std::move(tensor));
    }
    return saved;
  }

  void restore(const TrainerState& saved) {
    const std::vector<ValueId> values = kept();
    std::vector<const NamedTensor*> found;
    for (const ValueId v : values) found.push_back(&saved_tensor(saved, training.graph.value(v), tensor_bytes(v)));
    if (saved.tensors.size() != values.size())
      throw Error(fmt::format("the saved state has {} tensors, and {} are kept in {}", saved.tensors.size(), values.size(), mode.name));
    for (std::size_t i = 0; i < values.size(); ++i)
      device.copy_to_device(address(training, values[i]), found[i]->data.data(), found[i]->data.size());
    iteration = saved.iteration;
    applied = saved.applied;
    scaler = saved.scaler;
  }

  void upload_inputs() {
    for (std::size_t i = 0; i < host_inputs.size(); ++i)
      device.copy_to_device(address(training, training.inputs[i]), host_inputs[i].data(), host_inputs[i].size());
  }

  float read_loss(const StepPlan& plan) const {
    const Value& value = plan.graph.value(plan.loss);
    alignas(double) std::array<std::byte, sizeof(double)> bytes{};   // of the widest format
    device.copy_to_host(bytes.data(), address(plan, plan.loss), static_cast<std::size_t>(storage_bytes(value.format)));
    float loss = 0.0f;
    load(value.format, bytes.data(), {&loss, 1});
    return loss;
  }

  StepState host_state() const {
    StepState state;
    state.loss_scale = scaler.scale;
    state.inverse_scale = scaling::inverse(scaler.scale);
    const OptimizerConfig& optimizer = config.optimizer;
    state.learning_rate = in_scalar_format(
        learning_rate(config.schedule, config.schedule_counts == ScheduleCounts::iterations ? iteration : applied),
        optimizer.scalar_format, optimizer.scalar_rounding);
    state.iteration = iteration;
    state.applied = applied;
    return state;
  }

  /// Allocates nothing.
  StepResult step() {
    topics.step_begin.publish({iteration});
    StepState state = host_state();
    const float loss = run_micro_batches(state);
    const Execution execution{iteration, state.micro_batch, 0};
    if (config.early_unscale) {   // done already, as far as the optimizer knows
      state.inverse_scale = 1.0f;
      device.copy_to_device(step_state(), &state, sizeof state);
    }
    train_program->run(Phase::unscale, topics, execution);
    device.synchronize();
    device.copy_to_host(&state, step_state(), sizeof state);
    const bool finite = state.finite != 0;
    const bool apply_anyway = !finite && !scaling && config.non_finite == NonFinite::apply;
    if (apply_anyway) {
      state.finite = 1;   // the optimizers look at the flag
      device.copy_to_device(step_state(), &state, sizeof state);
    }
    train_program->run(Phase::update, topics, execution);   // commits nothing if the flag is bad
    device.synchronize();
    return finish(state, loss, finite, finite || apply_anyway);
  }

  /// Forward and backward passes of a step; gradients gather in their accumulators. Returns the mean loss. In state: the last
  /// micro-batch.
  float run_micro_batches(StepState& state) {
    double sum = 0.0;
    for (std::int64_t m = 0; m < config.micro_batches; ++m) {
      state.micro_batch = static_cast<std::int32_t>(m);
      const Execution execution{iteration, state.micro_batch, 0};
      dataset.training_batch({seed, iteration, state.micro_batch}, host_tensors);
      upload_inputs();
      device.copy_to_device(step_state(), &state, sizeof state);
      if (injector && m == 0) injector->before_step(iteration);
      train_program->run(Phase::forward, topics, execution);
      train_program->run(Phase::backward, topics, execution);
      device.synchronize();   // the batch is overwritten next
      sum += static_cast<double>(read_loss(training));
    }
    return static_cast<float>(sum / static_cast<double>(config.micro_batches));
  }

  StepResult finish(const StepState& state, float loss, bool finite, bool committed) {
    StepResult result;
    result.iteration = iteration;
    result.loss = loss;
    result.loss_scale = scaler.scale;
    result.learning_rate = static_cast<float>(state.learning_rate);
    result.gradient_norm = state.gradient_norm;
    result.clip_coefficient = state.clip_coefficient;
    result.finite = finite;
    result.tokens = training.tokens;
    if (committed) ++applied;
    result.applied = applied;
    result.skipped = !committed;
    result.stopped = !committed && !scaling;
    if (scaling) {
      const scaling::Transition transition = scaling::next(config.scaler, scaler, !result.finite);
      scaler = transition.state;
      result.scale_event = transition.event;
      result.stopped = transition.event == scaling::ScaleEvent::gave_up;
    }
    result.next_loss_scale = scaler.scale;
    ++iteration;
    topics.step_end.publish(result);
    return result;
  }

  Evaluation evaluate(const std::function<bool()>& stop) {
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

  Device& device;
  const Dataset& dataset;
  Mode mode;
  TrainConfig config;
  std::uint64_t seed;
  Topics& topics;
  StepPlan training, evaluation;
  Buffer persistent, arena;
  bool scaling;
  scaling::ScalerState scaler;
  std::unique_ptr<Program> train_program, evaluate_program;
  std::unique_ptr<Injector> injector;   ///< null: the experiment injects nothing
  std::vector<std::vector<std::byte>> host_inputs;
  std::vector<Tensor> host_tensors;   ///< views of them
  std::int64_t iteration = 0, applied = 0;
};

Trainer::Trainer(Device& device, const Dataset& dataset, const TrainerSetup& setup, Topics& topics)
    : Trainer(device, dataset,
              GraphSetup{build_model(setup.model, setup.config.batch, true), build_model(setup.model, setup.config.batch, false),
                         setup.mode, setup.config, setup.seed},
              topics) {}
Trainer::Trainer(Device& device, const Dataset& dataset, const GraphSetup& setup, Topics& topics)
    : state_(std::make_unique<State>(device, dataset, setup, topics)) {}
Trainer::~Trainer() = default;

StepResult Trainer::step() { return state_->step(); }
Trainer::Evaluation Trainer::evaluate(const std::function<bool()>& stop) { return state_->evaluate(stop); }
TrainerState Trainer::state() const { return state_->save(); }
void Trainer::restore(const TrainerState& state) { state_->restore(state); }
const StepPlan& Trainer::plan() const { return state_->training; }
const StepPlan& Trainer::evaluation_plan() const { return state_->evaluation; }
std::int64_t Trainer::iteration() const { return state_->iteration; }
std::int64_t Trainer::applied() const { return state_->applied; }
const scaling::ScalerState& Trainer::scaler() const { return state_->scaler; }

std::map<std::string, std::int64_t> Trainer::memory_by_category() const {
  std::map<std::string, std::int64_t> result;
  for (const auto& [category, bytes] : state_->training.memory.peak_by_category) result[name(category)] += bytes;
  result[name(MemoryCategory::gaps)] += static_cast<std::int64_t>(state_->arena.bytes()) - state_->training.memory.arena_bytes;
  if (const std::int64_t bytes = state_->train_program->observation_bytes(); bytes > 0) result["observation"] = bytes;
  return result;
}

std::vector<float> Trainer::read(const std::string& value_name) const {
  return state_->read(state_->training.graph.find(value_name));
}
void Trainer::write(const std::string& value_name, const std::vector<float>& values) {
  state_->write(state_->training.graph.find(value_name), values);
}
void Trainer::observe(std::function<bool(const Node&)> which) { state_->train_program->observe(which); }

}  // namespace ulpscope::engine
