// What an experiment asks to be rewritten in its model so that fewer values leave their format. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ulpscope::engine {

struct Rewrite {
  enum class Kind : std::uint8_t {
    scale_before_product,  ///< matmul(q, k) × f becomes matmul(q × f, k)
    boolean_mask,          ///< scores + mask becomes a fill of the masked positions
    rescale,               ///< what does not fit is computed times `factor`; what reads it gives the factor back
    clamp,                 ///< what lies beyond ±limit becomes ±limit: changes what is computed
  };
  Kind kind = Kind::scale_before_product;
  std::string nodes{};   ///< pattern (*, ?) of node names
  double factor = 0.5;   ///< rescale: a power of two below 1
  double limit = 65504;  ///< clamp: above 0
  std::string where{};   ///< place in the experiment file, for messages
};

/// "scale_before_product", "boolean_mask", "rescale", "clamp".
const char* name(Rewrite::Kind kind);
std::optional<Rewrite::Kind> parse_rewrite(std::string_view name);
const std::vector<std::string>& rewrite_names();

/// 2^k for a whole k.
bool is_power_of_two(double x);

}  // namespace ulpscope::engine
