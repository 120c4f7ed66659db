#include "reports/analysis/order_of_sums.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "reports/analysis/time_category.h"

namespace ulpscope::reports {
namespace {

constexpr double u = 0x1p-24;       // of fp32
constexpr double most_seeds = 3.0;  // standard deviations of a difference between two runs

/// Unit roundoff of a storage format narrower than fp32; 0 for fp32 (and tf32, which is stored so).
double storage_roundoff(std::string_view format) {
  if (format == "fp16") return 0x1p-11;
  if (format == "bf16") return 0x1p-8;
  if (format == "e4m3") return 0x1p-4;
  if (format == "e5m2") return 0x1p-3;
  return 0.0;
}

double elements(const std::vector<std::int64_t>& shape) {
  double n = 1.0;
  for (const std::int64_t d : shape) n *= static_cast<double>(d);
  return n;
}

/// Of one product: by how much of its result two orders differ, at random and one-sidedly. addends: of one element.
struct Difference {
  double random = 0.0, cut = 0.0;
};
Difference difference(const NodeRecord& node, double addends, const Truncating& truncating) {
  const bool wide = node.compute_format == "fp32";
  const double c = wide ? 0.0 : node.compute_format == "tf32" ? truncating.tf32 : truncating.narrow;
  const double rounded = u * std::sqrt(wide ? 2.0 * addends : addends), cut = 0.5 * c * u * addends;
  return {std::sqrt(rounded * rounded + 2.0 * storage_roundoff(node.outputs.front().format) * (rounded + cut)), cut};
}

double momentum_of(const RunRecord& run) {
  const auto attributes = nlohmann::json::parse(run.attributes_json, nullptr, false);
  const nlohmann::json::json_pointer place("/train/momentum");
  if (!attributes.is_object() || !attributes.contains(place) || !attributes.at(place).is_number()) return 0.0;
  return std::clamp(attributes.at(place).get<double>(), 0.0, 0.999);
}

double spacing(double value) {
  int exponent = 0;
  std::frexp(std::max(std::fabs(value), 0x1p-126), &exponent);
  return std::ldexp(1.0, exponent - 24);
}

/// The bound of each step in turn.
class Bound {
 public:
  Bound(const RunRecord& run, const OrderBound& order) : order_(order), adamw_(run.optimizer == "adamw"), momentum_(momentum_of(run)) {}

  /// Of this step's loss; nothing if it cannot be said. spread: between seeds.
  Number of(const StepRecord& step, const Number& spread) const {
    if (!order_.known || !followed_ || !step.loss || !std::isfinite(*step.loss)) return std::nullopt;
    const double loss = std::fabs(*step.loss);
    const double same_weights = order_safety * std::max(loss, 1.0) * (order_.forward / averaged(step) + order_.forward_cut) + spacing(loss);
    if (moved_ > 0.0 && !step.gradient_norm) return std::nullopt;
    // Of a step that overflowed: as large as any before.
    const double norm = moved_ == 0.0 ? 0.0 : std::isfinite(*step.gradient_norm) ? *step.gradient_norm : norm_;
    double bound = same_weights + order_safety * norm * moved_;
    bound = std::max(bound, order_growth * greatest_);
    if (spread) bound = std::min(bound, std::max(most_seeds * std::sqrt(2.0) * *spread, same_weights));
    return bound;
  }
  /// Relative, of the gradient's norm, as long as nothing was updated.
  Number of_norm(const StepRecord& step) const {
    if (!order_.known || !followed_ || updated_) return std::nullopt;
    return order_safety * (order_.step / averaged(step) + order_.step_cut) + 0x1p-22;
  }
  /// A step is not on record: whether and by how much it moved the weights is not known.
  void lose() { followed_ = false; }
  /// What the step adds. difference: of its losses, explained; nothing if one is not on record: it may have grown unseen.
  void after(const StepRecord& step, const Number& difference) {
    greatest_ = difference ? std::max(greatest_, *difference) : order_growth * greatest_;
    if (step.gradient_norm && std::isfinite(*step.gradient_norm)) norm_ = std::max(norm_, *step.gradient_norm);
    if (step.skipped) return;
    updated_ = true;
    if (!followed_) return;
    if (!step.learning_rate || (!adamw_ && (!step.gradient_norm || !std::isfinite(*step.gradient_norm)))) {
      followed_ = false;
      return;
    }
    moved_ += *step.learning_rate * (adamw_ ? std::min(2.0, std::sqrt(2.0 * of_an_element())) : *step.gradient_norm * of_an_element() / (1.0 - momentum_));
  }

