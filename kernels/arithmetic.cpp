#include "kernels/arithmetic.h"

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

}  // namespace ulpscope
