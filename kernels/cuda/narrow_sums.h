// Sums in the format and order that a launch asks for, of whatever the reductions add up: a block for each.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/narrow_team.h"
#include "kernels/cuda/observation.h"

namespace ulpscope::cuda {

enum class NarrowTerm : std::uint8_t { value, square, squared_difference, absolute_difference, bce_with_logits };
/// What becomes of a sum: nothing; the mean of its addends; its square root, rounded as the sum.
enum class NarrowResult : std::uint8_t { sum, mean, root };

struct NarrowSums {
  DeviceView a, b;                       ///< b: of terms that take pairs
  NarrowTerm term = NarrowTerm::value;
  std::int64_t sums = 1, length = 0;
  std::int64_t sum_step = 0, item_step = 1;   ///< addend k of sum s is element s * sum_step + k * item_step
  /// Not null: sum s belongs to a row and a column of a table of so many columns; its addends are in the rows
  /// position[start[row]] … position[start[row + 1] - 1] of a.
  const std::int64_t* start = nullptr;
  const std::int64_t* position = nullptr;
  std::int64_t columns = 0;
  NarrowResult result = NarrowResult::sum;
  float* to = nullptr;                   ///< not null: results are written here
  Result write;                          ///< else here
};

/// Whether a launch that computes in T asks for narrow sums.
template <class T>
bool is_narrow(const Launch& launch) {
  return sizeof(T) == sizeof(float) && !launch.arithmetic.standard();
}
/// Bytes of workspace of run_narrow_sums, at its begin.
inline constexpr std::size_t narrow_workspace = inner_bytes;

void launch_narrow_sums(const Launch& launch, const NarrowSums& sums, DeviceInner* inner);
/// Into the first output, seen as y, with all that is counted.
void run_narrow_sums(const Launch& launch, NarrowSums sums, const View& y, const CountUnits& units);

}  // namespace ulpscope::cuda
