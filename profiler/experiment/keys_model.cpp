// Keys of [model]. Sizes that do not fit together are refused by engine::build_model.
#include <sstream>

#include <fmt/format.h>

#include "kernels/error.h"
#include "profiler/experiment/keys.h"

namespace ulpscope::profiler {
namespace {

using engine::CnnConfig;
using engine::EncoderConfig;
using engine::GptConfig;
using engine::GraphConfig;
using engine::LlamaConfig;
using engine::MlpConfig;

/// The first of the members whose model the experiment has: member(&GptConfig::width, &MlpConfig::width).
template <class T, class... Configs>
Slot<T> member(T Configs::*... members) {
  return [members...](Experiment& e) -> T* {
    T* found = nullptr;
    const auto look = [&]<class Config>(T Config::*m) {
      if (auto* config = std::get_if<Config>(&e.model)) found = &(config->*m);
    };
    (look(members), ...);
    return found;
  };
}

Key kind_key() {
  Key key;
  key.name = "model.kind";
  key.type = KeyType::text;
  key.doc = "decoders over bytes (gpt, llama); a classifier of sequences (encoder) or of features (cnn); the next byte from those before it (mlp); a graph of [[node]] tables";
  key.also = {"type", "name", "model"};
  key.choices = [] { return engine::model_names(); };
  key.set = [](Experiment& e, const KeyValue& value) {
    const std::string& kind = std::get<std::string>(value);
    if (engine::name(e.model) != kind) e.model = engine::default_model(kind);
  };
  key.get = [](const Experiment& e) -> std::optional<KeyValue> { return KeyValue(std::string(engine::name(e.model))); };
  return key;
}

Key loss_key() {
  Key key = text_key("model.loss", "graph: name of the [[node]] that is minimised, one number", {}, [](Experiment& e) -> std::string* {
    auto* config = std::get_if<GraphConfig>(&e.model);
    return config == nullptr ? nullptr : &config->loss;
  });
  key.also = {"objective", "output"};
  return key;
}

/// "1x28x28".
Key shape_key() {
  Key key;
  key.name = "model.shape";
  key.type = KeyType::text;
  key.doc = "cnn: one example, channels x length or channels x height x width; data of another size bring their own";
  key.also = {"input_shape", "image_size"};
  key.set = [](Experiment& e, const KeyValue& value) {
    const std::string& text = std::get<std::string>(value);
    std::vector<std::int64_t> shape;
    std::istringstream in(text);
    for (std::string part; std::getline(in, part, 'x');) {
      const bool digits = !part.empty() && part.size() < 10 && part.find_first_not_of("0123456789") == std::string::npos;
      if (!digits) throw UsageError(fmt::format("model.shape takes sizes like \"1x28x28\" or \"3x500\", not \"{}\"", text));
      shape.push_back(std::stoll(part));
    }
    std::get<CnnConfig>(e.model).shape = shape;
  };
  key.get = [](const Experiment& e) -> std::optional<KeyValue> {
    const auto* config = std::get_if<CnnConfig>(&e.model);
    if (config == nullptr) return std::nullopt;
    return KeyValue(fmt::format("{}", fmt::join(config->shape, "x")));
  };
  key.applies = [](const Experiment& e) { return std::holds_alternative<CnnConfig>(e.model); };
  return key;
}

Key weights_key() {
  Key key = text_key("model.weights", "initial weights by name, from a safetensors file", {},
                     [](Experiment& e) { return &e.train.weights; });
  key.also = {"init", "checkpoint", "init_from", "pretrained"};
  key.get = [](const Experiment& e) -> std::optional<KeyValue> {
    if (e.train.weights.empty()) return std::nullopt;
    return KeyValue(e.train.weights);
  };
  return key;
}

}  // namespace

std::vector<Key> model_keys() {
  return {
      kind_key(),
      loss_key(),
      also(integer_key("model.context", "bytes (tokens) the model sees", between(1, 1 << 17),
                       member(&GptConfig::context, &MlpConfig::context, &LlamaConfig::context, &EncoderConfig::context)),
           {"seq_len", "block_size", "n_ctx", "n_positions"}),
      also(integer_key("model.vocabulary", "different tokens; text is bytes: 256", between(1, 1 << 22),
                       member(&GptConfig::vocabulary, &MlpConfig::vocabulary, &LlamaConfig::vocabulary, &EncoderConfig::vocabulary)),
           {"vocab_size"}),
      integer_key("model.embedding", "mlp: numbers for each byte of the context", between(1, 1 << 16),
                  member(&MlpConfig::embedding)),
      also(integer_key("model.width", "numbers for each position, or hidden layer (mlp)", between(1, 1 << 16),
                       member(&GptConfig::width, &MlpConfig::width, &LlamaConfig::width, &EncoderConfig::width)),
           {"n_embd", "hidden_size", "d_model", "dim"}),
      also(integer_key("model.layers", "blocks, or hidden layers (mlp)", between(1, 1000),
                       member(&GptConfig::layers, &MlpConfig::layers, &LlamaConfig::layers, &EncoderConfig::layers)),
           {"n_layer", "num_hidden_layers", "depth"}),
      also(integer_key("model.heads", "attention heads; must divide the width", between(1, 256),
                       member(&GptConfig::heads, &LlamaConfig::heads, &EncoderConfig::heads)),
           {"n_head", "num_attention_heads"}),
      also(integer_key("model.kv_heads", "llama: heads of keys and values; must divide the heads", between(1, 256),
                       member(&LlamaConfig::kv_heads)),
           {"num_key_value_heads", "n_kv_heads"}),
      also(integer_key("model.hidden", "llama: numbers in the gated part of a block", between(1, 1 << 18), member(&LlamaConfig::hidden)),
           {"intermediate_size", "hidden_dim", "ffn_dim"}),
      also(flag_key("model.tied", "gpt, llama: the head reads the embedding's table", member(&GptConfig::tied, &LlamaConfig::tied)),
           {"tie_word_embeddings", "weight_tying"}),
      number_key("model.dropout", "gpt, llama, encoder: share of activations set to zero", below(0, 1),
                 member(&GptConfig::dropout, &LlamaConfig::dropout, &EncoderConfig::dropout)),
      text_key("model.attention", "gpt, llama, encoder: one operator, or composed of its parts", {"fused", "composed"},
               member(&GptConfig::attention, &LlamaConfig::attention, &EncoderConfig::attention)),
      also(integer_key("model.classes", "encoder, cnn: different labels; the data's, where they are labelled", between(1, 1 << 22),
                       member(&EncoderConfig::classes, &CnnConfig::classes)),
           {"num_labels", "num_classes"}),
      also(integer_key("model.pad", "encoder: the token that is padding", between(0, 1 << 22), member(&EncoderConfig::pad)),
           {"pad_token_id"}),
      also(text_key("model.pooling", "encoder: what the head reads", {"mean", "first"}, member(&EncoderConfig::pooling)), {"pooler"}),
      shape_key(),
      also(integer_key("model.channels", "cnn: of the first block; each further one has twice as many", between(1, 1 << 14),
                       member(&CnnConfig::channels)),
           {"base_width", "filters"}),
      integer_key("model.blocks", "cnn: residual blocks of two convolutions", between(1, 12), member(&CnnConfig::blocks)),
      also(integer_key("model.kernel", "cnn: size of the convolutions; odd", between(1, 255), member(&CnnConfig::kernel)),
           {"kernel_size"}),
      text_key("model.activation", "mlp: after each hidden layer", {"gelu", "relu", "tanh"},
               member(&MlpConfig::activation)),
      weights_key(),
  };
}

}  // namespace ulpscope::profiler
