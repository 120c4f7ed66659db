// Attention of the models: one operator of autocast's lower list, or composed of its parts.
#include <limits>

#include "engine/models/builders.h"
#include "kernels/math/elementary.h"

namespace ulpscope::engine {
namespace {

ValueId reshape(Graph& g, const std::string& name, ValueId x, const Shape& shape) {
  if (g.value(x).shape == shape) return x;
  return g.apply("reshape", name, {x}, {{"shape", std::vector<std::int64_t>(shape.dim.begin(), shape.dim.begin() + shape.rank)}});
}

/// [B, T, heads * D] → [B, heads, T, D].
ValueId heads_of(Graph& g, const std::string& name, ValueId x, std::int64_t heads) {
  return g.apply("split_heads", name, {x}, {{"heads", heads}, {"parts", std::int64_t{1}}});
}

/// Heads of q that share one of k and v are rows of one matrix: nothing is repeated.
ValueId composed(Graph& g, const std::string& name, ValueId q, ValueId k, ValueId v, const AttentionOptions& o) {
  ValueId rows = heads_of(g, name + ".q", q, o.heads);
  const Shape heads = g.value(rows).shape;   // [B, H, T, D]
  const Shape grouped{heads[0], o.kv_heads, heads[1] / o.kv_heads * heads[2], heads[3]};
  const std::int64_t time = heads[2];
  rows = reshape(g, name + ".q.grouped", rows, grouped);
  ValueId s = g.apply("matmul", name + ".scores", {rows, heads_of(g, name + ".k", k, o.kv_heads)}, {{"trans_b", true}});
  s = reshape(g, name + ".scores.heads", s, Shape{heads[0], heads[1], time, time});
  s = g.apply("scale", name + ".scale", {s}, {{"factor", 1.0 / math::sqrt(static_cast<double>(heads[3]))}});
  if (o.causal) s = g.apply("causal_mask", name + ".mask", {s});
  if (o.hidden) {
    const ValueId hidden = reshape(g, name + ".hidden", o.hidden, Shape{heads[0], 1, 1, time});
    s = g.apply("masked_fill", name + ".padding", {s, hidden}, {{"value", -std::numeric_limits<double>::infinity()}});
  }
  s = g.apply("softmax", name + ".softmax", {s});
  if (o.dropout > 0.0) s = g.apply("dropout", name + ".probs.dropout", {s}, {{"rate", o.dropout}});
  s = reshape(g, name + ".probs.grouped", s, Shape{grouped[0], grouped[1], grouped[2], time});
  const ValueId y = g.apply("matmul", name + ".values", {s, heads_of(g, name + ".v", v, o.kv_heads)});
  return g.apply("join_heads", name + ".join", {reshape(g, name + ".values.heads", y, heads)});
}

}  // namespace

ValueId add_attention(Graph& g, const std::string& name, ValueId q, ValueId k, ValueId v, const AttentionOptions& o) {
  if (!o.fused) return composed(g, name, q, k, v, o);
  std::vector<ValueId> in{q, k, v};
  Attributes attributes{{"heads", o.heads},
                        {"kv_heads", o.kv_heads},
                        {"causal", o.causal},
                        {"rate", o.dropout},
                        {"keep_probabilities", o.training}};
  if (o.visible) {
    in.push_back(o.visible);
    attributes.set("key_mask", true);
  }
  return g.apply("attention", name, std::move(in), std::move(attributes));
}

}  // namespace ulpscope::engine
