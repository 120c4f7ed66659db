#include "profiler/cli/text.h"

#include <fmt/format.h>

#include <cmath>

namespace ulpscope::profiler {

std::string scaled_words(double value, const char* unit) {
  constexpr const char* prefixes[] = {"", "k", "M", "G", "T", "P"};
  int prefix = 0;
  while (std::fabs(value) >= 999.5 && prefix < 5) {
    value /= 1000;
    ++prefix;
  }
  if (prefix == 0) return fmt::format("{:.0f} {}", value, unit);
  const int decimals = value < 9.995 ? 2 : value < 99.95 ? 1 : 0;
  return fmt::format("{:.{}f} {}{}", value, decimals, prefixes[prefix], unit);
}

}  // namespace ulpscope::profiler
