// What lies beyond ±limit becomes ±limit, an infinity too. Not exact: what was cut off is lost, and has no gradient.
#include <fmt/format.h>

#include <cmath>

#include "engine/graph/operator.h"
#include "engine/passes/rewrite_copy.h"

namespace ulpscope::engine {

const std::vector<std::string>& clamp_operators() {
  static const std::vector<std::string> names{"linear", "matmul", "conv1d", "conv2d", "add",     "sub",  "mul",       "div",  "scale",
                                              "exp",    "relu",   "gelu",   "silu",   "dropout", "sqrt", "gelu_tanh", "sum",  "mean"};
  return names;
}

void clamp(const Graph& graph, const Node& node, const Rewrite& rewrite, Replacements& work) {
  if (!(rewrite.limit > 0.0) || !std::isfinite(rewrite.limit))
    refuse_rewrite(rewrite, node, fmt::format("limit = {:g}: it must be above 0 and finite", rewrite.limit));
  if (readers_of(graph, node.outputs.front()).empty())
    refuse_rewrite(rewrite, node, fmt::format("nothing reads '{}'", graph.value(node.outputs.front()).name));
  work[node.name] = [limit = rewrite.limit](GraphCopy& copy, const Node& large) {
    copy.add(large, copy.inputs(large));
    const ValueId before = copy.now(large.outputs.front());
    copy.set(large.outputs.front(), copy.insert("clamp", large.name + ".clamp", {before}, {{"min", -limit}, {"max", limit}}));
  };
}

}  // namespace ulpscope::engine
