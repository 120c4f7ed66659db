// The two trainings that PyTorch recorded: used by the program that hands weights and batches to record.py, and by the
// test that compares.
#pragma once

#include <memory>
#include <string>

#include "engine/train/trainer.h"

namespace ulpscope::engine::golden {

inline constexpr int steps = 20;
inline constexpr std::uint64_t seed = 7;

inline GptConfig gpt() {
  GptConfig c;
  c.context = 32;
  c.width = 64;
  c.layers = 2;
  c.heads = 4;
  return c;
}

inline MlpConfig mlp() {
  MlpConfig c;
  c.context = 12;
  c.embedding = 8;
  c.width = 64;
  c.layers = 2;
  return c;
}

/// name: "gpt", "mlp".
inline ModelConfig model(const std::string& name) { return name == "gpt" ? ModelConfig{gpt()} : ModelConfig{mlp()}; }

inline TrainConfig training(const std::string& name) {
  TrainConfig c;
  c.steps = steps;
  c.batch = name == "gpt" ? 4 : 32;
  c.optimizer.kind = name == "gpt" ? OptimizerKind::adamw : OptimizerKind::sgd;
  c.optimizer.weight_decay = name == "gpt" ? 0.1 : 1e-3;
  c.optimizer.clip = name == "gpt" ? 1.0 : 0.5;
  c.schedule.kind = name == "gpt" ? ScheduleKind::cosine : ScheduleKind::linear;
  c.schedule.learning_rate = name == "gpt" ? 2e-3 : 5e-2;
  c.schedule.warmup = 5;
  c.schedule.steps = steps;
  c.policy = "torch_cpu";   // the recordings were made on a CPU
  // So large that the first steps overflow in fp16, so short an interval that it grows into the limit again.
  c.scaler = scaling::PytorchScaler{.initial_scale = 0x1p24f, .growth_interval = 3};
  return c;
}

inline std::unique_ptr<Dataset> text(const std::string& name) {
  return load_text({std::string(ULPSCOPE_SOURCE_DIR) + "/tests/golden/text.txt"}, text_options(model(name), 0.1));
}

}  // namespace ulpscope::engine::golden
