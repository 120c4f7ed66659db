#include "reports/analysis/window.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "reports/analysis/scaled_tensors.h"

namespace ulpscope::reports {
namespace {

// Powers of two that are normal numbers of fp32, as a scale has to be.
constexpr int least_exponent = -126, greatest_exponent = 127;
constexpr double infinity = std::numeric_limits<double>::infinity();

/// A gradient in one step.
struct Sample {
  std::string tensor{};
  const FormatInfo* format = nullptr;
  const TensorStatsRecord* row = nullptr;
  double scale = 1.0;   ///< behind the numbers of the row
};

/// bits of the exponent: a range that the loss scale can leave.
bool narrow(Format format) { return is_float(format) && info(format).exponent_bits < info(Format::fp32).exponent_bits; }

double not_zero(const TensorStatsRecord& row) {
  double sum = 0.0;
  if (row.histogram)
    for (const std::uint64_t count : row.histogram->counts) sum += static_cast<double>(count);
  return sum;
}

/// Finite elements that are not zero and would be at another scale. Inside a bin they are taken to lie log-uniformly, which
/// matters only where the scales are not a power of two apart.
double flushed_at(const Sample& s, double scale) {
  if (!s.row->histogram) return 0.0;
  const double edge = std::log2(s.format->flush_threshold) + std::log2(s.scale) - std::log2(scale);
  double lost = 0.0, exponent = s.row->histogram->first;
  for (const std::uint64_t count : s.row->histogram->counts) {
    lost += static_cast<double>(count) * std::clamp(edge - exponent, 0.0, 1.0);
    exponent += 1.0;
  }
  return lost;
}

double share_at(const std::vector<Sample>& samples, double scale) {
  double lost = 0.0, all = 0.0;
  for (const Sample& s : samples) {
    lost += flushed_at(s, scale);
    all += not_zero(*s.row);
  }
  return all > 0.0 ? lost / all : 0.0;
}

bool overflows_at(const Sample& s, double scale) {
  const double greatest = s.row->greatest_magnitude.value_or(0.0);
  return greatest * (scale / s.scale) >= s.format->overflow_threshold;
}

/// What is known of the tensor: an operand that was not finite says nothing of its range.
bool whole(const TensorStatsRecord& row) {
  return row.nan.value_or(0) + row.positive_infinite.value_or(0) + row.negative_infinite.value_or(0) == 0;
}

/// Of one step.
void narrow_down(const std::vector<Sample>& samples, double share, LayerWindow& window) {
  if (share_at(samples, std::exp2(least_exponent)) > share) {
    int k = least_exponent;
    while (k <= greatest_exponent && share_at(samples, std::exp2(k)) > share) ++k;
    const double lowest = k > greatest_exponent ? infinity : std::exp2(k);
    if (!window.lowest || lowest > *window.lowest) {
      window.lowest = lowest;
      const double below = std::exp2(k - 1);
      const auto most = std::max_element(samples.begin(), samples.end(), [&](const Sample& a, const Sample& b) { return flushed_at(a, below) < flushed_at(b, below); });
      window.lowest_tensor = most->tensor;
    }
  }
  for (const Sample& s : samples) {
    if (s.row->greatest_magnitude.value_or(0.0) <= 0.0) continue;
    int k = greatest_exponent;
    while (k >= least_exponent && overflows_at(s, std::exp2(k))) --k;
    if (k == greatest_exponent) continue;
    const double highest = k < least_exponent ? 0.0 : std::exp2(k);
    if (window.highest && highest >= *window.highest) continue;
    window.highest = highest;
    window.highest_tensor = s.tensor;
  }
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
    const bool known = row.observation == "shadow" || row.observation == "replay" || row.observation == "sampled";
    return known && gradients.contains(row.tensor) && e.observed_step(row.step) != nullptr && whole(row);
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
    samples[layer_name(tensor.node->record.name, depth)][row.step].push_back({e.plan().title(row.tensor), &info(tensor.format), &row, scale});
    if (shadow) provenance = Provenance::recomputed;
  }
  return samples;
}

/// What suits both.
void join(LossScaleWindow& window, const LayerWindow& layer) {
  if (layer.lowest && (!window.model.lowest || *layer.lowest > *window.model.lowest)) {
    window.model.lowest = layer.lowest;
    window.model.lowest_tensor = layer.lowest_tensor;
    window.lowest_layer = layer.layer;
  }
  if (layer.highest && (!window.model.highest || *layer.highest < *window.model.highest)) {
    window.model.highest = layer.highest;
    window.model.highest_tensor = layer.highest_tensor;
    window.highest_layer = layer.layer;
  }
}

double width(const LayerWindow& layer) {
  if (!layer.lowest || !layer.highest) return infinity;
  return *layer.highest / *layer.lowest;
}

}  // namespace

std::optional<LossScaleWindow> scale_window(const RunFileReader& reader, const Evidence& evidence, double share) {
  if (evidence.observed().empty()) return std::nullopt;
  const std::vector<TensorStatsRecord> rows = reader.tensor_stats(evidence.run().id);
  LossScaleWindow window{.share = share};
  const Samples samples = gather(rows, evidence, window.provenance);
  if (samples.empty()) return std::nullopt;
  std::set<std::int64_t> steps;
  std::vector<Sample> latest;
  for (const auto& [layer, by_step] : samples)
    for (const auto& [step, list] : by_step) steps.insert(step);
  window.steps.assign(steps.begin(), steps.end());
  window.scale = evidence.scale(window.steps.back());
  for (const auto& [name, by_step] : samples) {
    LayerWindow layer{.layer = name};
    for (const auto& [step, list] : by_step) narrow_down(list, share, layer);
    if (by_step.contains(window.steps.back()) && *window.scale > 0.0) {
      const std::vector<Sample>& now = by_step.at(window.steps.back());
      layer.flushed = share_at(now, *window.scale);
      latest.insert(latest.end(), now.begin(), now.end());
    }
    join(window, layer);
    window.layers.push_back(std::move(layer));
  }
  if (!latest.empty()) window.model.flushed = share_at(latest, *window.scale);
  std::stable_sort(window.layers.begin(), window.layers.end(), [](const LayerWindow& a, const LayerWindow& b) { return width(a) < width(b); });
  return window;
}

}  // namespace ulpscope::reports
