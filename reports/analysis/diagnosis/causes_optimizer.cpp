// Updates that come out infinite or NaN from finite gradients: an epsilon or a beta that is 0 or 1 in its format,
// moments that underflow or overflow.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

/// The format a scalar of the update works in: that of the weights where every operation is rounded to it.
Format working_format(const PlanNode& node) {
  const auto each = node.attributes.find("each_operation");
  if (each == node.attributes.end() || !each->is_boolean() || !each->get<bool>() || node.record.inputs.size() < 3)
    return Format::fp32;
  return parse_format(node.record.inputs[2].format).value_or(Format::fp32);
}

Known beta(const Suspect& s, Cause& cause) {
  for (const char* key : {"beta2", "beta1", "momentum"}) {
    const Number kept = number(s.node(), key);
    const Number asked = s.evidence.numeric_setting(key);
    if (!kept || !asked || *asked <= 0.0 || *asked >= 1.0 || (*kept > 0.0 && *kept < 1.0)) continue;
    const std::string format = s.evidence.setting("scalar_format");
    cause.kind = Kind::beta_vanished;
    cause.what =
        *kept >= 1.0
            ? fmt::format(
                  "optimizer scalar {} {} is {} in {}: 1 - {}^t = 0 for all t, and the moment divided by it is 0 / 0",
                  key, amount(*asked), amount(*kept), format, key)
            : fmt::format("optimizer scalar {} {} is {} in {}", key, amount(*asked), amount(*kept), format);
    cause.facts.push_back(fact(key, key, *kept,
                               fmt::format("{} as configured, {} as kept in {}", amount(*asked), amount(*kept), format),
                               Provenance::computed));
    return Known::yes;
  }
  return Known::no;
}

/// Adam's v is 0 where the gradient is not, and nothing is added to its root.
Known epsilon(const Suspect& s, Cause& cause) {
  const Number kept = number(s.node(), "epsilon");
  if (!kept) return Known::no;
  const Format format = working_format(s.node());
  const double asked = s.evidence.numeric_setting("epsilon").value_or(*kept);
  const bool vanished = *kept == 0.0 || *kept <= info(format).flush_threshold;
  const Stat* v = s.node().outputs.size() > 2 ? s.step.stat(s.node().outputs[2]) : nullptr;
  if (!vanished || (v != nullptr && v->stored_zero() == 0)) return Known::no;
  const std::string in = *kept == 0.0 && asked > 0.0 ? s.evidence.setting("scalar_format") : name(format);
  cause.kind = Kind::epsilon_vanished;
  cause.what = asked == 0.0
                   ? "optimizer, not model: epsilon is 0"
                   : fmt::format("optimizer, not model: epsilon {} is 0 in {} (at or below {} rounds to zero)",
                                 amount(asked), in, amount(info(parse_format(in).value_or(format)).flush_threshold));
  cause.facts.push_back(fact("epsilon", "epsilon", asked, fmt::format("{} as configured, 0 in {}", amount(asked), in),
                             Provenance::computed));
  const Number beta2 = number(s.node(), "beta2");
  const Stat* gradient = s.input(0);
  if (v != nullptr) {
    cause.what += fmt::format(", and v is 0 for {} of {}: the update is a division by zero", v->stored_zero(),
                              counted(v->elements, "element"));
    cause.facts.push_back(fact("v_zero", "v is 0", static_cast<double>(v->stored_zero()),
                               fmt::format("{} of {}", v->stored_zero(), v->elements)));
  }
  std::int64_t zeros = 0, all = 0;  // over all weights
  for (const PlanNode& node : s.evidence.plan().nodes())
    if (const Stat* of = is_optimizer(node) && node.outputs.size() > 2 ? s.step.stat(node.outputs[2]) : nullptr;
        of != nullptr) {
      zeros += of->stored_zero();
      all += of->elements;
    }
  if (v != nullptr && all > v->elements)
    cause.facts.push_back(
        fact("v_zero_all", "v is 0, all weights", static_cast<double>(zeros),
             fmt::format("{} of {} ({})", zeros, all, percent(static_cast<double>(zeros) / static_cast<double>(all)))));
  const TensorRecord* moment = s.node().outputs.size() > 2 ? s.evidence.plan().tensor(s.node().outputs[2]) : nullptr;
  if (beta2 && *beta2 < 1.0 && moment != nullptr) {
    const double threshold =
        std::sqrt(info(parse_format(moment->format).value_or(Format::fp32)).flush_threshold / (1.0 - *beta2));
    cause.what += fmt::format(". v underflows for |g| below {} with beta2 = {}", amount(threshold),
                              amount(s.evidence.numeric_setting("beta2").value_or(*beta2)));
    cause.facts.push_back(fact(
        "v_threshold", "v underflows below", threshold,
        fmt::format("|g| = {} = sqrt({} / (1 - beta2)) in {}", amount(threshold),
                    amount(info(parse_format(moment->format).value_or(Format::fp32)).flush_threshold), moment->format),
        Provenance::computed));
  }
  if (gradient != nullptr)
    cause.facts.push_back(fact(
        "greatest_gradient", "greatest gradient", gradient->greatest,
        fmt::format("{}; {} of {} are exactly 0", amount(gradient->greatest), gradient->zero, gradient->elements)));
  return Known::yes;
}

}  // namespace

Known optimizer_cause(const Suspect& s, Cause& cause) {
  if (!is_optimizer(s.node())) return Known::no;
  if (beta(s, cause) == Known::yes || epsilon(s, cause) == Known::yes) return Known::yes;
  if (s.root.how != Root::How::rounding) return Known::no;
  cause.kind = Kind::update_overflowed;
  cause.what = fmt::format("{}: the updated {} is {} and does not fit {}", s.node().record.name, s.title(),
                           amount(s.root.stat->greatest), name(s.output_format()));
  return Known::yes;
}

}  // namespace ulpscope::reports
