#include "kernels/arithmetic.h"

#include <cstddef>
#include <iterator>

namespace ulpscope {

const char* name(SumOrder order) {
  switch (order) {
    case SumOrder::tree:
      return "tree";
    case SumOrder::serial:
      return "serial";
    case SumOrder::pairwise:
      return "pairwise";
    case SumOrder::lanes32:
      return "lanes32";
  }
  return "?";
}

std::optional<SumOrder> parse_sum_order(std::string_view text) {
  for (const SumOrder order : {SumOrder::tree, SumOrder::serial, SumOrder::pairwise, SumOrder::lanes32})
    if (text == name(order)) return order;
  return std::nullopt;
}

namespace {
constexpr const char* unit_names[] = {"none", "v100", "turing", "ampere", "ada", "hopper", "blackwell"};
}  // namespace

const char* name(MatrixUnit unit) { return unit_names[static_cast<std::size_t>(unit)]; }

std::optional<MatrixUnit> parse_matrix_unit(std::string_view text) {
  for (std::size_t i = 0; i < std::size(unit_names); ++i)
    if (text == unit_names[i]) return static_cast<MatrixUnit>(i);
  return std::nullopt;
}

}  // namespace ulpscope
