#include "reports/analysis/diagnosis/kind.h"

#include <array>

namespace ulpscope::reports {

const std::vector<KindInfo>& diagnosis_kinds() {
  static const std::vector<KindInfo> kinds{
      {Kind::activation_too_large, "activation_too_large", "a result of the forward pass, or what the backward pass makes of it alone, does not fit its format"},
      {Kind::activation_below_range, "activation_below_range",
       "a result of the forward pass is rounded to zero, and that matters"},
      {Kind::weight_too_large, "weight_too_large", "a weight does not fit the format it is cast to"},
      {Kind::gradient_too_large_for_scale, "gradient_too_large_for_scale", "a scaled gradient does not fit its format"},
      {Kind::gradient_below_range, "gradient_below_range", "gradients are rounded to zero"},
      {Kind::update_lost, "update_lost", "updates are too small to change the weights they are added to"},
      {Kind::weight_decay_lost, "weight_decay_lost", "lr x weight decay is less than half an ulp: nothing decays"},
      {Kind::epsilon_vanished, "epsilon_vanished", "an epsilon is 0 in the format it is kept in"},
      {Kind::second_moment_below_range, "second_moment_below_range", "Adam's second moment is rounded to zero: epsilon alone divides the update"},
      {Kind::beta_vanished, "beta_vanished", "a beta is 1 or 0 in the format it is kept in"},
      {Kind::zero_divisor, "zero_divisor", "a division by zero, or a logarithm or the slope of a root at zero"},
      {Kind::mask_constant_out_of_range, "mask_constant_out_of_range", "a mask constant is infinite in its format"},
      {Kind::mask_sum, "mask_sum", "a finite mask and a score add up to -inf, or to the mask alone"},
      {Kind::reduction_too_long, "reduction_too_long", "a sum over many elements leaves the format; each of them fits"},
      {Kind::divisor_overflowed, "divisor_overflowed", "the count that a sum is divided by is infinite: the mean is 0"},
      {Kind::norm_overflowed, "norm_overflowed", "squares inside a norm overflow; its result is silently zero"},
      {Kind::clip_overflowed, "clip_overflowed", "the global norm overflows; clipping erases healthy gradients"},
      {Kind::clip_before_unscale, "clip_before_unscale", "clipping sees gradients that are still scaled"},
      {Kind::unscale_overflowed, "unscale_overflowed", "the division by the loss scale overflows"},
      {Kind::unscaled_early, "unscaled_early", "one of several micro-batches is unscaled before it is added"},
      {Kind::update_overflowed, "update_overflowed", "the optimizer's own numbers leave the range"},
      {Kind::sum_stuck, "sum_stuck", "a running sum swallows its addends"},
      {Kind::no_gradient, "no_gradient", "parameters get no gradient"},
      {Kind::buffers_poisoned, "buffers_poisoned", "running statistics are not finite and stay so"},
      {Kind::weights_poisoned, "weights_poisoned", "weights are not finite before the step begins"},
      {Kind::data_not_finite, "data_not_finite", "the batch, a constant or an injected number is not finite"},
      {Kind::scale_unbounded, "scale_unbounded", "the loss scale grows without use or end"},
      {Kind::scale_floor, "scale_floor", "the loss scale is at its floor and gradients still overflow"},
      {Kind::schedule_ahead, "schedule_ahead", "skipped steps moved the learning rate"},
      {Kind::exact_zero_loss, "exact_zero_loss", "the loss is exactly 0"},
      {Kind::no_master_weights, "no_master_weights", "weights are kept in 16 bits alone: not mixed precision"},
      {Kind::device_fault, "device_fault", "the same step computed again gives other bits"},
      {Kind::unknown, "unknown", "what is recorded does not tell the cause"},
      {Kind::outside_domain, "outside_domain", "the root or the logarithm of a negative number: NaN from finite inputs"},
      {Kind::divergence, "divergence", "the loss runs away, and nothing of the precision is known to be behind it"},
      {Kind::variance_lost, "variance_lost", "a norm reads numbers so far from 0 that rounding them takes their variance away"},
      {Kind::held_out_not_finite, "held_out_not_finite", "the held-out loss is not finite, though the training loss is"}};
  return kinds;
}

std::string_view name(Kind kind) { return diagnosis_kinds()[static_cast<std::size_t>(kind)].name; }
std::string_view meaning(Kind kind) { return diagnosis_kinds()[static_cast<std::size_t>(kind)].meaning; }

std::string_view name(Gravity gravity) {
  static constexpr std::array<std::string_view, 5> names{"fatal", "damage", "contained", "normal", "note"};
  return names[static_cast<std::size_t>(gravity)];
}

std::string_view name(Outcome outcome) {
  static constexpr std::array<std::string_view, 6> names{"healthy", "harmless",     "damaged",
                                                         "fatal",   "not_observed", "untrained"};
  return names[static_cast<std::size_t>(outcome)];
}

}  // namespace ulpscope::reports
