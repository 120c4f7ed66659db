// Gradients that vanish below the range, and a loss scale that grows without use.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "kernels/scaling/loss_scaler.h"
#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/still_weights.h"
#include "reports/analysis/diagnosis/words.h"
#include "reports/analysis/scale_bounds.h"

namespace ulpscope::reports {
namespace {

/// A tenth of what is not zero is lost. Of a tensor that reaches far above the end of the range it is too small beside the rest to matter where
/// all of it goes into the same weights, and these move in proportion: not where an optimizer divides each gradient by its own size, and not
/// where weights get nothing else.
constexpr double much_flushed = 0.10;
constexpr double near_least = 8.0;  ///< times the least normal number

struct Flushed {
  const ObservedStep* step = nullptr;
  const PlanNode* node = nullptr;
  TensorId tensor{};
  const Stat* stat = nullptr;
  double share = 0.0;
  std::optional<StillWeights> still{};
  bool beside_larger = false;   ///< it reaches far above the end of the range
  std::int64_t tensors = 0;
  std::int64_t steps = 0;
};

double share_of(const Stat& stat) {
  const std::int64_t was = stat.elements - stat.zero;
  return was <= 0 ? 0.0 : static_cast<double>(stat.flushed) / static_cast<double>(was);
}

Flushed find_flushed(const Evidence& e) {
  Flushed worst;
  for (const ObservedStep& step : e.observed()) {
    std::int64_t tensors = 0;
    Flushed here{.step = &step};
    for (const PlanNode& node : e.plan().nodes()) {
      for (const TensorId id : node.outputs) {
        const Stat* stat = e.plan().carries_scale(id) ? step.stat(id) : nullptr;
        if (stat == nullptr || stat->flushed == 0 || share_of(*stat) < much_flushed || !would_have_moved(e, step, id)) continue;
        const bool beside_larger = stat->rms && *stat->rms > near_least * info(e.plan().format(id)).min_normal;
        std::optional<StillWeights> still;
        if (beside_larger && !(by_own_size(e) && is_weight_gradient(e.plan(), id))) {
          still = still_weights(e, step, id, much_flushed);
          if (!still) continue;
        }
        ++tensors;
        if (share_of(*stat) > here.share) {
          here.node = &node;
          here.tensor = id;
          here.stat = stat;
          here.share = share_of(*stat);
          here.still = still;
          here.beside_larger = beside_larger;
        }
      }
    }
    if (here.node == nullptr) continue;
    here.tensors = tensors;
    here.steps = worst.steps + 1;
    if (worst.node == nullptr) worst = here;
    worst.steps = here.steps;
  }
  return worst;
}

struct Scaled {
  double greatest = 0.0;
  Format format = Format::fp32;
};

/// Of everything the backward pass of the step stores, what is nearest to the limit of its own format.
Scaled greatest_scaled(const Evidence& e, const ObservedStep& step) {
  Scaled nearest;
  for (const PlanNode& node : e.plan().nodes())
    for (const TensorId id : node.outputs)
      if (e.plan().carries_scale(id))
        if (const Stat* stat = step.stat(id); stat != nullptr) {
          const Format format = e.plan().format(id);
          if (stat->greatest / limit(format) > nearest.greatest / limit(nearest.format)) nearest = {stat->greatest, format};
        }
  return nearest;
}

void below_range(const Evidence& e, std::vector<Cause>& causes) {
  const Flushed worst = find_flushed(e);
  if (worst.node == nullptr) return;
  const Format format = e.plan().format(worst.tensor);
  const double scale = e.scale(worst.step->step);
  Cause cause;
  cause.kind = Kind::gradient_below_range;
  cause.gravity = Gravity::damage;
  cause.step = worst.step->step;
  cause.steps_seen = worst.steps;
  cause.node = worst.node->record.name;
  cause.operation = worst.node->record.operation;
  cause.phase = "backward";
  cause.tensor = e.plan().title(worst.tensor);
  cause.format = name(format);
  const std::int64_t was = worst.stat->elements - worst.stat->zero;
  cause.what =
      fmt::format("{} of the gradient elements of {} ({} of {} that are not 0) are zero in {}, at a loss scale of {}",
                  percent(worst.share), cause.tensor, worst.stat->flushed, was, name(format), scale_amount(scale));
  if (worst.tensors > 1) cause.what += fmt::format("; {} more {} as much", counted(worst.tensors - 1, "tensor"),
                              worst.tensors == 2 ? "loses" : "lose");
  if (worst.still) {
    cause.what += fmt::format("; {} of {} of {} are exactly 0 for that: these weights do not move by it", worst.still->zeros, counted(worst.still->elements, "element"), worst.still->gradient);
    cause.facts.push_back(fact("still", "weights without a gradient", static_cast<double>(worst.still->zeros), fmt::format("{} of {} in {}", worst.still->zeros, worst.still->elements, worst.still->gradient),
                               Provenance::inferred));
  } else if (worst.beside_larger) {
    cause.what += "; the others are larger by far, but Adam divides each weight's gradient by its own size: a small one counts as much";
  }
  cause.facts.push_back(fact("flushed", "flushed to zero", static_cast<double>(worst.stat->flushed),
                             fmt::format("{} of {} ({})", worst.stat->flushed, was, percent(worst.share))));
  cause.facts.push_back(fact("threshold", "flushed at or below", info(format).flush_threshold / scale,
                             fmt::format("{} unscaled, {} in {}", amount(info(format).flush_threshold / scale),
                                         amount(info(format).flush_threshold), name(format)),
                             Provenance::computed));
  cause.facts.push_back(fact("least_magnitude", "least gradient", worst.stat->least / scale,
                             fmt::format("{} unscaled, before rounding", amount(worst.stat->least / scale))));
  if (worst.stat->least > 0.0) {
    const auto [greatest, in] = greatest_scaled(e, *worst.step);
    const double edge = limit(in);
    const double factor = std::exp2(least_kept_power(worst.stat->least, format));
    const double full = std::exp2(least_normal_power(worst.stat->least, format));
    const double room = std::exp2(greatest_finite_power(greatest, in));
    cause.what += fmt::format(". Smallest scale at which none is lost: {}; largest safe scale: {}",
                              scale_amount(scale * factor), scale_amount(scale * room));
    cause.facts.push_back(fact("smallest_scale", "smallest useful scale", scale * factor, scale_amount(scale * factor),
                               Provenance::computed));
    cause.facts.push_back(
        fact("full_scale", "scale for all digits", scale * full,
             fmt::format("{}: the least gradient is then a normal number", scale_amount(scale * full)),
             Provenance::computed));
    cause.facts.push_back(
        fact("largest_scale", "largest safe scale", scale * room,
             fmt::format("{} (greatest scaled gradient {}, limit {})", scale_amount(scale * room), amount(greatest), amount(edge)),
             Provenance::computed));
  }
  causes.push_back(std::move(cause));
}

/// Whether the policy ever takes a scale that is not finite.
bool unguarded(const StepStory& story) {
  scaling::ScalerState state = scaling::initial_state(story.policy);
  state.scale = 0x1p127f;
  for (int i = 0; i < 100000; ++i) {
    const scaling::Transition t = scaling::next(story.policy, state, false);
    if (!std::isfinite(t.state.scale)) return true;
    if (t.event == scaling::ScaleEvent::growth_not_taken || t.state.scale < state.scale) return false;
    state = t.state;
  }
  return false;
}

void unbounded_scale(const Evidence& e, const StepStory& story, std::vector<Cause>& causes) {
  if (!story.scale_first || !story.scale_greatest || !story.policy_known || !scaling::is_dynamic(story.policy)) return;
  const double last = story.scale_last.value_or(*story.scale_first);
  const double most = std::max(*story.scale_greatest, last);
  const bool infinite = !std::isfinite(most);
  // apex's cap: beyond it a growing scale has never helped anybody.
  if (!infinite && (most <= 0x1p24 || most <= *story.scale_first || story.trailing > 1)) return;
  if (std::any_of(causes.begin(), causes.end(), [](const Cause& c) { return c.kind == Kind::scale_unbounded; })) return;
  const bool guarded = !unguarded(story);
  Cause cause;
  cause.kind = Kind::scale_unbounded;
  cause.gravity = infinite ? (story.trailing > 0 ? Gravity::fatal : Gravity::damage) : Gravity::note;
  cause.step = e.steps().empty() ? 0 : e.steps().back().step;
  for (const StepRecord& step : e.steps())
    if (infinite && step.loss_scale && !std::isfinite(*step.loss_scale)) {
      cause.step = step.step;
      break;
    }
  cause.what =
      infinite ? fmt::format("the loss scale grew from {} until it was infinite: nothing in the policy {} stops it",
                             scale_amount(*story.scale_first), scaling::name(story.policy))
               : fmt::format("the loss scale rose from {} to {}", scale_amount(*story.scale_first), scale_amount(most));
  if (!e.observed().empty()) {
    const ObservedStep& step = e.observed().back();
    const auto [greatest, in] = greatest_scaled(e, step);
    const double edge = limit(in);
    cause.what += fmt::format("; largest scaled gradient {} ({} of the limit) in step {}: growth gives nothing",
                              amount(greatest), amount(greatest / edge), shown(step.step));
    cause.facts.push_back(fact("greatest_scaled", "largest scaled gradient", greatest,
                               fmt::format("{} of the limit {}", amount(greatest / edge), amount(edge))));
  }
  cause.facts.push_back(fact("scale", "loss scale", most, scale_amount(most)));
  const double factor = e.numeric_setting("scaler.growth").value_or(2.0);
  if (!infinite && !guarded && story.interval && factor > 1.0) {
    const double growths = std::ceil((128.0 - std::log2(last)) / std::log2(factor));
    const double at = static_cast<double>(story.steps) + growths * *story.interval;
    cause.what += fmt::format("; it will be infinite at about step {}", amount(at));
    cause.facts.push_back(fact("infinite_at", "infinite at step", at, amount(at), Provenance::projected));
    if (e.run().steps_planned && at <= static_cast<double>(*e.run().steps_planned)) cause.gravity = Gravity::damage;
  }
  if (guarded) cause.what += fmt::format("; {} never takes a scale that is not finite", scaling::name(story.policy));
  causes.push_back(std::move(cause));
}

}  // namespace

void silent_gradient_causes(const Evidence& evidence, const StepStory& story, std::vector<Cause>& causes) {
  below_range(evidence, causes);
  unbounded_scale(evidence, story, causes);
}

}  // namespace ulpscope::reports
