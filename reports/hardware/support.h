// What a precision mode is on a GPU: by the hardware it has, never by what a framework's query says (PyTorch's is_bf16_supported counts
// emulation: it is true on T4 and V100).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/hardware/gpu.h"

namespace ulpscope::reports {

enum class Support : std::uint8_t {
  native,     ///< the matrix units compute it
  no_gain,    ///< they do, at fp32's rate: tf32 where products with fp32 sums are halved. An error, and no speed
  no_effect,  ///< tf32 below 8.0: runs as fp32, no error and no speed
  emulated,   ///< the format's numbers through fp32, not its speed; never recommended
  absent,     ///< cannot be run
  unknown,    ///< nothing says so: a format that no rate is of; fp16 of capability 7.5, or with an fp16_vector, where no fp16 rate is given
};
std::string_view name(Support support);  ///< "native", "no gain" …

struct ModeSupport {
  Support support = Support::unknown;
  std::string why{};      ///< in words
  Rate rate = Rate::fp32; ///< of its products
  Number peak{};          ///< of it, TFLOP/s; unknown where nothing is
};

/// A peak in tf32 (or 16 bits) that is not this much above fp32's is no gain.
inline constexpr double least_gain = 1.05;

/// mode: a name of DESIGN's table, or fp8. `unknown` for another.
ModeSupport how_it_runs(const Gpu& gpu, std::string_view mode);
/// What a product in this format (of the plan's compute_format) runs at there.
ModeSupport product_support(const Gpu& gpu, std::string_view format);

/// fp32, tf32, fp16, bf16, fp16+tf32, bf16+tf32, fp16_pure, bf16_pure, fp8.
const std::vector<std::string>& known_modes();

}  // namespace ulpscope::reports
