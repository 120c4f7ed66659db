// What rewrites share: a graph that is copied node by node, with some nodes replaced on the way; who reads a value.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/passes/rewrite.h"

namespace ulpscope::engine {

/// A node and which of its inputs it is.
struct Reader {
  const Node* node = nullptr;
  std::size_t input = 0;
};
std::vector<Reader> readers_of(const Graph& graph, ValueId value);
/// reshape, flatten, split_heads, join_heads: the same numbers under another shape or in another order.
bool only_moves(const Node& node);
/// A constant that holds a single number, and that number; nothing if it is drawn or has several.
std::optional<double> single_constant(const Graph& graph, ValueId value);

/// "gpt.toml:12: [[rewrite]] scale_before_product: 'attn.scores' (matmul): reason", as UsageError.
[[noreturn]] void refuse_rewrite(const Rewrite& rewrite, const Node& node, const std::string& reason);

class GraphCopy {
 public:
  explicit GraphCopy(const Graph& from) : from_(from), map_(static_cast<std::size_t>(from.value_count())) {}

  const Graph& from() const { return from_; }
  Graph& to() { return to_; }
  ValueId now(ValueId old) const { return map_.at(static_cast<std::size_t>(old.index)); }
  void set(ValueId old, ValueId now) { map_.at(static_cast<std::size_t>(old.index)) = now; }
  std::vector<ValueId> inputs(const Node& node) const;

  /// Appends the node with these inputs; its outputs take the place of the old ones.
  NodeId add(const Node& node, std::vector<ValueId> inputs);
  /// A node that was not there. Returns its output.
  ValueId insert(std::string_view op, const std::string& name, std::vector<ValueId> inputs, Attributes attributes);

  /// Values without a producer first, then node by node. replace: by name of a node, what is done instead of copying it.
  using Work = std::function<void(GraphCopy&, const Node&)>;
  Graph run(const std::map<std::string, Work>& replace, std::vector<ValueId>& map);

 private:
  const Graph& from_;
  Graph to_;
  std::vector<ValueId> map_;
};

/// The same graph without constants that nothing reads any more: they had readers in `before`. `map` leads on to the new ids.
Graph without_unread_constants(const Graph& graph, const Graph& before, std::vector<ValueId>& map);

/// Replacements that a rewrite of this node asks for, added to `work`; they may concern other nodes, too.
using Replacements = std::map<std::string, GraphCopy::Work>;
void scale_before_product(const Graph& graph, const Node& node, const Rewrite& rewrite, Replacements& work);
void boolean_mask(const Graph& graph, const Node& node, const Rewrite& rewrite, Replacements& work);
void rescale(const Graph& graph, const Node& node, const Rewrite& rewrite, Replacements& work);
void clamp(const Graph& graph, const Node& node, const Rewrite& rewrite, Replacements& work);
/// Those whose one result may be clamped.
const std::vector<std::string>& clamp_operators();

}  // namespace ulpscope::engine
