// Small models of every kind, and batches for them.
#pragma once

#include <string>
#include <vector>

#include "engine/models/models.h"
#include "tests/engine/support/graph_run.h"
#include "tests/engine/support/list_dataset.h"

namespace ulpscope::engine::testing {

struct NamedModel {
  std::string name;
  ModelConfig model;
};

inline std::ostream& operator<<(std::ostream& out, const NamedModel& m) { return out << m.name; }

/// The models of this file: "<name>_composed" differs from "<name>" in its attention alone.
inline std::vector<NamedModel> named_models(double dropout = 0.0) {
  LlamaConfig llama;
  llama.context = 12;
  llama.width = 32;
  llama.layers = 2;
  llama.kv_heads = 2;
  llama.hidden = 48;
  llama.dropout = dropout;
  EncoderConfig encoder;
  encoder.context = 12;
  encoder.width = 24;
  encoder.heads = 3;
  encoder.classes = 4;
  encoder.dropout = dropout;
  CnnConfig cnn;
  cnn.shape = {2, 9, 8};
  cnn.channels = 6;
  cnn.classes = 4;
  GptConfig tied;
  tied.context = 12;
  tied.width = 24;
  tied.layers = 1;
  tied.heads = 3;
  tied.tied = true;
  tied.dropout = dropout;
  std::vector<NamedModel> all{{"llama", llama}, {"encoder", encoder}, {"cnn", cnn}, {"gpt_tied", tied}};
  llama.attention = encoder.attention = "composed";
  all.push_back({"llama_composed", llama});
  all.push_back({"encoder_composed", encoder});
  llama.tied = true;
  llama.kv_heads = 1;
  all.push_back({"llama_tied", llama});
  encoder.pooling = "first";
  all.push_back({"encoder_first", encoder});
  cnn.shape = {3, 20};
  cnn.blocks = 3;
  all.push_back({"cnn_line", cnn});
  return all;
}

/// `period` different batches, one after the other. An encoder's sequences end in padding of different lengths.
inline ListDataset::Fill model_batches(const ModelConfig& config, std::int64_t batch, std::int64_t period) {
  const Model model = build_model(config, batch, true);
  std::vector<Value> inputs;
  for (const ValueId v : model.inputs) inputs.push_back(model.graph.value(v));
  std::int64_t classes = 256, pad_from = 0;
  if (const auto* encoder = std::get_if<EncoderConfig>(&config)) {
    classes = encoder->classes;
    pad_from = encoder->context;
  } else if (const auto* cnn = std::get_if<CnnConfig>(&config)) {
    classes = cnn->classes;
  }
  return [=](std::int64_t iteration) {
    const std::int64_t key = iteration % period;
    std::vector<std::vector<float>> lists;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      const auto n = static_cast<std::size_t>(inputs[i].shape.elements());
      std::vector<float> list;
      for (const double x : numbers(n, 1.0, static_cast<std::uint64_t>(key * 10) + i)) {
        const std::int64_t at = static_cast<std::int64_t>(list.size());
        const bool label = i > 0;
        if (inputs[i].format == Format::fp32) {
          list.push_back(static_cast<float>(x));
        } else if (label) {
          list.push_back(static_cast<float>((at * 7 + key * 3) % classes));
        } else {
          const bool padding = pad_from > 0 && at % pad_from > 3 + at / pad_from % 9;
          list.push_back(padding ? 0.0f : static_cast<float>(1 + (at * 31 + key * 13) % 255));
        }
      }
      lists.push_back(std::move(list));
    }
    return lists;
  };
}

}  // namespace ulpscope::engine::testing
