#include "engine/train/trainer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "engine/optim/schedule.h"
#include "engine/train/held_buffers.h"
#include "engine/train/initialise.h"
#include "engine/train/injector.h"
#include "engine/train/memory_for.h"
#include "engine/train/program.h"
#include "engine/train/source_probe.h"
#include "engine/train/stored_values.h"
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

  TrainerState save() const {
    TrainerState saved{iteration, applied, scaler, {}};
    values.save(saved);
    return saved;
  }

  void restore(const TrainerState& saved) {
    values.restore(saved, mode.name);
    iteration = saved.iteration;
    applied = saved.applied;
    scaler = saved.scaler;
  }

  void adopt(const TrainerState& saved) {
    values.adopt(saved);
    iteration = saved.iteration;
    applied = saved.applied;
    if (scaling) scaler = saved.scaler;
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

  /// The part of a step that can be done again: up to the finite flag, in state.
  float run_to_flag(StepState& state, std::int32_t attempt) {
    state = host_state();
    const float loss = run_micro_batches(state, attempt);
    if (config.early_unscale) {   // done already, as far as the optimizer knows
      state.inverse_scale = 1.0f;
      device.copy_to_device(step_state(), &state, sizeof state);
    }
    train_program->run(Phase::unscale, topics, {iteration, state.micro_batch, attempt});
    device.synchronize();
    device.copy_to_host(&state, step_state(), sizeof state);
    return loss;
  }

  /// Where nobody looks and nothing is replayed it allocates nothing.
  StepResult step() {
    const bool observed = observation.nodes && (!observation.steps || observation.steps(iteration));
    topics.step_begin.publish({iteration, observed});
    look(observed);
    if (observation.replay) buffers.hold();
    StepState state;
    const float loss = run_to_flag(state, 0);
    StepResult result = result_of(state, loss, state.finite != 0);
    if (observation.replay && !(result.finite && std::isfinite(loss)) && observation.replay(result)) {
      result.replay = run_again(result, state);
      result.finite = state.finite != 0;
    }
    const bool finite = result.finite;
    const bool apply_anyway = !finite && !scaling && config.non_finite == NonFinite::apply;
    if (apply_anyway) {
      state.finite = 1;   // the optimizers look at the flag
      device.copy_to_device(step_state(), &state, sizeof state);
    }
    train_program->run(Phase::update, topics, {iteration, state.micro_batch, 0});   // commits nothing if the flag is bad
    device.synchronize();
    return finish(result, finite || apply_anyway);
  }

  void watch(const std::function<bool(const Node&)>& nodes) {
    train_program->observe(nodes);
    observation_bytes = std::max(observation_bytes, train_program->observation_bytes());
  }

  void watch_ranges() {
    if (!observation.ranges) return train_program->observe_ranges(nullptr);
    train_program->observe_ranges(
        [this](const Node& node, ValueId value) { return node.phase == Phase::backward || value == training.loss; });
    observation_bytes = std::max(observation_bytes, train_program->observation_bytes());
  }

  /// The observation's own look at a step.
  void look(bool observed) {
    looking_at_sources = observed && observation.sources;
    if (observed == looking) return;
    looking = false;
    watch(observed ? observation.nodes : nullptr);
    looking = observed;
  }

  /// The step that has just been run, again, with every node observed. state: of the first run; afterwards what is to be committed,
  /// which the device has, too.
  Replay run_again(const StepResult& first, StepState& state) {
    // The result of an observed product needs memory, and everything else is left alone until that is there.
    if (!had_memory_for([this] { watch([](const Node&) { return true; }); })) {
      look_as_before();
      return Replay::no_memory;
    }
    const bool at_sources = std::exchange(looking_at_sources, observation.sources);
    StepState again;
    float loss = 0.0f;
    buffers.put_back();
    const bool through = had_memory_for([&] { loss = run_to_flag(again, 1); });
    looking_at_sources = at_sources && through;
    if (!through) {   // once more, as it was at first: that takes no memory
      watch(nullptr);
      buffers.put_back();
      run_to_flag(state, 1);
      look_as_before();
      return Replay::no_memory;
    }
    look_as_before();
    const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    if (same(loss, first.loss) && same(again.gradient_norm, first.gradient_norm) && (again.finite != 0) == first.finite)
      return Replay::same;
    // The gradients are those of the second run: they are committed only if both runs say that they can be.
    if (first.finite) state = again;
    device.copy_to_device(step_state(), &state, sizeof state);
    return Replay::differs;
  }

  /// After a replay. Without memory for it nobody looks, until the next step that is observed.
  void look_as_before() {
    if (looking && had_memory_for([this] { watch(observation.nodes); })) return;
    looking = false;
    watch(nullptr);
  }

  StepResult rehearse(const std::function<bool(const Node&)>& which) {
    const auto end = [this] {
      buffers.put_back();
      watch(nullptr);
      looking = looking_at_sources = false;
    };
    buffers.hold();
    StepState state;
    float loss = 0.0f;
    try {
      watch(which);
      looking_at_sources = true;
      loss = run_to_flag(state, 2);
    } catch (...) {
      end();
      throw;
    }
    end();
    return result_of(state, loss, state.finite != 0);
  }

  /// Forward and backward passes of a step; gradients gather in their accumulators. Returns the mean loss. In state: the last
  /// micro-batch.
  float run_micro_batches(StepState& state, std::int32_t attempt) {
    double sum = 0.0;
    for (std::int64_t m = 0; m < config.micro_batches; ++m) {
      state.micro_batch = static_cast<std::int32_t>(m);
      const Execution execution{iteration, state.micro_batch, attempt};
      dataset.training_batch({seed, iteration, state.micro_batch}, host_tensors);
      upload_inputs();
      device.copy_to_device(step_state(), &state, sizeof state);
      if (injector && m == 0) injector->before_step(iteration);
      if (looking_at_sources) sources.publish(topics, execution);
      train_program->run(Phase::forward, topics, execution);
      train_program->run(Phase::backward, topics, execution);
      device.synchronize();   // the batch is overwritten next
      sum += static_cast<double>(read_loss(training));
    }
    return static_cast<float>(sum / static_cast<double>(config.micro_batches));
  }

  /// As it stands before anything is committed.
  StepResult result_of(const StepState& state, float loss, bool finite) const {
    StepResult result;
    result.iteration = iteration;
    result.loss = loss;
    result.loss_scale = scaler.scale;
    result.learning_rate = static_cast<float>(state.learning_rate);
    result.gradient_norm = state.gradient_norm;
    result.clip_coefficient = state.clip_coefficient;
    result.finite = finite;
    result.tokens = training.tokens;
    result.applied = applied;
    result.next_loss_scale = scaler.scale;
    return result;
  }

  StepResult finish(StepResult result, bool committed) {
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
  StoredValues values;
  SourceProbe sources;
  HeldBuffers buffers;
  std::unique_ptr<Program> train_program, evaluate_program;
  std::unique_ptr<Injector> injector;   ///< null: the experiment injects nothing
  Observation observation;
  bool looking = false, looking_at_sources = false;
  std::int64_t observation_bytes = 0;   ///< most so far
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
void Trainer::adopt(const TrainerState& state) { state_->adopt(state); }
StepResult Trainer::rehearse(const std::function<bool(const Node&)>& which) { return state_->rehearse(which); }
const StepPlan& Trainer::plan() const { return state_->training; }
const StepPlan& Trainer::evaluation_plan() const { return state_->evaluation; }
std::int64_t Trainer::iteration() const { return state_->iteration; }
std::int64_t Trainer::applied() const { return state_->applied; }
const scaling::ScalerState& Trainer::scaler() const { return state_->scaler; }

std::map<std::string, std::int64_t> Trainer::memory_by_category() const {
  std::map<std::string, std::int64_t> result;
  for (const auto& [category, bytes] : state_->training.memory.peak_by_category) result[name(category)] += bytes;
  result[name(MemoryCategory::gaps)] += static_cast<std::int64_t>(state_->arena.bytes()) - state_->training.memory.arena_bytes;
  if (const std::int64_t bytes = state_->observation_bytes; bytes > 0) result["observation"] = bytes;
  return result;
}

std::vector<float> Trainer::read(const std::string& value_name) const {
  return state_->values.read(state_->training.graph.find(value_name));
}
void Trainer::write(const std::string& value_name, const std::vector<float>& values) {
  state_->values.write(state_->training.graph.find(value_name), values);
}
void Trainer::observe(Observation observation) {
  state_->look(false);   // whoever looked until now
  state_->observation = std::move(observation);
  state_->watch_ranges();
}
void Trainer::observe(std::function<bool(const Node&)> which) { observe(Observation{std::move(which), {}, {}, false}); }

}  // namespace ulpscope::engine
