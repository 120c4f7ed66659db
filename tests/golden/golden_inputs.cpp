// golden_inputs NAME FOLDER: writes the initial weights, the batches and the settings of a training, for record.py.
#include <cstdio>
#include <filesystem>
#include <fstream>

#include <nlohmann/json.hpp>

#include "tests/golden/setups.h"

namespace {

using namespace ulpscope;
using namespace ulpscope::engine;

void write(const std::filesystem::path& path, const std::vector<float>& values) {
  std::ofstream(path, std::ios::binary)
      .write(reinterpret_cast<const char*>(values.data()), static_cast<std::streamsize>(values.size() * sizeof(float)));
}

std::vector<std::int64_t> dims(const Shape& s) { return {s.dim.begin(), s.dim.begin() + s.rank}; }

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::fprintf(stderr, "usage: golden_inputs gpt|mlp FOLDER\n");
    return 2;
  }
  const std::string name = argv[1];
  const std::filesystem::path folder = argv[2];
  std::filesystem::create_directories(folder);
  const std::unique_ptr<Device> device = make_cpu_device();
  const std::unique_ptr<Dataset> data = golden::text(name);
  const TrainConfig config = golden::training(name);
  Topics topics;
  Trainer trainer(*device, *data, TrainerSetup{golden::model(name), find_mode("fp32"), config, golden::seed}, topics);

  nlohmann::json settings{{"model", name},
                          {"steps", golden::steps},
                          {"batch", config.batch},
                          {"adamw", config.optimizer.kind == OptimizerKind::adamw},
                          {"beta1", config.optimizer.beta1},
                          {"beta2", config.optimizer.beta2},
                          {"epsilon", config.optimizer.epsilon},
                          {"momentum", config.optimizer.momentum},
                          {"weight_decay", config.optimizer.weight_decay},
                          {"clip", config.optimizer.clip},
                          {"cosine", config.schedule.kind == ScheduleKind::cosine},
                          {"learning_rate", config.schedule.learning_rate},
                          {"warmup", config.schedule.warmup},
                          {"final_fraction", config.schedule.final_fraction}};
  const auto& scaler = std::get<scaling::PytorchScaler>(config.scaler);
  settings["scaler"] = {{"init", scaler.initial_scale},
                        {"growth", scaler.growth_factor},
                        {"backoff", scaler.backoff_factor},
                        {"interval", scaler.growth_interval}};
  if (name == "gpt") {
    settings["layers"] = golden::gpt().layers;
    settings["heads"] = golden::gpt().heads;
  } else {
    settings["layers"] = golden::mlp().layers;
  }
  const Graph& graph = trainer.plan().graph;
  for (const ValueId v : graph.with_role(Role::parameter)) {
    const Value& value = graph.value(v);
    settings["parameters"].push_back({{"name", value.name}, {"shape", dims(value.shape)}});
    write(folder / (value.name + ".f32"), trainer.read(value.name));
  }
  for (const ValueId v : trainer.plan().inputs)
    settings["inputs"].push_back({{"name", graph.value(v).name}, {"shape", dims(graph.value(v).shape)}});
  for (int i = 0; i < golden::steps; ++i) {
    trainer.step();   // reads this step's batch
    for (const ValueId v : trainer.plan().inputs)
      write(folder / (graph.value(v).name + "." + std::to_string(i) + ".f32"), trainer.read(graph.value(v).name));
  }
  std::ofstream(folder / "settings.json") << settings.dump(2) << '\n';
  return 0;
}
