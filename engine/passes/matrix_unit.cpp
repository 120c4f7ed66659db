#include "engine/passes/matrix_unit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "engine/graph/operator.h"
#include "kernels/tensor_core/units.h"

namespace ulpscope::engine {
namespace {

bool is_product(const Node& node) { return node.op->product && node.op->launches; }

/// The formats that are multiplied with each other. A bias is added to the sums, not multiplied.
std::vector<Format> multiplied(const Graph& graph, const Node& node) {
  const bool attention = node.op->name.starts_with("attention");
  std::vector<Format> formats;
  for (const ValueId id : node.inputs) {
    const Format format = graph.value(id).format;
    if (is_float(format) && (attention || formats.size() < 2)) formats.push_back(tensor_core::seen_as(format, node.multiply));
  }
  return formats;
}

/// The format of all of them; fp32 if they differ and none is asked for.
Format multiplied_as(const Graph& graph, const Node& node) {
  const std::vector<Format> formats = multiplied(graph, node);
  if (formats.empty()) return Format::fp32;
  const bool alike = std::all_of(formats.begin(), formats.end(), [&](Format f) { return f == formats.front(); });
  return alike ? formats.front() : node.multiply;
}

bool narrow(Format format) { return format != Format::fp32 && format != Format::fp64; }

template <class T>
void add_once(std::vector<T>& list, T item) {
  if (std::find(list.begin(), list.end(), item) == list.end()) list.push_back(std::move(item));
}

}  // namespace

void set_matrix_unit(Graph& graph, MatrixUnit unit) {
  if (unit == MatrixUnit::none) return;
  for (std::int32_t n = 0; n < graph.node_count(); ++n) {
    Node& node = graph.node(NodeId{n});
    if (!is_product(node)) continue;
    const Format format = multiplied_as(graph, node);
    if (!narrow(format)) continue;
    const bool known = tensor_core::rule_of(unit, format) != nullptr;
    if (known) node.arithmetic.unit = unit;
    node.why += known ? fmt::format("; {} sums as on {}, emulated", name(format), name(unit))
                      : fmt::format("; plain fp32 sums: {} has no matrix units for {}", name(unit), name(format));
  }
}

MatrixUnitUse matrix_unit_use(const Graph& graph, MatrixUnit unit) {
  MatrixUnitUse use{.unit = unit, .rules = {}, .narrow_formats = {}};
  for (const Node& node : graph.nodes()) {
    if (!is_product(node)) continue;
    ++use.products;
    const Format format = multiplied_as(graph, node);
    if (!narrow(format)) continue;
    const tensor_core::Unit* row = node.arithmetic.unit == MatrixUnit::none ? nullptr : tensor_core::find_unit(unit, format);
    if (row == nullptr) {
      ++use.narrow;
      add_once(use.narrow_formats, std::string(name(format)));
      continue;
    }
    ++use.of_unit;
    add_once(use.rules, fmt::format("{}: {} (evidence: {})", name(format), tensor_core::words(row->rule), tensor_core::name(row->evidence)));
  }
  return use;
}

std::vector<std::string> words(const MatrixUnitUse& use) {
  if (use.unit == MatrixUnit::none) return {};
  std::vector<std::string> lines;
  if (use.of_unit > 0) {
    lines.push_back(fmt::format("{} of {} products have the sums of {}'s matrix units, emulated: {}", use.of_unit, use.products,
                                name(use.unit), fmt::join(use.rules, "; ")));
    lines.emplace_back("assumed: k ascends in one accumulator, without split-K; what a library's kernel does may differ in this");
  }
  if (use.narrow > 0)
    lines.push_back(fmt::format("{} of {} products are of {} and keep plain fp32 sums: {} has no matrix units for it", use.narrow,
                                use.products, fmt::join(use.narrow_formats, ", "), name(use.unit)));
  if (use.of_unit == 0 && use.narrow == 0)
    lines.push_back(fmt::format("no product is multiplied by {}'s matrix units: all have fp32 operands and plain fp32 sums", name(use.unit)));
  return lines;
}

}  // namespace ulpscope::engine
