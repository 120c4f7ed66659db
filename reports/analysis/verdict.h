// The judgement of a mode against fp32. Timid: where the evidence does not carry a verdict, the answer is "undecided".
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "reports/run_file/values.h"

namespace ulpscope::reports {

enum class Verdict : std::uint8_t { reference, inside, better, worse, undecided };
std::string_view name(Verdict verdict);

/// One seed under both modes: a loss, lower is better.
struct SeedPair {
  std::int64_t seed = 0;
  double reference = 0.0;
  double mode = 0.0;
};

/// A verdict needs this many seeds under both modes.
inline constexpr int least_pairs = 3;

struct Judgement {
  Verdict verdict = Verdict::undecided;
  std::string reason{};  ///< in words, without the mode's name and a full stop
  int pairs = 0;
  Number difference{};  ///< mean of mode − fp32, paired by seed
  Number low{};         ///< 95 % Student-t interval of it; unknown under two pairs or if a loss is not finite
  Number high{};
  Number reference_spread{};  ///< standard deviation between the fp32 seeds
};

/// `reference` holds the losses of all fp32 seeds, `metric` names the loss in the reason ("held-out loss").
///
/// inside: the interval lies within ±1 standard deviation between fp32 seeds (ends included); better or worse: it lies
/// wholly below or above that band; undecided: neither, or fewer than three pairs. Losses that are not finite: worse if
/// fp32 is finite under every seed and the mode under none, undecided otherwise.
/// `against` names what the pairs are held against, if that is not fp32; the band is that of `reference` all the same.
Judgement judge(const std::vector<SeedPair>& pairs, const std::vector<double>& reference, std::string_view metric,
                std::string_view against = "fp32");

}  // namespace ulpscope::reports
