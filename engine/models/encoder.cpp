// An encoder that classifies a sequence: learned positions, pre-norm blocks, GELU, attention that sees both ways but no
// padding; the mean of the tokens, or the first one, through a linear head.
#include <fmt/format.h>

#include "engine/models/builders.h"
#include "kernels/error.h"
#include "kernels/math/elementary.h"

namespace ulpscope::engine {
namespace {

constexpr double initial_deviation = 0.02;

Initial normal(double deviation) { return {Initial::Kind::normal, deviation, {}}; }

void check(const EncoderConfig& c) {
  require_positive("model.vocabulary", c.vocabulary);
  require_positive("model.context", c.context);
  require_positive("model.width", c.width);
  require_positive("model.layers", c.layers);
  require_heads(c.width, c.heads);
  require_positive("model.classes", c.classes);
  require_dropout(c.dropout);
  require_attention(c.attention);
  if (c.pooling != "mean" && c.pooling != "first")
    throw UsageError(fmt::format("unknown model.pooling '{}'. Choices: mean, first", c.pooling));
}

class Builder {
 public:
  Builder(const EncoderConfig& config, std::int64_t batch, bool training)
      : c_(config), batch_(batch), dropout_(training ? config.dropout : 0.0), training_(training) {}

  Model build() {
    Graph& g = model_.graph;
    const ValueId tokens = g.add_input("tokens", Shape{batch_, c_.context}, Format::i32);
    const ValueId targets = g.add_input("targets", Shape{batch_}, Format::i32);
    visible_ = g.apply("ne", "visible", {tokens}, {{"value", c_.pad}});
    if (c_.attention != "fused") hidden_ = g.apply("eq", "hidden", {tokens}, {{"value", c_.pad}});
    const ValueId table = g.add_parameter("wte.weight", Shape{c_.vocabulary, c_.width}, normal(initial_deviation));
    const ValueId positions = g.add_parameter("wpe.weight", Shape{c_.context, c_.width}, normal(initial_deviation));
    ValueId x = drop("embed.dropout", g.apply("add", "embed", {g.apply("embedding", "wte", {table, tokens}), positions}));
    for (std::int64_t i = 0; i < c_.layers; ++i) x = block(fmt::format("block{}", i), x);
    x = add_layer_norm(g, "ln_f", x);
    x = c_.pooling == "mean" ? g.apply("masked_mean", "pool", {x, visible_})
                             : g.apply("select", "pool", {x}, {{"index", std::int64_t{0}}});
    const ValueId logits = add_linear(g, "head", x, c_.classes, normal(initial_deviation));
    model_.loss = g.apply("cross_entropy", "loss", {logits, targets});
    model_.inputs = {tokens, targets};
    model_.tokens_per_batch = batch_;
    return std::move(model_);
  }

 private:
  ValueId drop(const std::string& name, ValueId x) {
    return dropout_ > 0.0 ? model_.graph.apply("dropout", name, {x}, {{"rate", dropout_}}) : x;
  }
  Initial residual() const { return normal(initial_deviation / math::sqrt(2.0 * static_cast<double>(c_.layers))); }

  ValueId block(const std::string& name, ValueId x) {
    Graph& g = model_.graph;
    const std::string attn = name + ".attn", mlp = name + ".mlp";
    const Initial weight = normal(initial_deviation);
    const ValueId a = add_layer_norm(g, name + ".ln1", x);
    AttentionOptions options;
    options.heads = options.kv_heads = c_.heads;
    options.causal = false;
    options.dropout = dropout_;
    options.fused = c_.attention == "fused";
    options.training = training_;
    options.visible = visible_;
    options.hidden = hidden_;
    const ValueId q = add_linear(g, attn + ".q_proj", a, c_.width, weight);
    const ValueId k = add_linear(g, attn + ".k_proj", a, c_.width, weight);
    const ValueId v = add_linear(g, attn + ".v_proj", a, c_.width, weight);
    ValueId y = add_attention(g, attn, q, k, v, options);
    y = drop(attn + ".dropout", add_linear(g, attn + ".proj", y, c_.width, residual()));
    x = g.apply("add", attn + ".residual", {x, y});
    ValueId m = add_linear(g, mlp + ".up", add_layer_norm(g, name + ".ln2", x), 4 * c_.width, weight);
    m = g.apply("gelu", mlp + ".gelu", {m});
    m = drop(mlp + ".dropout", add_linear(g, mlp + ".down", m, c_.width, residual()));
    return g.apply("add", mlp + ".residual", {x, m});
  }

  const EncoderConfig& c_;
  std::int64_t batch_;
  double dropout_;
  bool training_;
  ValueId visible_, hidden_;
  Model model_;
};

}  // namespace

Model build_encoder(const EncoderConfig& config, std::int64_t batch, bool training) {
  check(config);
  return Builder(config, batch, training).build();
}

}  // namespace ulpscope::engine
