// The loss scale itself: a product with it or a division by it that leaves the range.
#include <fmt/format.h>

#include <cmath>

#include "kernels/scaling/loss_scaler.h"
#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

Known unscale(const Suspect& s, Cause& cause) {
  const double scale = s.evidence.scale(s.step.step);
  double greatest = 0.0;
  for (std::size_t i = 0; i < s.node().outputs.size() && i < s.node().inputs.size(); ++i)
    if (s.node().outputs[i] == s.root.tensor && s.input(i) != nullptr) greatest = s.input(i)->greatest;
  if (scale >= 1.0) return Known::no;
  cause.kind = Kind::unscale_overflowed;
  cause.what = fmt::format(
      "the scaled gradient {} is finite (greatest {}); at a loss scale of {} the division g / S gives {} and overflows",
      s.title(), amount(greatest), scale_amount(scale), amount(greatest / scale));
  cause.facts.push_back(fact("loss_scale", "loss scale", scale, scale_amount(scale)));
  cause.facts.push_back(fact("scaled_gradient", "scaled gradient", greatest, amount(greatest)));
  cause.facts.push_back(fact("unscaled_gradient", "unscaled", greatest / scale,
                             held_against_limit(greatest / scale, s.output_format()), Provenance::computed));
  return Known::yes;
}

}  // namespace

Known scale_cause(const Suspect& s, Cause& cause) {
  const std::string& op = s.node().record.operation;
  if (op == "unscale_check") return unscale(s, cause);
  if (op != "scale_loss") return Known::no;
  const double scale = s.evidence.scale(s.step.step);
  const Stat* loss = s.input(0);
  if (!std::isfinite(scale)) {
    cause.kind = Kind::scale_unbounded;
    cause.what = "the loss scale itself is infinite: nothing bounded its growth";
    return Known::yes;
  }
  if (s.root.stat->nan > 0) return Known::no;
  cause.kind = Kind::gradient_too_large_for_scale;
  // As it is read, after its own rounding.
  const double read = loss == nullptr ? NAN : loss->overflowed > 0 ? loss->greatest : rounded_to(loss->greatest, s.evidence.plan().format(*s.node().inputs.front()));
  const std::string held = std::isfinite(read) ? ": " + held_against_limit(read * scale, s.output_format()) : "";
  if (s.node().record.phase == Phase::backward) {
    // The derivative of the loss by itself is 1, so that the scale alone is what has to fit.
    cause.what = read == 1.0 || loss == nullptr
                     ? fmt::format("the backward pass begins with the gradient of the scaled loss, which is the loss scale itself, {}: it does not fit {}{}",
                                   scale_amount(scale), name(s.output_format()), loss == nullptr ? "" : held)
                     : fmt::format("the backward pass begins with {} times the loss scale {}: that does not fit {}{}", amount(read), scale_amount(scale),
                                   name(s.output_format()), held);
    if (loss != nullptr)
      cause.facts.push_back(fact("unscaled_gradient", "unscaled", loss->greatest, amount(loss->greatest), Provenance::computed));
  } else {
    cause.what = fmt::format("the loss ({}) times the loss scale ({}) does not fit {}{}", loss != nullptr ? amount(read) : "not observed", scale_amount(scale),
                             name(s.output_format()), held);
  }
  if (!s.chain.gradient)
    cause.what += s.node().record.phase == Phase::backward ? "; no gradient of a weight becomes infinite or NaN by it"
                                                           : "; no gradient is computed from that number: the backward pass begins with the scale itself";
  cause.facts.push_back(fact("loss_scale", "loss scale", scale, scale_amount(scale)));
  return Known::yes;
}

}  // namespace ulpscope::reports
