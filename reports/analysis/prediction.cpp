#include "reports/analysis/prediction.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "kernels/scaling/loss_scaler.h"
#include "reports/analysis/diagnosis/words.h"
#include "reports/analysis/prediction_parts.h"
#include "reports/analysis/scale_bounds.h"
#include "reports/analysis/scaled_tensors.h"

namespace ulpscope::reports {
namespace {

constexpr double least_usual_scale = 1.0;  // loss scaling raises gradients; one below it lowers them
constexpr double close_to_the_bar = 2.0;   // x the share: what rounding before it does to a tensor may come to as much
// Powers of two that are normal numbers of fp32, as a scale has to be.
constexpr int least_exponent = -126, greatest_exponent = 127;

struct Gradient {
  const StoredRange* stored = nullptr;
  ScaledRange range{};
};
using Layers = std::map<std::string, std::vector<Gradient>>;

/// The backward pass by layer. What it refers to is the input's.
Layers layers_of(const PredictionInput& input) {
  Layers layers;
  for (const StoredRange& r : input.ranges)
    if (r.backward && !r.histogram.counts.empty())
      layers[layer_name(r.node, input.layer_depth)].push_back({&r, {r.format, 1.0, r.greatest, &r.histogram, r.least}});
  return layers;
}

std::vector<ScaledRange> ranges_of(const std::vector<Gradient>& layer) {
  std::vector<ScaledRange> ranges;
  for (const Gradient& g : layer) ranges.push_back(g.range);
  return ranges;
}

const StoredRange* loses_most(const std::vector<Gradient>& layer, double scale) {
  return std::max_element(layer.begin(), layer.end(), [&](const Gradient& a, const Gradient& b) {
           return flushed_at(a.range, scale) < flushed_at(b.range, scale);
         })->stored;
}

ScaleWindow window_of(const PredictionInput& input) {
  ScaleWindow w;
  for (const auto& [name, layer] : layers_of(input)) {
    if (const auto k = least_scale(ranges_of(layer), w.share, least_exponent); k && (!w.lowest || *k > *w.lowest)) {
      w.lowest = k;
      w.lowest_tensor = loses_most(layer, std::exp2(*k - 1))->tensor;
    }
    for (const Gradient& g : layer) {
      const int full = exponent_of(info(g.range.format).min_normal) - g.range.histogram->first;  // its least binade
      w.full = std::max(w.full.value_or(full), full);
      const int highest = greatest_scale(g.range).value_or(greatest_exponent);
      if (w.highest && highest >= *w.highest) continue;
      w.highest = std::min(highest, greatest_exponent);
      w.highest_tensor = g.stored->tensor;
    }
  }
  return w;
}

struct LostBelow {
  double share = 0.0;
  std::string layer{};
  const StoredRange* most = nullptr;
};

/// Of the layer that loses most at a scale.
LostBelow lost_below(const PredictionInput& input, double scale) {
  LostBelow worst;
  for (const auto& [name, layer] : layers_of(input))
    if (const double share = flushed_share(ranges_of(layer), scale); worst.most == nullptr || share > worst.share)
      worst = {share, name, loses_most(layer, scale)};
  return worst;
}

/// Every planned step goes into the search for the scale.
bool too_few_steps(const PredictionInput& input, const ModePrediction& p) {
  return input.steps && p.first_skips && *p.first_skips > 0 && *p.first_skips >= *input.steps;
}

double first_scale(const ModePrediction& p) { return p.settled_scale.value_or(p.start_scale.value_or(1.0)); }

/// How the mode's policy finds a scale at which nothing overflows.
void search_scale(const PredictionInput& input, ModePrediction& p) {
  scaling::ScalerState state =
      scaling::initial_state(input.scaled ? input.policy : scaling::Policy{scaling::NoScaling{}});
  if (input.scaled) p.start_scale = static_cast<double>(state.scale);
  const auto too_large = [&](double scale) {
    return std::any_of(input.ranges.begin(), input.ranges.end(),
                       [&](const StoredRange& r) { return r.backward && overflows(r, scale); });
  };
  for (std::int64_t skips = 0; skips <= most_first_skips; ++skips) {
    if (!too_large(static_cast<double>(state.scale))) {
      p.first_skips = skips;
      p.settled_scale = static_cast<double>(state.scale);
      return;
    }
    const scaling::Transition next = scaling::next(input.policy, state, true);
    if (!input.scaled || !scaling::is_dynamic(input.policy) || next.event == scaling::ScaleEvent::gave_up) return;
    state = next.state;
  }
}

const StoredRange* greatest_gradient(const PredictionInput& input) {
  const StoredRange* found = nullptr;
  for (const StoredRange& r : input.ranges)
    if (r.backward && (found == nullptr || r.greatest / limit(r.format) > found->greatest / limit(found->format)))
      found = &r;
  return found;
}

std::string power(int exponent) { return fmt::format("2^{}", exponent); }

/// How a scale that starts too high comes down, and whether the planned steps suffice for it.
std::string descent(const PredictionInput& input, const ModePrediction& p) {
  const std::int64_t skips = *p.first_skips;
  const std::string until = fmt::format("{} skipped until the scale is {}", counted(skips, "step") + (skips == 1 ? " is" : " are"),
                                        scale_amount(*p.settled_scale));
  if (too_few_steps(input, p))
    return fmt::format("{}, and {} planned: none is applied", until,
                       counted(*input.steps, "step") + (*input.steps == 1 ? " is" : " are"));
  if (*p.settled_scale < least_usual_scale)
    return until + ", below 1: gradients this large are more than a scale that starts too high";
  return until + ", which is how loss scaling begins";
}

void backward_faults(const PredictionInput& input, const ModePrediction& p, std::vector<Foreseen>& found) {
  const double start = p.start_scale.value_or(1.0);
  const StoredRange* const r = greatest_gradient(input);
  if (r == nullptr) return;
  if (overflows(*r, start)) {
    Foreseen f = about(*r);
    f.kind = name(Kind::gradient_too_large_for_scale);
    f.overflow = true;
    const bool low = p.settled_scale.value_or(least_usual_scale) < least_usual_scale, few = too_few_steps(input, p);
    f.gravity = !p.first_skips || (few && low) ? Gravity::fatal : few || low ? Gravity::damage : Gravity::normal;
    const std::string held = held_against_limit(greatest_at(*r, start), r->format);
    f.what =
        p.first_skips
            ? fmt::format("at the first scale {} {} has {}: {}", scale_amount(start), r->tensor, held, descent(input, p))
        : input.scaled ? fmt::format("at the scale {} {} has {}, and the scale does not come down to where it fits",
                                     scale_amount(start), r->tensor, held)
                       : fmt::format("{} has {}, and there is no loss scale below 1 to help", r->tensor, held);
    f.facts.push_back(fact("greatest_magnitude", "unscaled", r->greatest, amount(r->greatest), Provenance::computed));
    f.facts.push_back(fact("largest_scale", "largest scale", std::ldexp(1.0, *p.window.highest),
                           power(*p.window.highest), Provenance::projected));
    if (p.first_skips)
      f.facts.push_back(fact("skips", "skips", static_cast<double>(*p.first_skips), counted(*p.first_skips, "step"),
                             Provenance::projected));
    found.push_back(std::move(f));
  }
  const LostBelow below = lost_below(input, first_scale(p));
  const double lost = below.share;
  if (lost <= p.window.share) return;
  Foreseen f = about(*below.most);
  f.kind = name(Kind::gradient_below_range);
  f.gravity = Gravity::damage;
  const bool close = lost <= close_to_the_bar * p.window.share;
  f.what = fmt::format("{} of the non-zero gradients of {} become zero {}, most of them in {}{}; a scale {} keeps them", percent(lost),
                       below.layer,
                       input.scaled ? fmt::format("at the scale {}", scale_amount(p.settled_scale.value_or(start)))
                                    : "without a loss scale",
                       below.most->tensor,
                       close ? fmt::format(" (close to the bar of {}, and in fp32: what {} makes zero before it is counted, too, so a run may stay below)",
                                           percent(p.window.share), name(below.most->format))
                             : "",
                       scale_words(p.window));
  if (!p.window.exists())
    f.what = fmt::format(
        "{} of the non-zero gradients of {} become zero, and no one scale keeps them: what keeps {} makes {} overflow",
        percent(lost), below.layer, p.window.lowest_tensor, p.window.highest_tensor);
  f.facts.push_back(fact("flushed_share", "flushed", lost, percent(lost), Provenance::projected));
  f.facts.push_back(fact("smallest_scale", "smallest scale", std::ldexp(1.0, p.window.lowest.value_or(0)),
                         power(p.window.lowest.value_or(0)), Provenance::projected));
  f.facts.push_back(fact("full_scale", "no subnormals from", std::ldexp(1.0, p.window.full.value_or(0)),
                         power(p.window.full.value_or(0)), Provenance::projected));
  f.facts.push_back(fact("largest_scale", "largest scale", std::ldexp(1.0, *p.window.highest), power(*p.window.highest),
                         Provenance::projected));
  found.push_back(std::move(f));
}

void room(const PredictionInput& input, ModePrediction& p) {
  for (const StoredRange& r : input.ranges) {
    // Of what leaves the format and is a mask, the check of its own speaks; what stays just inside has no room.
    if (r.backward || r.beside_loss || (r.explained && overflows(r, 1.0)) || r.greatest <= 0.0 || r.source == StoredRange::Source::constant) continue;
    const double bits = std::log2(limit(r.format) / r.greatest);
    if (p.room_forward && bits >= *p.room_forward) continue;
    p.room_forward = bits;
    p.room_tensor = r.tensor;
  }
}

std::string no_window(const PredictionInput& input, const ScaleWindow& window) {
  if (window.highest) return "";
  if (std::any_of(input.ranges.begin(), input.ranges.end(), [](const StoredRange& r) { return r.backward; }))
    return "unknown: the gradients that are stored narrow are zero or not finite in the step in fp32";
  return input.without_counterpart > 0 ? "unknown: no gradient that is stored narrow has a range in the step in fp32"
                                       : "no gradient is stored narrow";
}

const Foreseen* first_of(const ModePrediction& p, Gravity gravity) {
  const auto found =
      std::find_if(p.foreseen.begin(), p.foreseen.end(), [&](const Foreseen& f) { return f.gravity == gravity; });
  return found == p.foreseen.end() ? nullptr : &*found;
}

void judge(const PredictionInput& input, ModePrediction& p) {
  const Foreseen* const fatal = first_of(p, Gravity::fatal);
  const Foreseen* const damage = first_of(p, Gravity::damage);
  const std::string at = fatal != nullptr && !fatal->node.empty() ? " at " + fatal->node : "";
  if (fatal != nullptr && fatal->overflow) {
    p.forecast = Forecast::overflow;
    p.verdict = fmt::format("will overflow{}: {}", at, fatal->what);
  } else if (fatal != nullptr) {
    p.forecast = Forecast::fatal;
    p.verdict = fmt::format("will fail{}: {}", at, fatal->what);
  } else if (p.window.highest && !p.window.exists()) {
    p.forecast = Forecast::no_scale;
    p.verdict =
        fmt::format("no one loss scale suits the gradients: {} needs at least {}, {} at most {}",
                    p.window.lowest_tensor, power(*p.window.lowest), p.window.highest_tensor, power(*p.window.highest));
  } else if (damage != nullptr && damage->operation != "global_norm" &&  // its squares have no scale in them
             (damage->kind == name(Kind::gradient_below_range) || damage->kind == name(Kind::gradient_too_large_for_scale))) {
    p.forecast = Forecast::needs_scale;
    const bool close = damage->kind == name(Kind::gradient_below_range) &&
                       p.flushed.value_or(0.0) <= close_to_the_bar * p.window.share;
    p.verdict = fmt::format("gradients {}need a scale {}: {}", close ? "may " : "", scale_words(p.window), damage->what);
  } else if (damage != nullptr) {
    p.forecast = Forecast::damage;
    p.verdict = fmt::format("something is lost in silence{}: {}", damage->node.empty() ? "" : " at " + damage->node,
                            damage->what);
  } else {
    p.forecast = Forecast::safe;
    p.verdict = fmt::format("safe in range: {} of the first step that is stored narrow fits its format; what rounding does is not judged, and held-out data was not looked at",
                            p.without_counterpart > 0 ? "every tensor with a counterpart in fp32" : "every tensor");
    if (input.scaled && p.window.highest)
      p.verdict += fmt::format("; scales {} suit the gradients", scale_words(p.window));
    if (input.scaled && p.first_skips && *p.first_skips > 0)
      p.verdict += fmt::format(", so {} skipped first",
                               counted(*p.first_skips, "step") + (*p.first_skips == 1 ? " is" : " are"));
    const Foreseen* const contained = first_of(p, Gravity::contained);
    if (contained != nullptr && contained->overflow) p.verdict += fmt::format("; what leaves its format ({}) does no harm", contained->tensor.empty() ? contained->node : contained->tensor);
  }
}

}  // namespace

std::string_view name(Forecast forecast) {
  static constexpr std::array<std::string_view, 6> names{"safe", "needs_scale", "damage", "overflow", "no_scale", "fatal"};
  return names.at(static_cast<std::size_t>(forecast));
}

std::string scale_words(const ScaleWindow& w) {
  const std::string highest = power(w.highest.value_or(greatest_exponent));
  return w.lowest ? fmt::format("in [{}, {}]", power(*w.lowest), highest) : "up to " + highest;
}

bool is_to_be_followed(const PredictionInput& input, const ModePrediction& p) {
  return input.may_cancel || std::any_of(p.foreseen.begin(), p.foreseen.end(), [](const Foreseen& f) {
    return f.overflow && f.gravity == Gravity::fatal && f.kind != name(Kind::gradient_too_large_for_scale) && f.phase != "update";
  });
}

ModePrediction predict(const PredictionInput& input) {
  ModePrediction p;
  p.mode = input.mode;
  p.asked = input.asked;
  p.scaled = input.scaled;
  p.without_counterpart = input.without_counterpart;
  p.non_standard = input.non_standard;
  p.window = window_of(input);
  p.no_window = no_window(input, p.window);
  search_scale(input, p);
  p.flushed = lost_below(input, first_scale(p)).share;
  room(input, p);
  p.foreseen = input.checks;   // first, where they speak of the same operation as a range: they say why
  foresee_overflows(input, p.foreseen);
  foresee_what_happened(input, p.foreseen);
  backward_faults(input, p, p.foreseen);
  foresee_flushes(input, p.foreseen);
  foresee_schedule(input, p, p.foreseen);
  std::stable_sort(p.foreseen.begin(), p.foreseen.end(), [](const Foreseen& a, const Foreseen& b) {
    return std::pair(a.gravity, a.order) < std::pair(b.gravity, b.order);
  });
  judge(input, p);
  return p;
}

}  // namespace ulpscope::reports
