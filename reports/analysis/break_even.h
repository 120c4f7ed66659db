// From which batch on a mode is faster than fp32: run files that differ in the batch alone, side by side.
//
// Step times are those of the time report (time.h). A mode is faster or slower at a batch where the medians differ by more than twice the
// noise, which is the root of the sum of the squares of both spreads; a spread is the distance of the quartiles ÷ 1.349, the standard
// deviation of a normal distribution.
//
// Between two neighbouring batches at which the median changes from slower to faster, the break-even is where the straight line through
// both differences crosses zero: step times grow about linearly with the batch. It is *inferred*. Its range goes from the greatest batch
// below it at which the mode is slower to the least one above it at which it is faster; without either there is no break-even.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/time.h"

namespace ulpscope::reports {

enum class AgainstFp32 : std::uint8_t { faster, slower, undecided, emulated, invalid, unknown };
std::string_view name(AgainstFp32 value);

struct BreakEvenPoint {
  std::string file{};
  std::int64_t batch = 0;   ///< examples of a step: batch x micro-batches
  Figure reference{};       ///< seconds of fp32's step
  Figure seconds{};         ///< of this mode's
  Number speed{};           ///< reference ÷ seconds
  Number noise{};           ///< seconds
  AgainstFp32 verdict = AgainstFp32::unknown;
  Number busy{};            ///< share of the fp32 step with a kernel at work on the GPU; unknown without a trace
};

struct BreakEvenMode {
  std::string mode{};
  std::vector<BreakEvenPoint> points{};   ///< by batch
  Figure batch{};                         ///< inferred; low and high are batches that were measured
  std::string text{};                     ///< what can be said, in words
  /// Greatest batch at which the mode is not faster and the GPU waits for launches: there is no reason of speed to leave fp32 or tf32.
  std::optional<std::int64_t> launch_bound_up_to{};
};

struct BreakEven {
  std::string experiment{};
  std::string device{};
  std::vector<BreakEvenMode> modes{};   ///< all but fp32
  std::vector<std::string> notes{};
};

/// Throws UsageError for fewer than two reports, for the same batch twice, and for runs that differ in more than the batch, naming the files
/// and what differs.
BreakEven break_even(const std::vector<TimeReport>& reports);

}  // namespace ulpscope::reports
