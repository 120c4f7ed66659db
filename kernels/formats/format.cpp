#include "kernels/formats/format.h"

#include <array>
#include <limits>

namespace ulpscope {
namespace {

constexpr double infinite = std::numeric_limits<double>::infinity();

// In the order of the enumeration. Overflow: for the fp32 values that are rounded; e4m3 rounds 464 to 448 (tie to
// even), so its threshold is the fp32 number after 464. Flush: half the least subnormal, a tie with zero, which is
// even.
constexpr std::array<FormatInfo, format_count> table{{
    {"fp32", 8, 23, 127, 4, true, 0x1.fffffep127, 0x1p-126, 0x1p-149, 0x1p-24, 0x1.ffffffp127, 0x1p-150},
    {"tf32", 8, 10, 127, 4, true, 0x1.ffcp127, 0x1p-126, 0x1p-136, 0x1p-11, 0x1.ffep127, 0x1p-137},
    {"fp16", 5, 10, 15, 2, true, 65504.0, 0x1p-14, 0x1p-24, 0x1p-11, 65520.0, 0x1p-25},
    {"bf16", 8, 7, 127, 2, true, 0x1.fep127, 0x1p-126, 0x1p-133, 0x1p-8, 0x1.ffp127, 0x1p-134},
    {"fp8_e4m3", 4, 3, 7, 1, false, 448.0, 0x1p-6, 0x1p-9, 0x1p-4, 464.0 + 0x1p-15, 0x1p-10},
    {"fp8_e5m2", 5, 2, 15, 1, true, 57344.0, 0x1p-14, 0x1p-16, 0x1p-3, 61440.0, 0x1p-17},
    // 2^1024 - 2^970 and 2^-1075 are no doubles: "from infinity on" and "only zero" say what a double can say.
    {"fp64", 11, 52, 1023, 8, true, std::numeric_limits<double>::max(), 0x1p-1022, 0x1p-1074, 0x1p-53, infinite, 0.0},
    {"i32", 0, 31, 0, 4, false, 2147483647.0, 1.0, 1.0, 0.0, 2147483648.0, 0.0},
}};

}  // namespace

const FormatInfo& info(Format format) { return table[static_cast<std::size_t>(format)]; }

std::optional<Format> parse_format(std::string_view name) {
  for (std::size_t i = 0; i < table.size(); ++i)
    if (name == table[i].name) return static_cast<Format>(i);
  return std::nullopt;
}

}  // namespace ulpscope
