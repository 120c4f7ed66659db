#include "reports/analysis/diagnosis/headroom.h"

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/words.h"
#include "reports/analysis/scaled_tensors.h"

namespace ulpscope::reports {
namespace {

constexpr double near = 2.0;  ///< bits
constexpr std::size_t longest_list = 8;
constexpr double least_growth = 0.25;  ///< bits over all observed steps: less is noise

bool narrow(Format format) {
  return format != Format::fp32 && format != Format::tf32 && format != Format::fp64 && format != Format::i32;
}

/// Bits between the greatest magnitude and the limit: 0 at the limit, below 0 beyond it.
Number room(const Stat& stat, Format format) {
  if (stat.greatest <= 0.0) return std::nullopt;
  return std::log2(limit(format) / stat.greatest);
}

void lower(Number& least, const Number& value) {
  if (value && (!least || *value < *least)) least = value;
}

struct Layer {
  std::string format{};
  std::string tensor{};
  Number forward{}, backward{};
  bool bad_forward = false, bad_backward = false;
  std::int64_t flushed = 0, not_zero = 0;
};

std::map<std::string, Layer> layers_of(const Evidence& e, const ObservedStep& step, int depth) {
  std::map<std::string, Layer> layers;
  for (const PlanNode& node : e.plan().nodes()) {
    if (node.record.phase == Phase::update) continue;
    for (const TensorId id : node.outputs) {
      const Stat* stat = step.stat(id);
      const Format format = e.plan().format(id);
      if (stat == nullptr || !narrow(format)) continue;
      Layer& layer = layers[layer_name(node.record.name, depth)];
      const bool backward = node.record.phase == Phase::backward;
      const Number bits = room(*stat, format);
      Number before = layer.forward;
      lower(before, layer.backward);
      if (bits && (!before || *bits < *before)) {
        layer.tensor = e.plan().title(id);
        layer.format = name(format);
      }
      lower(backward ? layer.backward : layer.forward, bits);
      if (stat->nan + stat->infinite() > 0) (backward ? layer.bad_backward : layer.bad_forward) = true;
      if (!e.plan().carries_scale(id)) continue;
      layer.flushed += stat->flushed;
      layer.not_zero += stat->elements - stat->zero - stat->nan - stat->infinite();
    }
  }
  return layers;
}

Number difference(const Number& now, const Number& then) { return now && then ? Number(*now - *then) : std::nullopt; }

Number share(const Layer& layer) {
  return layer.not_zero > 0 ? Number(static_cast<double>(layer.flushed) / static_cast<double>(layer.not_zero))
                            : std::nullopt;
}

/// Bits a step that the tensor's greatest magnitude grows by: the least over the observed steps' first half, their second, and the last quarter,
/// where there are steps enough. What grew at the start alone (weights that begin at 0), or swings, is no trend. Unknown with fewer than
/// three steps.
Number steady_growth(const Evidence& evidence, TensorId tensor) {
  std::vector<std::pair<double, double>> points;   // step, bits
  for (const ObservedStep& step : evidence.observed())
    if (const Stat* stat = step.stat(tensor); stat != nullptr && stat->greatest > 0.0 && stat->bad() == 0)
      points.emplace_back(static_cast<double>(step.step), std::log2(stat->greatest));
  if (points.size() < 3) return std::nullopt;
  const auto& last = points.back();
  const auto nearest = [&](double share) {   // none of the ends
    const double wanted = points.front().first + share * (last.first - points.front().first);
    return *std::min_element(points.begin() + 1, points.end() - 1, [&](const auto& a, const auto& b) { return std::fabs(a.first - wanted) < std::fabs(b.first - wanted); });
  };
  const auto rate = [](const std::pair<double, double>& from, const std::pair<double, double>& to) { return (to.second - from.second) / (to.first - from.first); };
  const auto middle = nearest(0.5), late = nearest(0.75);
  return std::min({rate(points.front(), middle), rate(middle, last), rate(late, last)});
}

double least_room(const LayerRoom& layer) {
  return std::min(layer.above_forward.value_or(HUGE_VAL), layer.above_backward.value_or(HUGE_VAL));
}

}  // namespace

std::vector<LayerRoom> head_room(const Evidence& evidence) {
  std::vector<LayerRoom> list;
  if (evidence.observed().empty()) return list;
  const int depth = layer_depth(evidence.plan());
  const auto now = layers_of(evidence, evidence.observed().back(), depth);
  const auto then = layers_of(evidence, evidence.observed().front(), depth);
  const bool moved = evidence.observed().size() > 1;
  for (const auto& [name, layer] : now) {
    LayerRoom room{
        .layer = name, .format = layer.format, .above_forward = layer.forward, .above_backward = layer.backward};
    room.flushed = share(layer);
    room.forward_not_finite = layer.bad_forward;
    room.backward_not_finite = layer.bad_backward;
    room.tensor = layer.tensor;
    const auto was = then.find(name);
    if (moved && was != then.end()) {
      room.above_forward_change = difference(layer.forward, was->second.forward);
      room.above_backward_change = difference(layer.backward, was->second.backward);
      room.flushed_change = difference(room.flushed, share(was->second));
    }
    if (room.above_forward || room.above_backward || room.flushed || layer.bad_forward || layer.bad_backward) list.push_back(std::move(room));
  }
  std::stable_sort(list.begin(), list.end(),
                   [](const LayerRoom& a, const LayerRoom& b) { return least_room(a) < least_room(b); });
  return list;
}

std::vector<Watched> watch_list(const Evidence& evidence) {
  std::vector<Watched> list;
  if (evidence.observed().empty()) return list;
  const ObservedStep& last = evidence.observed().back();
  const auto span = static_cast<double>(last.step - evidence.observed().front().step);
  const std::int64_t reached = evidence.steps().empty() ? last.step : std::max(last.step, evidence.steps().back().step);
  const double horizon = std::max(span, static_cast<double>(evidence.run().steps_planned.value_or(0) - last.step));
  for (const PlanNode& node : evidence.plan().nodes()) {
    if (node.record.phase != Phase::forward || node.record.operation == "scale_loss") continue;  // what the scale multiplies is the scaler's to look after
    for (const TensorId id : node.outputs) {
      const Format format = evidence.plan().format(id);
      const Stat* stat = last.stat(id);
      if (stat == nullptr || !narrow(format) || stat->bad() > 0) continue;
      const Number bits = room(*stat, format);
      if (!bits) continue;
      Watched watched{.node = node.record.name,
                      .tensor = evidence.plan().title(id),
                      .format = name(format),
                      .greatest_magnitude = stat->greatest,
                      .room = bits};
      watched.growth = steady_growth(evidence, id);
      if (watched.growth && *watched.growth * span >= least_growth) {
        // A step that the run has passed, with no overflow that would have been observed, is no projection any more.
        const std::int64_t leaves = last.step + static_cast<std::int64_t>(std::ceil(*bits / *watched.growth));
        if (leaves > reached) watched.leaves = leaves;
      }
      const bool soon = watched.leaves && static_cast<double>(*watched.leaves - last.step) <= horizon;
      if (*bits < near || soon) list.push_back(std::move(watched));
    }
  }
  std::stable_sort(list.begin(), list.end(), [](const Watched& a, const Watched& b) { return *a.room < *b.room; });
  if (list.size() > longest_list) list.resize(longest_list);
  return list;
}

}  // namespace ulpscope::reports
