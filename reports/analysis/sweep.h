// A shape sweep: one matrix product timed at sizes around the given one, in each mode, on one device.
//
// What the sizes are (remainders, what padding adds) is computed. Whether a size is faster is claimed by this timing alone:
//
//  * In each round every size is timed once, the given one twice. Medians over the rounds are shown.
//  * A greater size is *faster* if it takes less time than the given one although it does more work; a smaller one if it takes less
//    than its share of the work. *Slower* is the mirror image. The differences are paired by round.
//  * Noise is the greatest of: the spread of these differences, the spread of the differences between the two timings of the given size,
//    and their median. Spread is the greater of 1.4826 × the median distance from the median, and the standard deviation without the tenth
//    of the values (one at least) that lies farthest from the median: the first alone does not see a second cluster, as a load that comes
//    and goes makes one.
//  * A difference is claimed if it is more than twice the noise, and if in 90 % of the rounds the size lies on that side of *both* timings
//    of the given size; everything else is *undecided*.
//  * A mode that is carried out in software is *emulated*: nothing is claimed from its times. A time that cannot be true (faster than the
//    hardware; clocks of host and device that disagree) is *invalid*.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "reports/analysis/figure.h"

namespace ulpscope::reports {

/// A difference is claimed above so many times the noise.
inline constexpr double noise_factor = 2.0;
/// Share of the rounds that have to say so, each of them twice.
inline constexpr double least_agreement = 0.90;
/// Rounds that a claim needs at least.
inline constexpr std::int64_t least_rounds = 5;
/// A time is invalid where the device's clock and the host's differ by more than this share of the host's.
inline constexpr double clocks_apart = 0.10;

/// result [rows, columns] = a [rows, inner] x b [inner, columns].
enum class SweepDimension : std::uint8_t { rows, columns, inner };
std::string_view name(SweepDimension dimension);

/// Why the time of a product cannot be true: it is faster than the hardware (peak: TFLOP/s in its format), or the device's clock and the
/// host's differ (medians). Empty: it can. What is unknown says nothing.
std::string why_invalid(Number tflops, Number peak, Number host_seconds, Number device_seconds);

/// What was timed.
struct SweepInput {
  std::string experiment{};
  std::string node{};
  std::string operation{};
  std::string device{};
  std::string device_kind{};
  std::int64_t batch = 1, rows = 0, columns = 0, inner = 0;  ///< as given
  SweepDimension dimension = SweepDimension::columns;
  std::vector<std::int64_t> sizes{};                         ///< of the dimension, ascending, the given one among them

  /// One mode at one size. Seconds are those of one product.
  struct Timing {
    std::int64_t size = 0;
    std::int64_t calls = 1;                 ///< products that a sample is the mean of
    std::vector<double> seconds{};          ///< by round
    std::vector<double> device_seconds{};   ///< by round, between events on the device; empty: it has none
    std::vector<double> again{};            ///< by round: the given size, timed a second time; else empty
    std::string problem{};                  ///< why there is no time
  };
  struct Mode {
    std::string mode{};
    std::string compute_format{};           ///< "fp16", "tf32"
    std::string formats{};                  ///< "fp16, fp16 > fp16"
    Provenance provenance = Provenance::unknown;   ///< of its times: measured or emulated
    std::vector<Timing> timings{};          ///< in the order of `sizes`
  };
  std::vector<Mode> modes{};
};

enum class SweepVerdict : std::uint8_t { given, faster, slower, undecided, emulated, invalid, unknown };
std::string_view name(SweepVerdict verdict);

/// One mode at one size.
struct SweepTime {
  Figure seconds{};      ///< median, spread, quartiles
  Number tflops{};       ///< achieved, 10^12 FLOP/s
  Number of_peak{};      ///< ÷ the device's peak in the format
  /// What is compared with (above) ÷ these seconds, and minus these: paired by round, medians. Above 1 and positive: faster; below 1 and
  /// negative: slower; 1 and 0: neither, it takes no less than the given size's time and no more than its share of the work, or the reverse.
  Number ratio{};
  Number difference{};   ///< seconds
  Number noise{};        ///< seconds
  SweepVerdict verdict = SweepVerdict::unknown;
  std::string why{};     ///< of invalid and unknown
};

struct SweepSize {
  std::int64_t size = 0;
  std::int64_t more = 0;        ///< than the given one; negative: fewer
  Number more_work{};           ///< share of the given size's FLOPs that this adds [computed]
  std::int64_t mod_8 = 0, mod_64 = 0, mod_128 = 0;
  std::vector<SweepTime> times{};   ///< in the order of Sweep::modes
};

struct SweepMode {
  std::string mode{};
  std::string compute_format{};
  std::string formats{};
  Provenance provenance = Provenance::unknown;
};

struct Sweep {
  std::string experiment{}, node{}, operation{}, device{}, device_kind{};
  std::int64_t batch = 1, rows = 0, columns = 0, inner = 0;
  SweepDimension dimension = SweepDimension::columns;
  std::int64_t given = 0;
  Count rounds{};
  std::vector<SweepMode> modes{};
  std::vector<SweepSize> sizes{};
  std::vector<std::string> facts{};   ///< of the sizes [computed]
  struct Claim {
    std::string mode{};
    std::int64_t size = 0;
    std::string text{};
    Provenance provenance = Provenance::measured;
  };
  std::vector<Claim> claims{};        ///< what this timing shows; the greatest ratio first, by mode
  std::vector<std::string> notes{};
};

Sweep sweep_result(const SweepInput& input);

/// Sizes around one: itself, its neighbours, and the nearest multiples of 8, 64 and 128 below and above. Ascending, all above 0.
std::vector<std::int64_t> sizes_around(std::int64_t given);

}  // namespace ulpscope::reports
