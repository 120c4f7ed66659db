// Whether what the loss scaler did is how loss scaling works, or a sign that something else is wrong: skips at the
// beginning against those that were due, later ones against the growth interval, floors and ceilings.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "kernels/scaling/policies.h"
#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/diagnosis/evidence.h"

namespace ulpscope::reports {

/// Skips in a row after which what makes them is no accident any more.
inline constexpr std::int64_t skips_in_a_row = 3;

struct StepStory {
  std::int64_t steps = 0;
  std::int64_t skips = 0;
  std::int64_t applied = 0;
  std::int64_t leading = 0;              ///< skips before the first step that was applied
  std::int64_t later = 0;                ///< skips after it
  std::int64_t trailing = 0;             ///< skips that the run (so far) ends in
  std::int64_t bad_losses = 0;           ///< steps whose loss is not finite
  std::int64_t trailing_bad_losses = 0;  ///< those that the run ends in
  std::int64_t trailing_bad_skips = 0;   ///< of these, skipped ones
  std::int64_t applied_bad_losses = 0;   ///< bad ones whose gradients were finite: the step was applied all the same
  std::optional<std::int64_t> first_bad_loss{};
  std::optional<std::int64_t> first_not_finite{};  ///< gradients
  bool stopped = false;                            ///< gradients that were not finite, or the scaler, ended the run
  bool ran_away = false;                           ///< the loss was finite and ran away
  Number scale_first{}, scale_last{}, scale_least{}, scale_greatest{};

  scaling::Policy policy{};  ///< as recorded; none if the run does not scale its loss
  bool policy_known = false;
  Number interval{};  ///< good steps before the scale grows

  /// Greatest magnitude, unscaled, of what the backward pass stores in a format with a narrow range, and that format's
  /// limit: from observed steps.
  Number greatest_gradient{};
  Number gradient_limit{};
  /// The backward pass was observed in a step in which every magnitude of it is known. What comes after the first tensor
  /// that overflowed is infinite, however large it would be: until then the two above are of the known part alone.
  bool gradient_known = false;
  std::optional<std::int64_t> due{};  ///< skips that bring the first scale to where that gradient fits, at least
  bool halves = true;                 ///< as many as if every skip halved the scale: no other factor, no hysteresis has a part in it
  /// What made the gradients infinite in every observed step of the search, though no loss scale is in it; empty: there is no such thing.
  std::string unscaled{};
  double expected_later = 0.0;        ///< what is still normal: one for each growth interval, or those that are due, whichever is more
  bool search_normal = true;
  bool later_normal = true;
  /// Skips after the first applied step, were every gradient as large as that one, by the policy's own rule, and the greatest scale on the way.
  std::optional<std::int64_t> due_later{};
  Number due_scale{};

  /// The run ends in a step that did not go well.
  bool ends_badly() const { return trailing > 0 || trailing_bad_losses > 0 || stopped; }
  /// The last one or two steps were skipped, after others that were applied: nothing that is recorded says whether the run gets over it.
  bool ends_in_a_skip() const;
  /// Every step so far was skipped, and no more of them than the search may take.
  bool searching() const;
};

StepStory tell_steps(const Evidence& evidence);

/// The policy of train.scaler.*, with the framework's defaults where a number is missing; nothing if it is not
/// recorded.
std::optional<scaling::Policy> recorded_policy(const Evidence& evidence);

/// How many steps in a row overflow from the first scale on, by case-32's rule: the first k with g 2^(s-k) < limit, and
/// what the policy's hysteresis adds. Nothing if it never fits (a fixed scale, a floor).
std::optional<std::int64_t> due_skips(const scaling::Policy& policy, double greatest_gradient, double limit);

/// Skips after the first step that is applied, of so many steps in all, each with a gradient of this size.
struct LaterSkips {
  std::int64_t skips = 0;
  double greatest_scale = 0.0;
};
LaterSkips later_skips(const scaling::Policy& policy, double greatest_gradient, double limit, std::int64_t steps);

/// What the skips come to, in words, for the verdict.
std::vector<std::string> skip_sentences(const StepStory& story);

}  // namespace ulpscope::reports
