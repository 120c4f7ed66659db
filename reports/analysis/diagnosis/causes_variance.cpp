// Norms that take a mean away, and read numbers that were rounded to 16 bits far from 0: beside such a mean the steps of the format are as
// coarse as what the values differ by, and the variance that the norm divides by is rounding's. Nothing leaves a range. The same of a norm that
// a graph composes of its parts, at the difference from the mean.
//
// Moments are of whole tensors. What all values differ by is no less than what those of a row do, so that rounding which is as large as the
// former has taken the latter, too. Of rows that differ among each other, only a calculation in fp32 beside it tells.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/averages.h"
#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

constexpr double much_of_variance = 0.10;  ///< of a variance and its epsilon, as before training (profiler/predict/variance_checks.cpp)
constexpr double far_from_zero = 4.0;      ///< deviations
constexpr double least_deviation = 1e-6;   ///< of the root mean square: below it the moments do not tell it from 0
constexpr double within_rounding = 2.0;    ///< x the rounding of a norm's input: what it is off by if nothing else made it so
constexpr double collapsed = 0.999;        ///< x 1 / sqrt(epsilon): no variance beside it
constexpr int way_up = 8;                  ///< operations

bool is_norm_with_mean(const PlanNode& node) {
  return node.record.phase == Phase::forward && (node.record.operation == "layer_norm" || node.record.operation == "batch_norm") && node.outputs.size() > 2 &&
         !node.inputs.empty() && node.inputs.front();
}

/// x less the mean of all of x.
bool is_difference_from_mean(const PlanView& plan, const PlanNode& node) {
  const bool difference = node.record.phase == Phase::forward && node.record.operation == "sub" && node.inputs.size() == 2 && node.inputs[0] && node.inputs[1] && !node.outputs.empty();
  return difference && elements(node.record.inputs[1].shape) == 1 && averaged(plan, *node.inputs[1]) == plan.uncast(*node.inputs[0]);
}

bool takes_mean(const PlanView& plan, const PlanNode& node) { return is_norm_with_mean(node) || is_difference_from_mean(plan, node); }

bool composed(const PlanNode& node) { return node.record.operation == "sub"; }

TensorId roots_of(const PlanNode& norm) { return norm.outputs[2]; }

double epsilon_of(const PlanNode& norm) { return composed(norm) ? 0.0 : std::fabs(number(norm, "epsilon").value_or(1e-5)); }

double deviation_of(const Stat& stat) { return std::sqrt(std::max(0.0, *stat.rms * *stat.rms - *stat.mean * *stat.mean)); }

/// Of the variances and the epsilon behind these reciprocal roots: their harmonic mean, so that small ones count.
double variance_behind(const Stat& roots) { return 1.0 / (*roots.rms * *roots.rms); }

bool known(const Stat* stat) { return stat != nullptr && stat->bad() == 0 && stat->mean && stat->rms && *stat->rms > 0.0; }

/// The one that the others are small beside: a single number, or a bias; none: both are whole tensors.
std::optional<std::size_t> whole_operand(const PlanView& plan, const PlanNode& node) {
  if (node.inputs.size() != 2 || node.outputs.empty() || node.record.inputs.size() != 2) return std::nullopt;
  const TensorRecord* result = plan.tensor(node.outputs.front());
  if (result == nullptr) return std::nullopt;
  const std::int64_t all = elements(result->shape);
  const std::int64_t first = elements(node.record.inputs[0].shape), second = elements(node.record.inputs[1].shape);
  if (first == all && second < all) return 0;
  if (second == all && first < all) return 1;
  return std::nullopt;
}

/// What goes into a norm, and what rounding on the way there did to it.
struct Read {
  TensorId tensor{};        ///< whose rounding is coarsest
  const Stat* stat = nullptr;
  double gain = 1.0;        ///< of the norm's input, by that tensor
  double noise = 0.0;       ///< of all roundings, RMS, in units of the norm's input
  double deviation = 0.0;   ///< of all elements, before they were rounded, the most on the way, in those units

  double mean() const { return *stat->mean; }
  double own_deviation() const { return deviation_of(*stat); }
  double own_noise() const { return noise / gain; }
  double rms() const { return *stat->rms * gain; }
};

