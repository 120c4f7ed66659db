// From which batch on a mode is faster than fp32: run files that differ in the batch alone, side by side.
//
// Step times are those of the time report (time.h). A mode is faster or slower at a batch where the medians differ by more than twice the
// noise, which is the root of the sum of the squares of both spreads; a spread is the distance of the quartiles ÷ 1.349, the standard
// deviation of a normal distribution.
//
// Between two batches that are decided one way and the other, with none but undecided ones in between, the mode changes sides: a crossing.
// It is where the straight line through the differences of the two neighbours between which the median changes sign crosses zero: step
// times grow about linearly with the batch. It is *inferred*, and its range goes from the one decided batch to the other. Where there is
// one crossing, from slower to faster, it is the break-even: the lower end of its range is the greatest batch at which the mode is slower.
// Several crossings are listed, and none of them is the break-even.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/time.h"

namespace ulpscope::reports {

enum class AgainstFp32 : std::uint8_t { faster, slower, undecided, emulated, invalid, unknown };
std::string_view name(AgainstFp32 value);

/// Steps of a mode whose spread is taken for its noise, at least.
inline constexpr std::int64_t fewest_steps = 5;

struct BreakEvenPoint {
  std::string file{};
  std::int64_t batch = 0;   ///< examples of a step: batch x micro-batches
  Figure reference{};       ///< seconds of fp32's step
  Figure seconds{};         ///< of this mode's
  Figure speed{};           ///< reference ÷ seconds; emulated where one of them is
  Number noise{};           ///< seconds
  AgainstFp32 verdict = AgainstFp32::unknown;
  std::string why{};        ///< it is unknown although there are two times
  Number busy{};            ///< share of the fp32 step with a kernel at work on the GPU; unknown without a trace
};

struct BreakEvenCrossing {
  Figure batch{};                           ///< inferred; low and high are batches that were measured
  AgainstFp32 to = AgainstFp32::unknown;    ///< what the mode is from there on: faster or slower
};

struct BreakEvenMode {
  std::string mode{};
  std::vector<BreakEvenPoint> points{};   ///< by batch
  std::vector<BreakEvenCrossing> crossings{};   ///< by batch
  Figure batch{};                         ///< of the one crossing there is, if it is to faster
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
