// Keys of [model]. Sizes that do not fit together are refused by engine::build_model.
#include "profiler/experiment/keys.h"

namespace ulpscope::profiler {
namespace {

using engine::GptConfig;
using engine::MlpConfig;

template <class T>
Slot<T> member(T GptConfig::*gpt, T MlpConfig::*mlp) {
  return [gpt, mlp](Experiment& e) -> T* {
    if (auto* config = std::get_if<GptConfig>(&e.model)) return gpt == nullptr ? nullptr : &(config->*gpt);
    if (auto* config = std::get_if<MlpConfig>(&e.model)) return mlp == nullptr ? nullptr : &(config->*mlp);
    return nullptr;
  };
}

template <class T>
Slot<T> gpt_only(T GptConfig::*gpt) {
  return member<T>(gpt, nullptr);
}

template <class T>
Slot<T> mlp_only(T MlpConfig::*mlp) {
  return member<T>(nullptr, mlp);
}

Key kind_key() {
  Key key;
  key.name = "model.kind";
  key.type = KeyType::text;
  key.doc = "a decoder over bytes, or the next byte from those before it";
  key.also = {"type", "name", "model"};
  key.choices = [] { return engine::model_names(); };
  key.set = [](Experiment& e, const KeyValue& value) {
    const std::string& kind = std::get<std::string>(value);
    if (engine::name(e.model) != kind) e.model = engine::default_model(kind);
  };
  key.get = [](const Experiment& e) -> std::optional<KeyValue> { return KeyValue(std::string(engine::name(e.model))); };
  return key;
}

}  // namespace

std::vector<Key> model_keys() {
  return {
      kind_key(),
      also(integer_key("model.context", "bytes the model sees before the one it predicts", between(1, 1 << 17),
                       member(&GptConfig::context, &MlpConfig::context)),
           {"seq_len", "block_size", "n_ctx", "n_positions"}),
      also(integer_key("model.vocabulary", "different tokens; text is bytes: 256", between(256, 1 << 22),
                       member(&GptConfig::vocabulary, &MlpConfig::vocabulary)),
           {"vocab_size"}),
      integer_key("model.embedding", "mlp: numbers for each byte of the context", between(1, 1 << 16),
                  mlp_only(&MlpConfig::embedding)),
      also(integer_key("model.width", "numbers for each position (gpt) or hidden layer (mlp)", between(1, 1 << 16),
                       member(&GptConfig::width, &MlpConfig::width)),
           {"n_embd", "hidden_size", "d_model", "dim"}),
      also(integer_key("model.layers", "blocks (gpt) or hidden layers (mlp)", between(1, 1000),
                       member(&GptConfig::layers, &MlpConfig::layers)),
           {"n_layer", "num_hidden_layers", "depth"}),
      also(integer_key("model.heads", "gpt: attention heads; must divide the width", between(1, 256),
                       gpt_only(&GptConfig::heads)),
           {"n_head", "num_attention_heads"}),
      number_key("model.dropout", "gpt: share of activations set to zero", below(0, 1), gpt_only(&GptConfig::dropout)),
      text_key("model.attention", "gpt: one operator, or composed of its parts", {"fused", "composed"},
               gpt_only(&GptConfig::attention)),
      text_key("model.activation", "mlp: after each hidden layer", {"gelu", "relu", "tanh"},
               mlp_only(&MlpConfig::activation)),
  };
}

}  // namespace ulpscope::profiler
