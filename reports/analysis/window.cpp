#include "reports/analysis/window.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "reports/analysis/scale_bounds.h"
#include "reports/analysis/scaled_tensors.h"

namespace ulpscope::reports {
namespace {

// Powers of two that are normal numbers of fp32, as a scale has to be.
constexpr int least_exponent = -126, greatest_exponent = 127;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A gradient in one step.
struct Sample {
  std::string tensor{};
  ScaledRange range{};
};

/// bits of the exponent: a range that the loss scale can leave.
bool narrow(Format format) { return is_float(format) && info(format).exponent_bits < info(Format::fp32).exponent_bits; }

std::vector<ScaledRange> ranges_of(const std::vector<Sample>& samples) {
  std::vector<ScaledRange> ranges;
  for (const Sample& s : samples) ranges.push_back(s.range);
  return ranges;
}

double share_at(const std::vector<Sample>& samples, double scale) { return flushed_share(ranges_of(samples), scale); }

/// What is known of the tensor: an operand that was not finite says nothing of its range.
bool whole(const TensorStatsRecord& row) {
  return row.nan.value_or(0) + row.positive_infinite.value_or(0) + row.negative_infinite.value_or(0) == 0;
}

/// Ranges and rehearsals have rows, too, which say nothing of these.
bool of_a_look(const TensorStatsRecord& row) { return row.observation == "shadow" || row.observation == "replay" || row.observation == "sampled"; }

/// Of one step.
void narrow_down(const std::vector<Sample>& samples, std::int64_t step, double share, LayerWindow& window) {
  if (const auto k = least_scale(ranges_of(samples), share, least_exponent)) {
    const double lowest = *k > greatest_exponent ? infinity : std::exp2(*k);
    if (!window.lowest || lowest > *window.lowest) {
      window.lowest = lowest;
      window.lowest_step = step;
      const double below = std::exp2(*k - 1);
      const auto most = std::max_element(samples.begin(), samples.end(), [&](const Sample& a, const Sample& b) {
        return flushed_at(a.range, below) < flushed_at(b.range, below);
      });
      window.lowest_tensor = most->tensor;
    }
  }
  for (const Sample& s : samples) {
    const auto k = greatest_scale(s.range);
    if (!k || *k >= greatest_exponent) continue;
    const double highest = *k < least_exponent ? 0.0 : std::exp2(*k);
    if (window.highest && highest >= *window.highest) continue;
    window.highest = highest;
    window.highest_step = step;
    window.highest_tensor = s.tensor;
  }
}

/// What makes a gradient infinite: something of the backward pass that does not fit, or something of the forward pass, whatever the scale.
struct Origin {
  bool overflow = false, forward = false;
};

/// Of all gradients of a step that are not finite.
std::map<TensorId, Origin> origins(const Evidence& e, const ObservedStep& step) {
  std::map<TensorId, Origin> found;
  for (const PlanNode& node : e.plan().nodes()) {
    if (node.record.phase != Phase::backward) continue;
    Origin origin;
    for (const auto& input : node.inputs) {
      const Stat* stat = input ? step.stat(*input) : nullptr;
      if (stat == nullptr || stat->bad() == 0) continue;
      const auto before = found.find(*input);
      origin.overflow = origin.overflow || (before != found.end() && before->second.overflow);
      origin.forward = origin.forward || before == found.end() || before->second.forward;
    }
    const Stat* inner = node.inner ? step.stat(*node.inner) : nullptr;
    const bool inside = inner != nullptr && inner->overflowed > 0;
    for (const TensorId output : node.outputs)
      if (const Stat* stat = step.stat(output); stat != nullptr && stat->bad() > 0)
        found[output] = {origin.overflow || inside || stat->overflowed > 0, origin.forward};
  }
  return found;
}

/// A gradient that was finite in no observed step.
struct Blind {
  std::string layer{}, tensor{};
  std::optional<int> below{};  ///< exponent of the greatest scale below that at which it was infinite; none: the scale may have no part in it
  std::int64_t step = 0;
};

std::vector<Blind> find_blind(const std::vector<TensorStatsRecord>& rows, const Evidence& e) {
  std::set<TensorId> finite, infinite;
  for (const TensorStatsRecord& row : rows)
    if (of_a_look(row) && e.observed_step(row.step) != nullptr) (whole(row) ? finite : infinite).insert(row.tensor);
  std::vector<Blind> list;
  std::vector<TensorId> ids;
  const int depth = layer_depth(e.plan());
  for (const ScaledTensor& tensor : scaled_tensors(e.plan())) {
    if (!narrow(tensor.format) || finite.contains(tensor.id) || !infinite.contains(tensor.id)) continue;
    list.push_back({.layer = layer_name(tensor.node->record.name, depth), .tensor = e.plan().title(tensor.id)});
    ids.push_back(tensor.id);
  }
  for (const ObservedStep& step : e.observed()) {
    const double scale = e.scale(step.step);
    const StepRecord* const record = e.step(step.step);
    const bool of_use = !list.empty() && scale > 0.0 && std::isfinite(scale) && record != nullptr && record->loss && std::isfinite(*record->loss);
    if (!of_use) continue;
    const std::map<TensorId, Origin> from = origins(e, step);
    const int below = static_cast<int>(std::ceil(std::log2(scale))) - 1;
    for (std::size_t i = 0; i < list.size(); ++i) {
      const auto origin = from.find(ids[i]);
      if (origin == from.end() || !origin->second.overflow || origin->second.forward || (list[i].below && *list[i].below <= below)) continue;
      list[i].below = below;
      list[i].step = step.step;
    }
  }
  return list;
}

void narrow_down(const Blind& blind, LayerWindow& window) {
  if (!window.blind) window.blind_tensor = blind.tensor;
  window.blind = true;
  if (!blind.below || (window.highest && *window.highest <= std::exp2(*blind.below))) return;
  window.highest = std::exp2(*blind.below);
  window.highest_step = blind.step;
  window.highest_tensor = blind.tensor;
}

/// By layer, by step.
using Samples = std::map<std::string, std::map<std::int64_t, std::vector<Sample>>>;

/// The rows of one step and tensor: the shadow's if there are any, else the replay's, else the run's own.
int rank(const std::string& observation) { return observation == "shadow" ? 2 : observation == "replay" ? 1 : 0; }

Samples gather(const std::vector<TensorStatsRecord>& rows, const Evidence& e, Provenance& provenance) {
  std::map<TensorId, ScaledTensor> gradients;
  for (const ScaledTensor& tensor : scaled_tensors(e.plan()))
    if (narrow(tensor.format)) gradients.emplace(tensor.id, tensor);
  std::map<std::pair<std::int64_t, TensorId>, int> best;
  const auto of_interest = [&](const TensorStatsRecord& row) {
    return of_a_look(row) && gradients.contains(row.tensor) && e.observed_step(row.step) != nullptr && whole(row);
  };
  for (const TensorStatsRecord& row : rows)
    if (of_interest(row)) {
      int& known = best.try_emplace({row.step, row.tensor}, 0).first->second;
      known = std::max(known, rank(row.observation));
    }
  Samples samples;
  const int depth = layer_depth(e.plan());
  for (const TensorStatsRecord& row : rows) {
    if (!of_interest(row) || rank(row.observation) != best.at({row.step, row.tensor})) continue;
    const bool shadow = row.observation == "shadow";
    const double scale = shadow ? 1.0 : e.scale(row.step);
    if (!(scale > 0.0) || !std::isfinite(scale)) continue;
    const ScaledTensor& tensor = gradients.at(row.tensor);
    samples[layer_name(tensor.node->record.name, depth)][row.step].push_back(
        {e.plan().title(row.tensor),
         {tensor.format, scale, row.greatest_magnitude.value_or(0.0), row.histogram ? &*row.histogram : nullptr, row.least_magnitude.value_or(0.0)}});
    if (shadow) provenance = Provenance::recomputed;
  }
  return samples;
}

/// What suits both.
void join(LossScaleWindow& window, const LayerWindow& layer) {
  if (layer.blind && !window.model.blind) window.model.blind_tensor = layer.blind_tensor;
  window.model.blind = window.model.blind || layer.blind;
  if (layer.lowest && (!window.model.lowest || *layer.lowest > *window.model.lowest)) {
    window.model.lowest = layer.lowest;
    window.model.lowest_tensor = layer.lowest_tensor;
    window.model.lowest_step = layer.lowest_step;
    window.lowest_layer = layer.layer;
  }
  if (layer.highest && (!window.model.highest || *layer.highest < *window.model.highest)) {
    window.model.highest = layer.highest;
    window.model.highest_tensor = layer.highest_tensor;
    window.model.highest_step = layer.highest_step;
    window.highest_layer = layer.layer;
  }
}

double width(const LayerWindow& layer) {
  if (layer.blind) return 0.0;  // of these least is known: first
  if (!layer.lowest || !layer.highest) return infinity;
  return *layer.highest / *layer.lowest;
}

}  // namespace

std::optional<LossScaleWindow> scale_window(const RunFileReader& reader, const Evidence& evidence, double share) {
  if (evidence.observed().empty()) return std::nullopt;
  const std::vector<TensorStatsRecord> rows = evidence.statistics(reader);
  LossScaleWindow window{.share = share};
  Samples samples = gather(rows, evidence, window.provenance);
  const std::vector<Blind> blind = find_blind(rows, evidence);
  const bool bounded = std::any_of(blind.begin(), blind.end(), [](const Blind& b) { return b.below.has_value(); });
  if (samples.empty() && !bounded) return std::nullopt;
  for (const Blind& b : blind) samples.try_emplace(b.layer);
  std::set<std::int64_t> steps;
  std::vector<Sample> latest;
  for (const auto& [layer, by_step] : samples)
    for (const auto& [step, list] : by_step) steps.insert(step);
  if (steps.empty())
    for (const ObservedStep& step : evidence.observed()) steps.insert(step.step);
  window.steps.assign(steps.begin(), steps.end());
  window.scale = evidence.scale(window.steps.back());
  for (const auto& [name, by_step] : samples) {
    LayerWindow layer{.layer = name};
    for (const auto& [step, list] : by_step) {
      narrow_down(list, step, share, layer);
      if (step == window.steps.back()) narrow_down(list, step, share, window.latest);
      if (!(*window.scale > 0.0)) continue;
      const double lost = share_at(list, *window.scale);
      if (!layer.flushed_most || lost > *layer.flushed_most) {
        layer.flushed_most = lost;
        layer.flushed_most_step = step;
      }
      if (step != window.steps.back()) continue;
      layer.flushed = lost;
      latest.insert(latest.end(), list.begin(), list.end());
    }
    for (const Blind& b : blind)
      if (b.layer == name) narrow_down(b, layer);
    if (layer.flushed_most && (!window.model.flushed_most || *layer.flushed_most > *window.model.flushed_most)) {
      window.model.flushed_most = layer.flushed_most;   // of its worst layer
      window.model.flushed_most_step = layer.flushed_most_step;
    }
    join(window, layer);
    window.layers.push_back(std::move(layer));
  }
  window.latest.blind = window.model.blind;
  for (const Blind& b : blind)
    if (b.step == window.steps.back()) narrow_down(b, window.latest);
  if (!latest.empty()) window.model.flushed = share_at(latest, *window.scale);
  std::stable_sort(window.layers.begin(), window.layers.end(), [](const LayerWindow& a, const LayerWindow& b) { return width(a) < width(b); });
  return window;
}

}  // namespace ulpscope::reports
