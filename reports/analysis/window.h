// The loss-scale window: between the scale that loses too much of the gradients below the range and the one at which they overflow.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/diagnosis/evidence.h"
#include "reports/run_file/reader.h"

namespace ulpscope::reports {

/// Scales that suit one layer, in every observed step. Powers of two.
struct LayerWindow {
  std::string layer{};          ///< prefix of node names
  Number lowest{};              ///< keeps the share that is flushed to zero within bounds; none: there is nothing to lose. Infinite: no scale does
  Number highest{};             ///< at which nothing overflows; none: every scale. 0: no scale is low enough
  std::string lowest_tensor{};  ///< that loses most at half the lowest scale
  std::string highest_tensor{}; ///< that overflows first
  std::optional<std::int64_t> lowest_step{}, highest_step{};   ///< iterations that decide
  /// Some of its gradients were finite in no observed step: the two above are the bounds of what is known, the true window may be narrower on
  /// either side; a bound that is missing is unknown.
  bool blind = false;
  std::string blind_tensor{};   ///< the first of them
  Number flushed{};             ///< share lost at the scale in force, latest step
  /// The greatest share over all steps, were each at the scale in force in the latest: within bounds exactly where that scale is not
  /// below the lowest.
  Number flushed_most{};
  std::optional<std::int64_t> flushed_most_step{};

  bool open() const { return !lowest || !highest || *lowest <= *highest; }
};

struct LossScaleWindow {
  double share = 0.01;                ///< that may be flushed
  std::vector<LayerWindow> layers{};  ///< narrowest first
  LayerWindow model{};                ///< what suits all of them; its layer is empty
  LayerWindow latest{};               ///< what suits all of them in the latest of the steps alone
  std::string lowest_layer{}, highest_layer{};   ///< which decide
  Number scale{};                     ///< in force in the latest of the steps
  std::vector<std::int64_t> steps{};  ///< iterations it rests on
  /// Computed from what was counted in the run itself (what an earlier result lost is not seen), or recomputed, in an fp32 shadow.
  Provenance provenance = Provenance::computed;

  /// A single scale suits the whole model.
  bool exists() const { return model.open(); }
};

/// From the exponent histograms of the gradients in the observed steps, divided by the step's loss scale; where an fp32 shadow was
/// run, from that. Only what is stored in a format of a narrow range (fp16, fp8) counts. Nothing if there is no such gradient,
/// or none was observed.
std::optional<LossScaleWindow> scale_window(const RunFileReader& reader, const Evidence& evidence, double share = 0.01);

}  // namespace ulpscope::reports