/// One operation up, where values are only moved, or all multiplied by the same number, or something smaller is added.
std::optional<TensorId> one_up(const PlanView& plan, const ObservedStep& step, const PlanNode& node, double& gain) {
  if (node.inputs.empty() || !node.inputs.front()) return std::nullopt;
  const std::string& op = node.record.operation;
  if (is_view_or_cast(node)) return node.inputs.front();
  if (op == "scale") {
    gain *= std::fabs(number(node, "factor").value_or(0.0));
    return node.inputs.front();
  }
  const std::optional<std::size_t> whole = whole_operand(plan, node);
  if (!whole || !node.inputs[0] || !node.inputs[1]) return std::nullopt;
  if (op == "add" || op == "sub") return node.inputs[*whole];
  const bool divides = op == "div" && *whole == 0;
  const Stat* other = step.stat(*node.inputs[1 - *whole]);
  if ((op != "mul" && !divides) || other == nullptr || other->elements != 1 || !(other->greatest > 0.0)) return std::nullopt;
  gain *= divides ? 1.0 / other->greatest : other->greatest;
  return node.inputs[*whole];
}

std::optional<Read> read_by(const Evidence& e, const ObservedStep& step, const PlanNode& norm, std::int64_t micro_batch) {
  Read read;
  double gain = 1.0, squares = 0.0, most = 0.0;
  TensorId tensor = *norm.inputs.front();
  for (int i = 0; i < way_up; ++i) {
    const Stat* stat = step.stat(tensor, micro_batch);
    if (!known(stat) || !(gain > 0.0) || !std::isfinite(gain)) break;
    read.deviation = std::max(read.deviation, gain * deviation_of(*stat));
    const PlanNode* made_by = e.plan().producer(tensor);
    // What is one number throughout is moved as a whole.
    const bool rounded = is_16bit(e.plan().format(tensor)) && made_by != nullptr && !is_view(*made_by) && deviation_of(*stat) >= least_deviation * *stat->rms;
    const double noise = rounded ? gain * stat->rounding_rms.value_or(0.0) : 0.0;
    squares += noise * noise;
    if (noise > most) {
      most = noise;
      read.tensor = tensor;
      read.stat = stat;
      read.gain = gain;
    }
    const std::optional<TensorId> up = made_by != nullptr ? one_up(e.plan(), step, *made_by, gain) : std::nullopt;
    if (!up) break;
    tensor = *up;
  }
  if (read.stat == nullptr) return std::nullopt;
  read.noise = std::sqrt(squares);
  return read;
}

/// The same norm's reciprocal roots where nothing was rounded to 16 bits.
struct Truth {
  const Stat* roots = nullptr;
  bool shadow = false;
};

Truth truth_of(const Evidence& e, const ObservedStep& step, const PlanNode& norm) {
  if (composed(norm)) return {};
  if (const Stat* roots = e.in_shadow(step.step, roots_of(norm)); known(roots)) return {roots, true};
  if (e.fp32 == nullptr || e.fp32->run().seed != e.run().seed) return {};
  const PlanNode* twin = e.fp32->plan().node(norm.record.name);
  const ObservedStep* same = e.fp32->observed_step(step.step);
  if (twin == nullptr || same == nullptr || !is_norm_with_mean(*twin)) return {};
  const Stat* roots = same->stat(roots_of(*twin));
  return known(roots) ? Truth{roots, false} : Truth{};
}

struct Lost {
  Read read;
  Truth truth;
  const Stat* roots = nullptr;   ///< of this run; null: not recorded
  Number error{};                ///< of the norm's result, from the shadow
  bool whole = true;             ///< rounding is as large as what the values of the whole tensor differ by, not of some rows alone
};

/// The norm's input is right but for its rounding, so that nothing before it made the result wrong.
bool right_but_for_rounding(const ObservedStep& step, const PlanNode& norm, std::int64_t micro_batch, const Read& read) {
  const Stat* x = step.stat(*norm.inputs.front(), micro_batch);
  return x != nullptr && x->shadow_error && *x->shadow_error * *x->rms <= within_rounding * read.noise;
}

