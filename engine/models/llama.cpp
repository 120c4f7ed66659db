// A decoder as Llama's (Touvron et al. 2023): rotary positions, RMS norm before each part, SwiGLU, grouped-query attention,
// no biases. Initial values as the GPT's.
#include <fmt/format.h>

#include "engine/models/builders.h"
#include "kernels/error.h"
#include "kernels/math/elementary.h"

namespace ulpscope::engine {
namespace {

constexpr double initial_deviation = 0.02;
constexpr double rotary_base = 10000.0;

Initial normal(double deviation) { return {Initial::Kind::normal, deviation, {}}; }

void check(const LlamaConfig& c) {
  require_vocabulary(c.vocabulary);
  require_positive("model.context", c.context);
  require_positive("model.width", c.width);
  require_positive("model.layers", c.layers);
  require_positive("model.hidden", c.hidden);
  require_heads(c.width, c.heads);
  require_positive("model.kv_heads", c.kv_heads);
  if (c.heads % c.kv_heads != 0)
    throw UsageError(fmt::format("model.heads {} is not divisible by model.kv_heads {}", c.heads, c.kv_heads));
  if (c.width / c.heads % 2 != 0)
    throw UsageError(fmt::format("model.width {} over model.heads {} must be even: rotary positions turn pairs", c.width, c.heads));
  require_dropout(c.dropout);
  require_attention(c.attention);
}

class Builder {
 public:
  Builder(const LlamaConfig& config, std::int64_t batch, bool training)
      : c_(config), batch_(batch), dropout_(training ? config.dropout : 0.0), training_(training) {}

  Model build() {
    Graph& g = model_.graph;
    const ValueId tokens = g.add_input("tokens", Shape{batch_, c_.context}, Format::i32);
    const ValueId targets = g.add_input("targets", Shape{batch_, c_.context}, Format::i32);
    const ValueId table = g.add_parameter("embed.weight", Shape{c_.vocabulary, c_.width}, normal(initial_deviation));
    const NodeId rotary = g.add_node("rotary_table", "rotary", {}, {{"positions", c_.context}, {"depth", c_.width / c_.heads}, {"base", rotary_base}});
    turns_ = g.node(rotary).outputs;
    ValueId x = drop("embed.dropout", g.apply("embedding", "embed", {table, tokens}));
    for (std::int64_t i = 0; i < c_.layers; ++i) x = block(fmt::format("block{}", i), x);
    x = add_rms_norm(g, "norm", x);
    const ValueId logits = c_.tied ? g.apply("linear", "lm_head", {x, table})
                                   : add_linear(g, "lm_head", x, c_.vocabulary, normal(initial_deviation), false);
    model_.loss = g.apply("cross_entropy", "loss", {logits, targets});
    model_.inputs = {tokens, targets};
    model_.tokens_per_batch = batch_ * c_.context;
    return std::move(model_);
  }

 private:
  ValueId drop(const std::string& name, ValueId x) {
    return dropout_ > 0.0 ? model_.graph.apply("dropout", name, {x}, {{"rate", dropout_}}) : x;
  }
  Initial residual() const { return normal(initial_deviation / math::sqrt(2.0 * static_cast<double>(c_.layers))); }

  ValueId turned(const std::string& name, ValueId x, std::int64_t heads) {
    return model_.graph.apply("rotary", name, {x, turns_[0], turns_[1]}, {{"heads", heads}});
  }

  ValueId block(const std::string& name, ValueId x) {
    Graph& g = model_.graph;
    const std::string attn = name + ".attn", mlp = name + ".mlp";
    const Initial weight = normal(initial_deviation);
    const std::int64_t kv_width = c_.width / c_.heads * c_.kv_heads;
    const ValueId a = add_rms_norm(g, name + ".norm1", x);
    const ValueId q = turned(attn + ".q.rotary", add_linear(g, attn + ".q_proj", a, c_.width, weight, false), c_.heads);
    const ValueId k = turned(attn + ".k.rotary", add_linear(g, attn + ".k_proj", a, kv_width, weight, false), c_.kv_heads);
    const ValueId v = add_linear(g, attn + ".v_proj", a, kv_width, weight, false);
    AttentionOptions options;
    options.heads = c_.heads;
    options.kv_heads = c_.kv_heads;
    options.dropout = dropout_;
    options.fused = c_.attention == "fused";
    options.training = training_;
    ValueId y = add_attention(g, attn, q, k, v, options);
    y = drop(attn + ".dropout", add_linear(g, attn + ".o_proj", y, c_.width, residual(), false));
    x = g.apply("add", attn + ".residual", {x, y});
    const ValueId m = add_rms_norm(g, name + ".norm2", x);
    const ValueId gate = g.apply("silu", mlp + ".silu", {add_linear(g, mlp + ".gate_proj", m, c_.hidden, weight, false)});
    const ValueId up = add_linear(g, mlp + ".up_proj", m, c_.hidden, weight, false);
    const ValueId product = g.apply("mul", mlp + ".gated", {gate, up});
    y = drop(mlp + ".dropout", add_linear(g, mlp + ".down_proj", product, c_.width, residual(), false));
    return g.apply("add", mlp + ".residual", {x, y});
  }

  const LlamaConfig& c_;
  std::int64_t batch_;
  double dropout_;
  bool training_;
  std::vector<ValueId> turns_;   ///< cos and sin
  Model model_;
};

}  // namespace

Model build_llama(const LlamaConfig& config, std::int64_t batch, bool training) {
  check(config);
  return Builder(config, batch, training).build();
}

}  // namespace ulpscope::engine
