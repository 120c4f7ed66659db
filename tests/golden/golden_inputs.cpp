// golden_inputs NAME FOLDER: writes the initial weights, the batches and the settings of a training, for record.py.
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "engine/data/safetensors.h"
#include "tests/golden/setups.h"

namespace {

using namespace ulpscope;
using namespace ulpscope::engine;

/// A persistent value or a batch, as fp32.
NamedTensor tensor(const Trainer& trainer, const Value& value) {
  const std::vector<float> numbers = trainer.read(value.name);
  NamedTensor t{value.name, "F32", {value.shape.dim.begin(), value.shape.dim.begin() + value.shape.rank}, {}};
  t.data.resize(numbers.size() * sizeof(float));
  std::memcpy(t.data.data(), numbers.data(), t.data.size());
  return t;
}

nlohmann::json optimizer_and_schedule(const TrainConfig& config) {
  const auto& scaler = std::get<scaling::PytorchScaler>(config.scaler);
  return {{"steps", golden::steps},
          {"batch", config.batch},
          {"adamw", config.optimizer.kind == OptimizerKind::adamw},
          {"beta1", config.optimizer.beta1},
          {"beta2", config.optimizer.beta2},
          {"epsilon", config.optimizer.epsilon},
          {"momentum", config.optimizer.momentum},
          {"nesterov", config.optimizer.nesterov},
          {"weight_decay", config.optimizer.weight_decay},
          {"clip", config.optimizer.clip},
          {"cosine", config.schedule.kind == ScheduleKind::cosine},
          {"learning_rate", config.schedule.learning_rate},
          {"warmup", config.schedule.warmup},
          {"final_fraction", config.schedule.final_fraction},
          {"scaler",
           {{"init", scaler.initial_scale},
            {"growth", scaler.growth_factor},
            {"backoff", scaler.backoff_factor},
            {"interval", scaler.growth_interval}}}};
}

/// What the shapes of the weights do not say.
nlohmann::json sizes(const ModelConfig& model) {
  if (const auto* c = std::get_if<GptConfig>(&model)) return {{"layers", c->layers}, {"heads", c->heads}};
  if (const auto* c = std::get_if<LlamaConfig>(&model)) return {{"layers", c->layers}, {"heads", c->heads}, {"kv_heads", c->kv_heads}};
  if (const auto* c = std::get_if<EncoderConfig>(&model)) return {{"layers", c->layers}, {"heads", c->heads}, {"pad", c->pad}, {"composed", c->attention != "fused"}};
  if (const auto* c = std::get_if<CnnConfig>(&model)) return {{"blocks", c->blocks}};
  return {{"layers", std::get<MlpConfig>(model).layers}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: golden_inputs gpt|llama|mlp|encoder|encoder_composed|cnn FOLDER\n");
    return 2;
  }
  const std::string name = argv[1];
  const std::filesystem::path folder = argv[2];
  std::filesystem::create_directories(folder);
  const std::unique_ptr<Device> device = make_cpu_device();
  const std::unique_ptr<Dataset> data = golden::data(name);
  const TrainConfig config = golden::training(name);
  Topics topics;
  Trainer trainer(*device, *data, TrainerSetup{golden::model(name), find_mode("fp32"), config, golden::seed}, topics);

  nlohmann::json settings = optimizer_and_schedule(config);
  settings["model"] = name;
  settings.update(sizes(golden::model(name)));
  const Graph& graph = trainer.plan().graph;
  TensorFile weights, buffers, batches;
  for (const ValueId v : graph.with_role(Role::parameter)) weights.tensors.push_back(tensor(trainer, graph.value(v)));
  for (const ValueId v : graph.with_role(Role::buffer)) buffers.tensors.push_back(tensor(trainer, graph.value(v)));
  for (int i = 0; i < golden::steps; ++i) {
    trainer.step();   // reads this step's batch
    for (const ValueId v : trainer.plan().inputs) {
      batches.tensors.push_back(tensor(trainer, graph.value(v)));
      batches.tensors.back().name += "." + std::to_string(i);
    }
  }
  write_safetensors(folder / "weights.safetensors", weights);
  write_safetensors(folder / "buffers.safetensors", buffers);
  write_safetensors(folder / "batches.safetensors", batches);
  std::ofstream(folder / "settings.json") << settings.dump(2) << '\n';
  return 0;
}
