#include "engine/passes/overrides.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "engine/graph/operator.h"
#include "engine/passes/pattern.h"
#include "kernels/error.h"
#include "kernels/nearest.h"

namespace ulpscope::engine {
namespace {

std::string placed(const Override& o) { return o.where.empty() ? "override: " : fmt::format("{}: [[override]] ", o.where); }

std::string words(const OverrideFormat& f) { return f.lower ? "lower" : name(f.format); }

/// "accumulate = "fp16", order = "serial"".
std::string arithmetic_words(const Override& o) {
  std::vector<std::string> list;
  if (o.accumulate) list.push_back(fmt::format("accumulate = \"{}\"", words(*o.accumulate)));
  if (o.order) list.push_back(fmt::format("order = \"{}\"", name(*o.order)));
  if (o.scalar) list.push_back(fmt::format("scalar = \"{}\"", words(*o.scalar)));
  return fmt::format("{}", fmt::join(list, ", "));
}

bool asks_arithmetic(const Override& o) { return o.accumulate || o.order || o.scalar; }

bool means(const Override& o, const Graph& graph, const Node& node) {
  return matches(o.nodes, node.name) || (node.of && matches(o.nodes, graph.node(node.of).name));
}

[[noreturn]] void refuse_pattern(const Graph& graph, const Override& o, const char* what) {
  std::vector<std::string> names;
  for (const Node& node : graph.nodes()) names.push_back(node.name);
  throw UsageError(fmt::format("{}nodes = \"{}\" matches no node{}; the nearest is '{}', `ulpscope plan` lists them all",
                               placed(o), o.nodes, what, nearest(o.nodes, names)));
}

[[noreturn]] void refuse_operators(const Override& o, const Node& meant) {
  std::vector<std::string> sums;
  for (const std::string& name : operators().names()) {
    const Operator& op = operators().find(name);
    if (o.scalar ? op.keeps_mean : op.keeps_sum) sums.push_back(name);
  }
  throw UsageError(fmt::format("{}{}: '{}' ({}) keeps no {} that could be told so. Operators that do: {}", placed(o),
                               arithmetic_words(o), meant.name, meant.op->name, o.scalar ? "mean" : "sum",
                               fmt::join(sums, ", ")));
}

/// Whether the operator can do all that is asked.
bool honours(const Override& o, const Operator& op) {
  return (!o.scalar || op.keeps_mean) && (!(o.accumulate || o.order) || op.keeps_sum);
}

}  // namespace

const Override* find_override(const std::vector<Override>& overrides, const std::string& node,
                              std::optional<OverrideFormat> Override::*member) {
  for (auto o = overrides.rbegin(); o != overrides.rend(); ++o)
    if ((*o).*member && matches(o->nodes, node)) return &*o;
  return nullptr;
}

void check_overrides(const Graph& forward, const std::vector<Override>& overrides) {
  for (const Override& o : overrides) {
    if (!o.output && !o.compute) continue;
    bool any = false;
    for (const Node& node : forward.nodes()) any = any || matches(o.nodes, node.name);
    if (!any) refuse_pattern(forward, o, " of the forward pass");
  }
}

void set_arithmetic(Graph& graph, const std::vector<Override>& overrides, const Mode& mode, bool check) {
  for (const Override& o : overrides) {
    if (!asks_arithmetic(o)) continue;
    std::vector<const Node*> meant;
    bool done = false;
    for (std::int32_t n = 0; n < graph.node_count(); ++n) {
      Node& node = graph.node(NodeId{n});
      if (!means(o, graph, node)) continue;
      meant.push_back(&node);
      if (!honours(o, *node.op)) continue;
      done = true;
      const Arithmetic before = node.arithmetic;
      if (o.accumulate) node.arithmetic.accumulate = o.accumulate->in(mode);
      if (o.order) node.arithmetic.order = *o.order;
      if (o.scalar) node.arithmetic.scalar = o.scalar->in(mode);
      if (!node.arithmetic.standard() || !before.standard())
        node.why += fmt::format("; override: {} by '{}'", arithmetic_words(o), o.nodes);
    }
    if (done || !check) continue;
    if (meant.empty()) refuse_pattern(graph, o, "");
    refuse_operators(o, *meant.front());
  }
}

std::vector<std::string> non_standard_words(const std::vector<Override>& overrides) {
  std::vector<std::string> list;
  for (const Override& o : overrides)
    if (asks_arithmetic(o)) list.push_back(fmt::format("override of '{}': {}", o.nodes, arithmetic_words(o)));
  return list;
}

}  // namespace ulpscope::engine
