// Updates that come out infinite or NaN from finite gradients: an epsilon or a beta that is 0 or 1 in its format,
// moments that underflow or overflow.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/lost_moment.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

/// The format in which epsilon is added: that of the second moment where every operation is rounded to it.
Format working_format(const PlanNode& node) {
  return node.attributes.value("each_operation", false) && node.record.outputs.size() > 2 ? parse_format(node.record.outputs[2].format).value_or(Format::fp32)
                                                                                           : Format::fp32;
}

Known beta(const Suspect& s, Cause& cause) {
  const std::string what = vanished_betas(s.evidence, s.node(), cause.facts);
  if (what.empty()) return Known::no;
  cause.kind = Kind::beta_vanished;
  cause.what = what;
  return Known::yes;
}

/// Adam's v is 0 where the gradient is not, and nothing is added to its root.
Known epsilon(const Suspect& s, Cause& cause) {
  const Number kept = number(s.node(), "epsilon");
  if (!kept) return Known::no;
  const Format format = working_format(s.node());
  const double asked = s.evidence.numeric_setting("epsilon").value_or(*kept);
  const bool vanished = added_epsilon(*kept, format != Format::fp32, format) == 0.0;
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

/// What of an optimizer a result is; empty: the weights (or what is kept beside them).
std::string state_of(const PlanNode& node, TensorId tensor) {
  const auto is = [&](std::size_t output) { return node.outputs.size() > output && node.outputs[output] == tensor; };
  if (node.record.operation == "adamw") return is(1) ? "first moment" : is(2) ? "second moment" : "";
  return is(1) && number(node, "momentum").value_or(0.0) != 0.0 ? "momentum buffer" : "";
}

/// It is infinite from here on. The update divides by the second moment's root and comes to 0; the others go into the weights.
void state_overflowed(const Suspect& s, const std::string& state, Cause& cause) {
  const bool each = s.node().attributes.value("each_operation", false);
  cause.kind = Kind::update_overflowed;
  cause.what = fmt::format("optimizer, not model: the {} in {} is {} and becomes infinite in {} of {}", state, s.title(), held_against_limit(s.root.stat->greatest, s.output_format()),
                           s.root.stat->overflowed, counted(s.root.stat->elements, "weight"));
  cause.facts.push_back(fact("state", "of the optimizer", state, Provenance::counted));
  if (second_moment_alone(s)) {
    cause.what += fmt::format("; the update divides by its root, and is 0 there from {} on: these weights stand still (but for weight decay), and as the average never comes back, "
                              "for good. Weights and loss stay finite: no check of them sees it",
                              each ? "this step" : "the next step");
    cause.reaches = "the updates of these weights, as zeros";
    return;
  }
  cause.what += each ? "; the update is made of it" : "; the next update is made of it";
}

/// Infinite, not NaN, from finite numbers that divided by no zero: the update is too large. Its size was not recorded.
void beyond_format(const Suspect& s, Cause& cause) {
  cause.kind = Kind::update_overflowed;
  const Format format = s.node().attributes.value("each_operation", false) ? s.output_format() : Format::fp32;
  const bool stochastic = word(s.node(), "rounding") == "stochastic";
  cause.what = fmt::format("{}: the updated {} is infinite in {} of {}: ", s.node().record.name, s.title(), s.root.stat->infinite(), counted(s.root.stat->elements, "element"));
  if (stochastic)
    cause.what += fmt::format("it does not fit {} once it is rounded (stochastically); its size before that was not recorded", name(s.output_format()));
  else
    cause.what += fmt::format("more than {} holds{}", name(format), format == Format::fp32 ? "" : ", to which every operation of the update is rounded");
  if (!stochastic && format == Format::fp32) cause.facts.push_back(fact("beyond_fp32", "beyond fp32", "no format here has a wider range"));
}

}  // namespace

std::string vanished_betas(const Evidence& e, const PlanNode& node, std::vector<Fact>& facts) {
  std::string what;
  const std::string format = e.setting("scalar_format");
  for (const char* key : {"beta1", "beta2", "momentum"}) {
    const Number kept = number(node, key), asked = e.numeric_setting(key);
    if (!kept || !asked || *asked <= 0.0 || *asked >= 1.0 || (*kept > 0.0 && *kept < 1.0)) continue;
    what += fmt::format("{}optimizer scalar {} {} is {} in {}", what.empty() ? "" : "; ", key, amount(*asked), amount(*kept), format);
    if (*kept >= 1.0 && std::string_view(key) != "momentum") what += fmt::format(": 1 - {}^t = 0 for all t, and the moment divided by it is 0 / 0", key);
    facts.push_back(fact(key, key, *kept, fmt::format("{} as configured, {} as kept in {}", amount(*asked), amount(*kept), format), Provenance::computed));
  }
  return what;
}

bool second_moment_alone(const Suspect& s) {
  const auto is = [&](const PlanNode& node) {
    return node.record.operation == "adamw" && ((node.outputs.size() > 2 && node.outputs[2] == s.root.tensor) || (node.inputs.size() > 4 && node.inputs[4] == s.root.tensor));
  };
  const PlanNode* update = s.root.node;
  for (const std::size_t reader : s.evidence.plan().readers(s.root.tensor))
    if (update == nullptr && is(s.evidence.plan().nodes()[reader])) update = &s.evidence.plan().nodes()[reader];
  if (update == nullptr || !is(*update) || s.root.stat == nullptr || s.root.stat->nan > 0) return false;
  const Stat* const weights = s.step.stat(update->outputs.front());
  return weights == nullptr || weights->bad() == 0;
}

Known optimizer_cause(const Suspect& s, Cause& cause) {
  if (!is_optimizer(s.node())) return Known::no;
  const bool rounding = s.root.how == Root::How::rounding;
  if (const std::string state = rounding ? state_of(s.node(), s.root.tensor) : ""; !state.empty()) {
    state_overflowed(s, state, cause);
    return Known::yes;
  }
  if (beta(s, cause) == Known::yes || epsilon(s, cause) == Known::yes) return Known::yes;
  if (rounding) {
    cause.kind = Kind::update_overflowed;
    cause.what = fmt::format("{}: the updated {} is {} and does not fit {}", s.node().record.name, s.title(), amount(s.root.stat->greatest), name(s.output_format()));
    return Known::yes;
  }
  const bool infinite = s.root.how == Root::How::arithmetic && s.root.inputs_known && s.root.stat->nan == 0 && s.root.stat->infinite() > 0;
  if (infinite) beyond_format(s, cause);
  return infinite ? Known::yes : Known::no;
}

}  // namespace ulpscope::reports