std::optional<Lost> lost_in(const Evidence& e, const ObservedStep& step, const PlanNode& norm, std::int64_t micro_batch) {
  const std::optional<Read> read = read_by(e, step, norm, micro_batch);
  if (!read || !(read->noise > 0.0)) return std::nullopt;
  const double epsilon = epsilon_of(norm), variance = read->deviation * read->deviation, noise = read->noise * read->noise;
  Lost lost{.read = *read, .truth = truth_of(e, step, norm)};
  lost.whole = noise >= much_of_variance * (variance + epsilon) && variance >= much_of_variance * epsilon && read->rms() >= far_from_zero * read->deviation;
  const Stat* roots = composed(norm) ? nullptr : step.stat(roots_of(norm), micro_batch);
  if (known(roots)) lost.roots = roots;
  if (const Stat* y = step.stat(norm.outputs.front(), micro_batch); y != nullptr) lost.error = y->shadow_error;
  if (lost.truth.roots == nullptr) {
    const bool right = lost.error && *lost.error * *lost.error < much_of_variance;
    return lost.whole && !right ? std::optional(lost) : std::nullopt;
  }
  const double true_variance = variance_behind(*lost.truth.roots);
  const bool enough = noise >= much_of_variance * true_variance && read->rms() >= far_from_zero * std::sqrt(true_variance);
  const bool other_variance = lost.roots != nullptr && std::fabs(std::log(variance_behind(*lost.roots) / true_variance)) >= std::log1p(much_of_variance);
  const bool other_result = lost.error && *lost.error * *lost.error >= much_of_variance && right_but_for_rounding(step, norm, micro_batch, *read);
  const bool same_weights = lost.truth.shadow || step.step == 0;
  return enough && (lost.whole || same_weights) && (other_variance || other_result) ? std::optional(lost) : std::nullopt;
}

const char* unit(const PlanNode& norm) { return norm.record.operation == "batch_norm" ? "channel" : "row"; }

/// What a norm multiplies a row by that has no variance; infinite without an epsilon.
double root_of_nothing(const PlanNode& norm) { return collapsed / std::sqrt(epsilon_of(norm)); }

/// Rows are left that rounding did not make one number of: then they were not one before.
bool some_vary(const PlanNode& norm, const Lost& lost) { return lost.roots != nullptr && lost.roots->least < root_of_nothing(norm); }

/// Rows of which nothing is left, by the reciprocal roots of this run.
std::string fallen_together(const PlanNode& norm, const Lost& lost) {
  if (lost.roots == nullptr || lost.roots->greatest < root_of_nothing(norm)) return "";
  const bool all = !some_vary(norm, lost);
  const std::string rows = counted(lost.roots->elements, unit(norm));
  return fmt::format("; in {} all values fall together, and what is left is the bias",
                     !all ? fmt::format("at least 1 of {}", rows) : lost.roots->elements == 1 ? fmt::format("its {}", unit(norm)) : fmt::format("each of its {}", rows));
}

void tell_truth(const PlanNode& norm, const Lost& lost, Cause& cause) {
  if (lost.truth.roots == nullptr && !lost.error) return;
  const char* const where = lost.truth.shadow ? "its fp32 shadow" : "the fp32 run";
  if (lost.roots != nullptr && lost.truth.roots != nullptr) {
    cause.what += fmt::format(". The factor that it multiplies a {} by (1 / standard deviation) is {} on average, in {} {}", unit(norm), amount(*lost.roots->mean), where,
                              amount(*lost.truth.roots->mean));
    cause.facts.push_back(fact("root", "1 / standard deviation, on average", *lost.roots->mean, fmt::format("{}, in {} {}", amount(*lost.roots->mean), where, amount(*lost.truth.roots->mean)),
                               Provenance::recomputed));
  }
  if (lost.error) {
    cause.what += fmt::format("; its result is off by {} of the shadow's size (root mean square)", percent(*lost.error));
    cause.facts.push_back(fact("result_error", "result off by", *lost.error, fmt::format("{} of the shadow's", percent(*lost.error)), Provenance::recomputed));
  }
}

