// The words of a diagnosis: what is wrong, how much it matters, what a run came to. Names are stable: programs go by
// them.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

namespace ulpscope::reports {

enum class Kind : std::uint8_t {
  activation_too_large,
  activation_below_range,
  weight_too_large,
  gradient_too_large_for_scale,
  gradient_below_range,
  update_lost,
  weight_decay_lost,
  epsilon_vanished,
  second_moment_below_range,
  beta_vanished,
  zero_divisor,
  mask_constant_out_of_range,
  mask_sum,
  reduction_too_long,
  divisor_overflowed,
  norm_overflowed,
  clip_overflowed,
  clip_before_unscale,
  unscale_overflowed,
  unscaled_early,
  update_overflowed,
  sum_stuck,
  no_gradient,
  buffers_poisoned,
  weights_poisoned,
  data_not_finite,
  scale_unbounded,
  scale_floor,
  schedule_ahead,
  exact_zero_loss,
  no_master_weights,
  device_fault,
  unknown,
  outside_domain,
  divergence,
  variance_lost,
  held_out_not_finite,
};

struct KindInfo {
  Kind kind;
  const char* name;
  const char* meaning;  ///< one line
};
/// Every kind, in the order of the enum.
const std::vector<KindInfo>& diagnosis_kinds();
std::string_view name(Kind kind);
std::string_view meaning(Kind kind);

/// How much a cause matters to the run it was found in.
enum class Gravity : std::uint8_t {
  fatal,      ///< the run cannot go on, or what it makes is worth nothing
  damage,     ///< the run goes on, and what it computes is wrong in silence
  contained,  ///< values left their format, and reach neither the loss nor a gradient nor a weight
  normal,     ///< part of how loss scaling works, or over and without consequence
  note,       ///< worth knowing; nothing was harmed so far
};
std::string_view name(Gravity gravity);

/// What a run came to.
enum class Outcome : std::uint8_t {
  healthy,       ///< observed, and nothing found that harms it
  harmless,      ///< something left its format where nothing that counts is reached
  damaged,
  fatal,
  not_observed,  ///< its steps went well, but nothing was recorded of what happened inside them
  untrained      ///< no step was applied so far, and nothing says that none will be
};
std::string_view name(Outcome outcome);

}  // namespace ulpscope::reports
