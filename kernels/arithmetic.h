// How a reduction adds up, where an experiment asks for something else than the default: the format of every partial sum,
// the order of the additions, the format of the numbers derived from the sum. Non-standard: faults of other programs are
// reproduced with it. Kernels that honour it say so in ops/catalogue.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "kernels/formats/format.h"
#include "kernels/portable.h"

namespace ulpscope {

enum class SumOrder : std::uint8_t {
  tree,      ///< math/reduction_tree.h
  serial,    ///< one element after the other, in ascending order
  pairwise,  ///< neighbours, level by level; an odd one is carried to the next level
  lanes32,   ///< 32 lanes, lane l adds the elements i ≡ l (mod 32) in ascending order; then folded by halving
};

/// Products on the CPU: the matrix unit whose sums they are computed with (kernels/tensor_core). none: plain fp32 sums.
enum class MatrixUnit : std::uint8_t { none, v100, turing, ampere, ada, hopper, blackwell };

struct Arithmetic {
  Format accumulate = Format::fp32;  ///< every addend and every partial sum is rounded to it: fp32, fp16 or bf16
  SumOrder order = SumOrder::tree;
  Format scalar = Format::fp32;      ///< a mean's sum and count are rounded to it before they are divided
  MatrixUnit unit = MatrixUnit::none;  ///< of products whose operands it multiplies; the others' sums are plain

  /// Of reductions: a product's unit is not asked for.
  ULPSCOPE_MEMBER bool standard() const {
    return accumulate == Format::fp32 && order == SumOrder::tree && scalar == Format::fp32;
  }
};

const char* name(SumOrder order);
/// "tree", "serial", "pairwise", "lanes32"; nothing if the name is not known.
std::optional<SumOrder> parse_sum_order(std::string_view name);

const char* name(MatrixUnit unit);
/// "none", "v100", "turing", "ampere", "ada", "hopper", "blackwell"; nothing if the name is not known.
std::optional<MatrixUnit> parse_matrix_unit(std::string_view name);

}  // namespace ulpscope
