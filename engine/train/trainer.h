// Trains one model in one mode: builds the program, owns the weights, makes steps.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/models/models.h"
#include "engine/passes/memory_plan.h"
#include "engine/precision/mode.h"
#include "engine/topics.h"
#include "engine/train/config.h"
#include "engine/train/observation.h"
#include "engine/train/savings.h"
#include "engine/train/trainer_state.h"
#include "kernels/device.h"

namespace ulpscope::engine {

/// The planned step of a mode: what `ulpscope plan` shows and a run file records. Nothing is allocated.
struct StepPlan {
  Graph graph;                ///< after all passes; nodes in execution order
  ValueId loss;               ///< unscaled
  std::vector<ValueId> inputs;
  MemoryPlan memory;
  MemorySavings savings;      ///< zeros for an evaluation
  std::int64_t parameters = 0;
  std::int64_t tokens = 0;    ///< targets of a step (of an evaluation: of a batch)
  std::int64_t micro_batches = 1;   ///< how often the phases forward and backward run in a step
};

/// Device decides kernels and their workspace. Throws UsageError for a keep_fp32 or checkpoint pattern that matches no node.
StepPlan plan_step(Device& device, const Model& model, const Mode& mode, const TrainConfig& config);
/// The forward pass alone, without dropout: held-out evaluation, in the mode or in full 16 bits (config.evaluation_format).
StepPlan plan_evaluation(Device& device, const Model& model, const Mode& mode, const TrainConfig& config);

/// Whether the mode multiplies the loss: fp16 modes, unless the scaler is none; fp16_pure where it is asked for.
bool scales_loss(const Mode& mode, const TrainConfig& config);

struct TrainerSetup {
  ModelConfig model;
  Mode mode;
  TrainConfig config;
  std::uint64_t seed = 0;
};

/// A model given as graphs: what is trained, and what is evaluated on held-out batches. Every input, parameter and constant
/// of the evaluation is one of the training, with the same name, shape and format.
struct GraphSetup {
  Model training;
  Model evaluation;
  Mode mode;
  TrainConfig config;
  std::uint64_t seed = 0;
};

class Trainer {
 public:
  /// Allocates everything a step needs; draws the initial weights. The dataset, device and topics must outlive it. Throws
  /// UsageError naming the value where the evaluation does not fit the training.
  Trainer(Device& device, const Dataset& dataset, const TrainerSetup& setup, Topics& topics);
  Trainer(Device& device, const Dataset& dataset, const GraphSetup& setup, Topics& topics);
  ~Trainer();

  /// One step, as a transaction. Also published on topics.step_end.
  StepResult step();
  /// So many steps, the same to the bit, each told to `ended` and to topics.step_end in order; after one that stops there are none.
  /// Where can_run_ahead(), the next step is launched before it is known how the last one ended: a step ended one step before it is told.
  /// While `ended` and step_end are told, everything else here but plan, iteration, applied and scaler throws Error.
  void run_ahead(std::int64_t steps, const std::function<void(const StepResult&)>& ended);
  /// The device works beside the host, nobody listens to nodes or to the beginning of steps, nothing is observed but what is
  /// replayed, and no knob needs the host within a step. Otherwise steps are made one by one.
  bool can_run_ahead() const;

  /// Mean held-out loss over config.evaluation_batches (or all there are), as plan_evaluation says; NaN-free only if the model is.
  /// Nothing if no data is held out.
  struct Evaluation {
    bool available = false;
    bool stopped = false;     ///< it was asked to end before it had a result
    double loss = 0.0;
    std::int64_t batches = 0;
  };
  /// stop: asked between batches; true ends the evaluation without a result.
  Evaluation evaluate(const std::function<bool()>& stop = {});

  /// What decides how the training goes on, after a step; and back, into a trainer of the same model, mode, configuration and
  /// seed, which then takes the same steps to the bit. Throws Error naming the value that is missing, too many, or of another
  /// shape or format; nothing is changed then.
  TrainerState state() const;
  void restore(const TrainerState& state);

  const StepPlan& plan() const;
  const StepPlan& evaluation_plan() const;
  /// Bytes held on the device by category; their sum is what this trainer allocated, to the byte.
  std::map<std::string, std::int64_t> memory_by_category() const;

  std::int64_t iteration() const;
  std::int64_t applied() const;
  const scaling::ScalerState& scaler() const;

  /// Copies of persistent values (parameters, optimizer state, buffers) by name, widened to fp32. A buffer that is written is
  /// so at the last commit, too.
  std::vector<float> read(const std::string& value_name) const;
  void write(const std::string& value_name, const std::vector<float>& values);

  /// Parameters, buffers and the place in the run of a trainer in another mode, by name, converted to this one's formats.
  /// Throws Error naming what is missing or has another shape.
  void adopt(const TrainerState& state);

  /// From the next step on, counts go to topics.tensor as it says. Bits do not change.
  void observe(Observation observation);
  /// In every step the outputs of the nodes for which the function is true.
  void observe(std::function<bool(const Node&)> which);
  /// The next step up to its finite flag, these nodes (and what it reads) observed as attempt 2; nothing is committed, the trainer
  /// stands where it stood. Not published on topics.step_end.
  StepResult rehearse(const std::function<bool(const Node&)>& which);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace ulpscope::engine
