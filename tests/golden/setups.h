// The trainings that PyTorch recorded: used by the program that hands weights and batches to record.py, and by the test that
// compares.
#pragma once

#include <memory>
#include <string>

#include "engine/train/trainer.h"
#include "tests/golden/batches.h"

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

inline LlamaConfig llama() {
  LlamaConfig c;
  c.context = 32;
  c.width = 64;
  c.layers = 2;
  c.heads = 4;
  c.kv_heads = 2;
  c.hidden = 96;
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

/// attention: "fused", "composed". The latter's softmax is what the autocast lists of CPUs and GPUs differ in.
inline EncoderConfig encoder(const std::string& attention) {
  EncoderConfig c;
  c.attention = attention;
  c.context = 24;
  c.vocabulary = 64;
  c.width = 48;
  c.layers = 2;
  c.heads = 3;
  c.classes = 5;
  return c;
}

inline CnnConfig cnn() {
  CnnConfig c;
  c.shape = {2, 9, 8};   // an odd height: at stride 2 the windows of the last row reach into the padding
  c.channels = 8;
  c.blocks = 2;
  c.classes = 5;
  return c;
}

/// name: "gpt", "llama", "mlp", "encoder", "encoder_composed", "cnn".
inline ModelConfig model(const std::string& name) {
  if (name == "gpt") return gpt();
  if (name == "llama") return llama();
  if (name == "encoder") return encoder("fused");
  if (name == "encoder_composed") return encoder("composed");
  if (name == "cnn") return cnn();
  return mlp();
}

inline TrainConfig training(const std::string& name) {
  TrainConfig c;
  c.steps = steps;
  const bool encodes = name == "encoder" || name == "encoder_composed";
  const bool adamw = name == "gpt" || name == "llama" || encodes;
  c.batch = adamw ? 4 : 32;
  c.optimizer.kind = adamw ? OptimizerKind::adamw : OptimizerKind::sgd;
  c.optimizer.weight_decay = adamw ? 0.1 : 1e-3;
  c.optimizer.clip = adamw ? 1.0 : 0.5;
  c.schedule.kind = adamw ? ScheduleKind::cosine : ScheduleKind::linear;
  c.schedule.learning_rate = adamw ? 2e-3 : 5e-2;
  if (encodes) c.batch = 16;
  if (name == "cnn") {
    c.schedule.learning_rate = 2e-2;
    c.optimizer.nesterov = true;
    c.buffers = BufferCommit::always;   // as PyTorch, whose running statistics move in skipped steps, too
  }
  c.schedule.warmup = 5;
  c.schedule.steps = steps;
  c.policy = "torch_cpu";   // the recordings were made on a CPU
  // So large that the first steps overflow in fp16, so short an interval that it grows into the limit again.
  // The cnn's is no power of two: unscaling rounds; and its gradients keep clear of the limit until they overflow.
  c.scaler = scaling::PytorchScaler{.initial_scale = name == "cnn" ? 0x1.8p23f : 0x1p24f, .growth_interval = 3};
  return c;
}

inline std::unique_ptr<Dataset> data(const std::string& name) {
  if (name == "cnn") return std::make_unique<ImageBatches>(cnn());
  const ModelConfig config = model(name);
  if (const auto* c = std::get_if<EncoderConfig>(&config)) return std::make_unique<SequenceBatches>(*c);
  return load_text({std::string(ULPSCOPE_SOURCE_DIR) + "/tests/golden/text.txt"}, text_options(config, 0.1));
}

}  // namespace ulpscope::engine::golden
