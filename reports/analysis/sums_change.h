// What the sums of a generation's matrix units change in a model's numbers, and whether it matters: runs with emulated sums (sums.h)
// against the same mode with plain sums, and against other generations'.
//
// It matters if the loss, paired by seed, lies beyond the noise between fp32 seeds (verdict.h); under 3 seeds of either that is undecided.
#pragma once

#include <string>
#include <vector>

#include "reports/analysis/figure.h"
#include "reports/analysis/verdict.h"
#include "reports/run_file/reader.h"

namespace ulpscope::reports {

struct ModeResult;

struct SumsChange {
  std::string tag{};              ///< of the setting
  std::string mode{};             ///< "fp16@hopper"
  std::string against{};          ///< "fp16", with plain sums, or "fp16@ampere"
  std::string metric{};           ///< "held-out loss", "final loss"
  Judgement judgement{};
  Figure loss{};                  ///< mean difference by seed, its 95 % interval, spread: between fp32 seeds
  Figure gradient_norm{};         ///< mean over the steps that both applied of difference ÷ the other's; over seeds with its 95 % interval
  Figure first_gradient_norm{};   ///< the same of the first step, whose weights are the same: greatest over the seeds, in size
  Figure skipped{};               ///< steps, all seeds of the pairs together
  Figure skipped_against{};
  std::optional<std::int64_t> differs_from{};  ///< first step whose loss has other bits, the least of the seeds
  Number first_ulps{};            ///< there, in ulps of fp32
  Number greatest_ulps{};
  std::optional<std::int64_t> other_skips{};   ///< first step that one alone skipped, the least of the seeds
};

/// Of every mode with emulated sums. modes: of a comparison, with their runs.
std::vector<SumsChange> sums_changes(const std::vector<const RunFileReader*>& readers, const std::vector<ModeResult>& modes);

}  // namespace ulpscope::reports