Cause told(const Evidence& e, const ObservedStep& step, const PlanNode& norm, const Lost& lost, std::int64_t micro_batch) {
  const Read& read = lost.read;
  const Format format = e.plan().format(read.tensor);
  const double size = lost.whole ? std::fabs(read.mean()) : *read.stat->rms, apart = 2.0 * half_ulp_above(size, format);
  Cause cause;
  cause.kind = Kind::variance_lost;
  cause.gravity = e.plan().feeds_loss(norm) ? Gravity::damage : Gravity::contained;
  cause.step = step.step;
  cause.node = norm.record.name;
  cause.operation = norm.record.operation;
  cause.phase = std::string(name(norm.record.phase));
  cause.tensor = e.plan().title(read.tensor);
  cause.format = name(format);
  cause.operands = operands_of(e, step, norm, micro_batch);
  cause.reaches = "what follows, as finite numbers that are wrong";
  cause.what = fmt::format("{} ({}): what it reads lies so far from 0 that {} cannot tell the values apart: ", cause.node, cause.operation, cause.format);
  cause.what += lost.whole ? fmt::format("{} has a mean of {} and, before it is rounded, a standard deviation of {}", cause.tensor, amount(read.mean()), amount(read.own_deviation()))
                           : fmt::format("the root mean square of {} is {}, and its {}s differ by more among each other than within", cause.tensor, amount(size), unit(norm));
  cause.what += fmt::format("; the numbers of {} there are {} apart, and rounding moves values by {} (root mean square). ", cause.format, amount(apart), amount(read.own_noise()));
  cause.what += composed(norm) ? "The difference from the mean is rounding's, and so is what comes of it, a variance among it"
                : lost.whole   ? "The variance that the norm divides by is rounding's, and so is its result"
                               : fmt::format("Of {0}s that differ by less within, the variance is rounding's, and so is the norm's result", unit(norm));
  cause.what += fallen_together(norm, lost);
  tell_truth(norm, lost, cause);
  if (lost.truth.roots == nullptr && !lost.error && !composed(norm) && !some_vary(norm, lost))
    cause.what += fmt::format(" (unless every {} is the same number throughout: observe.shadow = true, or fp32 among run.modes, would tell)", unit(norm));
  cause.facts.push_back(fact("mean", "mean", read.mean(), amount(read.mean())));
  cause.facts.push_back(fact("deviation", "standard deviation before rounding", read.own_deviation(), fmt::format("{}, of all {}", amount(read.own_deviation()), counted(read.stat->elements, "element")),
                             Provenance::computed));
  cause.facts.push_back(fact("apart", "numbers of the format there", apart, fmt::format("{} apart in {} at {}", amount(apart), cause.format, amount(size)), Provenance::computed));
  cause.facts.push_back(fact("rounding", "moved by rounding", read.own_noise(), fmt::format("{} (root mean square)", amount(read.own_noise()))));
  if (lost.whole)
    cause.facts.push_back(fact("share", "rounding / standard deviation", read.own_noise() / read.own_deviation(), percent(read.own_noise() / read.own_deviation()), Provenance::computed));
  return cause;
}

std::optional<Cause> in_step(const Evidence& e, const ObservedStep& step, const PlanNode& norm) {
  for (std::int64_t m = 0; m < step.micro_batches; ++m)
    if (const std::optional<Lost> lost = lost_in(e, step, norm, m)) return told(e, step, norm, *lost, m);
  return std::nullopt;
}

}  // namespace

void silent_variance_causes(const Evidence& e, std::vector<Cause>& causes) {
  for (const PlanNode& norm : e.plan().nodes()) {
    if (!takes_mean(e.plan(), norm)) continue;
    std::optional<Cause> found;
    std::int64_t seen = 0;
    for (const ObservedStep& step : e.observed())
      if (std::optional<Cause> now = in_step(e, step, norm)) {
        ++seen;
        if (!found) found = std::move(now);
      }
    if (!found) continue;
    found->steps_seen = seen;
    causes.push_back(std::move(*found));
  }
}

}  // namespace ulpscope::reports
