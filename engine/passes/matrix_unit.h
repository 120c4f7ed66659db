// Products with the sums of a GPU generation's matrix units, emulated on the CPU (kernels/tensor_core). A pass over the complete
// step: which products it concerns is decided by the formats they multiply.
#pragma once

#include <string>
#include <vector>

#include "engine/graph/graph.h"

namespace ulpscope::engine {

/// Every product whose operands the unit multiplies gets its sums; a product of narrow operands that it does not multiply keeps plain
/// fp32 sums, and says so. none: nothing.
void set_matrix_unit(Graph& graph, MatrixUnit unit);

/// What became of a step's products.
struct MatrixUnitUse {
  MatrixUnit unit = MatrixUnit::none;
  std::int32_t products = 0;            ///< nodes
  std::int32_t of_unit = 0;             ///< with the unit's sums
  std::int32_t narrow = 0;              ///< others whose operands are narrower than fp32
  std::vector<std::string> rules;       ///< "fp16: blocks of 16, 25 fraction bits, toward zero fp32 (evidence: data)"
  std::vector<std::string> narrow_formats;   ///< "bf16"
};
MatrixUnitUse matrix_unit_use(const Graph& graph, MatrixUnit unit);

/// In words, a line each: how many products, by which rule, what is assumed. Empty for none.
std::vector<std::string> words(const MatrixUnitUse& use);

}  // namespace ulpscope::engine
