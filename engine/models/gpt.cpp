// A GPT: learned positions, pre-norm blocks, GELU, causal attention; initial values as in GPT-2 (normal 0.02, projections
// onto the residual stream divided by sqrt(2 layers); Radford et al. 2019).
#include <fmt/format.h>

#include "engine/models/builders.h"
#include "kernels/math/elementary.h"

namespace ulpscope::engine {
namespace {

constexpr double initial_deviation = 0.02;

Initial normal(double deviation) { return {Initial::Kind::normal, deviation, {}}; }

void check(const GptConfig& c) {
  require_vocabulary(c.vocabulary);
  require_positive("model.context", c.context);
  require_positive("model.width", c.width);
  require_positive("model.layers", c.layers);
  require_heads(c.width, c.heads);
  require_dropout(c.dropout);
  require_attention(c.attention);
}

class Builder {
 public:
  Builder(const GptConfig& config, std::int64_t batch, bool training)
      : c_(config), batch_(batch), dropout_(training ? config.dropout : 0.0), training_(training) {}

  Model build() {
    Graph& g = model_.graph;
    const ValueId tokens = g.add_input("tokens", Shape{batch_, c_.context}, Format::i32);
    const ValueId targets = g.add_input("targets", Shape{batch_, c_.context}, Format::i32);
    const ValueId table = g.add_parameter("wte.weight", Shape{c_.vocabulary, c_.width}, normal(initial_deviation));
    const ValueId positions = g.add_parameter("wpe.weight", Shape{c_.context, c_.width}, normal(initial_deviation));
    ValueId x = g.apply("add", "embed", {g.apply("embedding", "wte", {table, tokens}), positions});
    x = drop("embed.dropout", x);
    for (std::int64_t i = 0; i < c_.layers; ++i) x = block(fmt::format("block{}", i), x);
    x = add_layer_norm(g, "ln_f", x);
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

  ValueId block(const std::string& name, ValueId x) {
    Graph& g = model_.graph;
    ValueId a = add_layer_norm(g, name + ".ln1", x);
    a = attention(name + ".attn", add_linear(g, name + ".attn.qkv", a, 3 * c_.width, normal(initial_deviation)));
    a = drop(name + ".attn.dropout", add_linear(g, name + ".attn.proj", a, c_.width, residual()));
    x = g.apply("add", name + ".attn.residual", {x, a});
    ValueId m = add_layer_norm(g, name + ".ln2", x);
    m = add_linear(g, name + ".mlp.up", m, 4 * c_.width, normal(initial_deviation));
    m = g.apply("gelu", name + ".mlp.gelu", {m});
    m = drop(name + ".mlp.dropout", add_linear(g, name + ".mlp.down", m, c_.width, residual()));
    return g.apply("add", name + ".mlp.residual", {x, m});
  }

  ValueId attention(const std::string& name, ValueId qkv) {
    Graph& g = model_.graph;
    if (c_.attention == "fused")
      return g.apply("attention", name, {qkv},
                     {{"heads", c_.heads}, {"causal", true}, {"rate", dropout_}, {"keep_probabilities", training_}});
    const NodeId split = g.add_node("split_heads", name + ".heads", {qkv}, {{"heads", c_.heads}, {"parts", std::int64_t{3}}});
    const std::vector<ValueId> part = g.node(split).outputs;
    const double scale = 1.0 / math::sqrt(static_cast<double>(c_.width / c_.heads));
    ValueId s = g.apply("matmul", name + ".scores", {part[0], part[1]}, {{"trans_b", true}});
    s = g.apply("scale", name + ".scale", {s}, {{"factor", scale}});
    s = g.apply("causal_mask", name + ".mask", {s});
    s = drop(name + ".probs.dropout", g.apply("softmax", name + ".softmax", {s}));
    return g.apply("join_heads", name + ".join", {g.apply("matmul", name + ".values", {s, part[2]})});
  }

  const GptConfig& c_;
  std::int64_t batch_;
  double dropout_;
  bool training_;
  Model model_;
};

}  // namespace

Model build_gpt(const GptConfig& config, std::int64_t batch, bool training) {
  check(config);
  return Builder(config, batch, training).build();
}

}  // namespace ulpscope::engine