 private:
  /// What is random in a token's rows averages out over those of a step.
  static double averaged(const StepRecord& step) { return std::sqrt(static_cast<double>(std::max<std::int64_t>(step.tokens.value_or(1), 1))); }
  double of_an_element() const { return std::hypot(order_.step, order_.step_cut); }

  const OrderBound& order_;
  bool adamw_;
  double momentum_;
  double moved_ = 0.0;     ///< sum over the updates so far
  bool updated_ = false;
  bool followed_ = true;   ///< false: the size of an update, or a step, is not on record
  double greatest_ = 0.0;  ///< difference so far
  double norm_ = 0.0;      ///< the greatest gradient norm so far
};

std::string ulps_text(const Number& ulps) { return !ulps ? "unknown" : !std::isfinite(*ulps) ? "not finite" : *ulps < 1e6 ? fmt::format("{:.0f}", std::ceil(*ulps)) : fmt::format("{:.1e}", *ulps); }
std::string of_ulps(const Number& ulps) { return ulps && !std::isfinite(*ulps) ? "one of them is not finite" : ulps_text(ulps) + (ulps && *ulps <= 1.0 ? " ulp" : " ulps"); }

/// The norm of the first gradient that is finite on both.
void judge_norm(const StepRecord& a, const StepRecord& b, const Number& bound, BitsAcross& bits) {
  const auto usable = [](const Number& norm) { return norm && std::isfinite(*norm) && *norm > 0.0; };
  if (bits.norm_change || !bound || !usable(a.gradient_norm) || !usable(b.gradient_norm)) return;
  bits.norm_change = std::fabs(*b.gradient_norm / *a.gradient_norm - 1.0);
  bits.norm_bound = bound;
  bits.norm_at = a.step;
}

std::string words(const BitsAcross& bits) {
  std::string text(name(bits.verdict));
  const char* before = ":";
  const auto add = [&](const std::string& part) {
    text += fmt::format("{} {}", before, part);
    before = ";";
  };
  if (bits.verdict == BitsVerdict::same_bits) text += fmt::format(" in {} step{}", bits.steps, bits.steps == 1 ? "" : "s");
  if (bits.more_from && bits.more_ulps) add(fmt::format("from step {} ({}, explained are {})", *bits.more_from + 1, of_ulps(bits.more_ulps), of_ulps(bits.more_bound_ulps)));
  if (bits.norm_is_more()) add(fmt::format("the gradient's norm in step {}, with the same weights, differs by {:.1e}, explained are {:.1e}", *bits.norm_at + 1, *bits.norm_change, *bits.norm_bound));
  if (bits.differs_from) {
    add(fmt::format("other bits from step {} ({}), at most {} in step {}", *bits.differs_from + 1, of_ulps(bits.first_ulps), of_ulps(bits.greatest_ulps), *bits.greatest_at + 1));
    if (bits.bound_ulps && !bits.more_from) text += fmt::format(", where {} are explained", ulps_text(bits.bound_ulps));
  } else if (bits.norm_is_more() && bits.steps > 0) {
    add(fmt::format("the losses have the same bits in {} step{}", bits.steps, bits.steps == 1 ? "" : "s"));
  }
  if (bits.other_skips) text += fmt::format("; one of them alone skipped step {}: held against each other up to there", *bits.other_skips + 1);
  return text;
}

}  // namespace

std::string_view name(BitsVerdict verdict) {
  static constexpr std::array<std::string_view, 4> names{"same bits", "explained by the order of sums", "more than the order of sums explains", "undecided"};
  return names[static_cast<std::size_t>(verdict)];
}

double ulps_between(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0.0;
  if (!std::isfinite(a) || !std::isfinite(b)) return std::numeric_limits<double>::infinity();
  return std::fabs(a - b) / spacing(std::max(std::fabs(a), std::fabs(b)));
}

OrderBound order_bound(const std::vector<NodeRecord>& plan, const Truncating& truncating) {
  OrderBound bound;
  bound.known = !plan.empty();
  for (const NodeRecord& node : plan) {
    if (!is_product(time_category(node.operation))) continue;
    const double results = node.outputs.empty() ? 0.0 : elements(node.outputs.front().shape);
    if (!node.flops || results <= 0.0) {
      bound.known = false;
      continue;
    }
    ++bound.products;
    const double addends = std::max(1.0, static_cast<double>(*node.flops) / (2.0 * results));
    bound.longest = std::max(bound.longest, static_cast<std::int64_t>(addends + 0.5));
    const Difference d = difference(node, addends, truncating);
    const bool forward = node.phase == Phase::forward;
    bound.step = std::hypot(bound.step, d.random);
    bound.step_cut = std::hypot(bound.step_cut, d.cut);
    if (forward) bound.forward = std::hypot(bound.forward, d.random);
    if (forward) bound.forward_cut = std::hypot(bound.forward_cut, d.cut);
  }
  return bound;
}

BitsAcross judge_bits(const RunRecord& run, const std::vector<StepRecord>& first, const std::vector<StepRecord>& other, const OrderBound& order, const std::vector<Number>& spread) {
  BitsAcross bits{.seed = run.seed};
  Bound bound(run, order);
  bool unknown = false;
  std::int64_t expected = 0;
  for (std::size_t i = 0, k = 0; i < first.size() && k < other.size();) {
    const StepRecord &a = first[i], &b = other[k];
    if (a.step != b.step || a.step != expected) {  // steps that one of them lost, or both
      bound.lose();
      unknown = true;
    }
    if (a.step != b.step) {
      a.step < b.step ? ++i : ++k;
      continue;
    }
    ++i, ++k;
    expected = a.step + 1;
    judge_norm(a, b, bound.of_norm(a), bits);
    Number difference;
    if (a.loss && b.loss) {
      ++bits.steps;
      const double ulps = ulps_between(*a.loss, *b.loss);
      const Number most = bound.of(a, static_cast<std::size_t>(a.step) < spread.size() ? spread[static_cast<std::size_t>(a.step)] : std::nullopt);
      const Number most_ulps = most ? Number(*most / spacing(*a.loss)) : std::nullopt;
      if (ulps > 0.0 && !bits.differs_from) bits.differs_from = a.step, bits.first_ulps = ulps;
      if (ulps > bits.greatest_ulps.value_or(0.0)) bits.greatest_ulps = ulps, bits.greatest_at = a.step, bits.bound_ulps = most_ulps;
      const bool infinite = !std::isfinite(ulps);
      if (ulps > 0.0 && !most && !infinite) unknown = true;
      if ((infinite || (most_ulps && ulps > *most_ulps)) && !bits.more_from) bits.more_from = a.step, bits.more_ulps = ulps, bits.more_bound_ulps = most_ulps;
      difference = infinite || ulps == 0.0 ? 0.0 : std::fabs(*a.loss - *b.loss);
    }
    bound.after(a, difference);
    if (a.skipped == b.skipped) continue;
    bits.other_skips = a.step;
    break;
  }
  if (bits.more_from || bits.norm_is_more()) bits.verdict = BitsVerdict::more;
  else if (bits.steps > 0 && !bits.differs_from) bits.verdict = BitsVerdict::same_bits;
  else if (bits.steps > 0 && !unknown) bits.verdict = BitsVerdict::explained;
  bits.text = words(bits);
  if (bits.verdict == BitsVerdict::undecided) bits.text += bits.steps == 0 ? ": no step has a loss on both" : "; what the order of sums explains is not known in every step";
  return bits;
}

}  // namespace ulpscope::reports
