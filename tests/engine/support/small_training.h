// Training of models of a few numbers, whose steps can be computed by hand.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/graph/initialise.h"
#include "engine/train/trainer.h"

namespace ulpscope::engine::testing {

/// Batches made by a function of iteration and micro-batch.
class MicroDataset : public Dataset {
 public:
  using Fill = std::function<std::vector<std::vector<float>>(std::int64_t iteration, std::int32_t micro_batch)>;
  explicit MicroDataset(Fill fill) : fill_(std::move(fill)) {}

  std::string describe() const override { return "list"; }
  std::uint64_t fingerprint() const override { return 1; }
  void training_batch(const BatchKey& key, std::span<const Tensor> inputs) const override {
    write(fill_(key.iteration, key.micro_batch), inputs);
  }
  std::int64_t held_out_batches(std::int64_t) const override { return 1; }
  void held_out_batch(std::int64_t, std::span<const Tensor> inputs) const override { write(fill_(0, 0), inputs); }

 private:
  static void write(const std::vector<std::vector<float>>& lists, std::span<const Tensor> inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) store(lists[i], inputs[i].format, inputs[i].data);
  }
  Fill fill_;
};

/// loss = sum(w x): the gradient of w is x. w starts from the list.
inline Model weighted_sum(std::vector<float> start) {
  Model m;
  const auto n = static_cast<std::int64_t>(start.size());
  const ValueId x = m.graph.add_input("x", Shape{n}, Format::fp32);
  const ValueId w = m.graph.add_parameter("w", Shape{n}, {Initial::Kind::values, 0.0, std::move(start)});
  m.loss = m.graph.apply("sum", "loss", {m.graph.apply("mul", "product", {w, x})});
  m.inputs = {x};
  m.tokens_per_batch = n;
  return m;
}

/// Nothing but the update itself: no decay, no clipping, no momentum, a constant rate.
inline TrainConfig plain_training(OptimizerKind kind, double rate) {
  TrainConfig c;
  c.optimizer.kind = kind;
  c.optimizer.momentum = c.optimizer.weight_decay = c.optimizer.clip = 0.0;
  c.schedule.kind = ScheduleKind::constant;
  c.schedule.learning_rate = rate;
  return c;
}

/// A trainer with everything it needs.
struct SmallTraining {
  SmallTraining(const Model& model, const char* mode, const TrainConfig& config, MicroDataset::Fill fill, std::uint64_t seed = 1,
                int threads = 1)
      : device(make_cpu_device({threads, ""})),
        data(std::move(fill)),
        trainer(*device, data, GraphSetup{model, model, find_mode(mode), config, seed}, topics) {}

  std::vector<float> read(const std::string& name = "w") const { return trainer.read(name); }
  StepResult step() { return trainer.step(); }
  StepResult steps(int n) {
    StepResult result;
    for (int i = 0; i < n; ++i) result = trainer.step();
    return result;
  }

  std::unique_ptr<Device> device;
  MicroDataset data;
  Topics topics;
  Trainer trainer;
};

/// The same batch in every step and micro-batch.
inline MicroDataset::Fill always(std::vector<float> x) {
  return [x = std::move(x)](std::int64_t, std::int32_t) { return std::vector<std::vector<float>>{x}; };
}

}  // namespace ulpscope::engine::testing
