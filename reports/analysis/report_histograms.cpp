#include "reports/analysis/report_histograms.h"

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/words.h"
#include "reports/analysis/scaled_tensors.h"

namespace ulpscope::reports::report_parts {

Number Placed::head_room(const TensorStatsRecord& row) const {
  if (row.greatest_magnitude.value_or(0.0) <= 0.0 || !std::isfinite(*row.greatest_magnitude)) return std::nullopt;
  return std::log2(limit(narrow ? format : Format::fp16) / *row.greatest_magnitude);
}

Places::Places(const PlanView& plan) {
  const int depth = layer_depth(plan);
  std::map<NodeId, const PlanNode*> nodes;
  for (const PlanNode& node : plan.nodes()) {
    nodes[node.record.id] = &node;
    if (node.record.phase == Phase::forward && node.record.operation != "cast") layer(layer_name(node.record.name, depth));
  }
  for (const auto& [id, record] : plan.tensors()) {
    const std::optional<Format> format = parse_format(record.format);
    if (!format || !is_float(*format)) continue;
    Placed tensor{.id = id, .name = plan.title(id), .role = record.role, .format = *format};
    tensor.narrow = info(*format).storage_bytes < 4;
    const auto node = record.node ? nodes.find(*record.node) : nodes.end();
    if (node != nodes.end()) {
      if (is_view(*node->second)) continue;
      tensor.operation = node->second->record.operation;
      tensor.phase = ulpscope::reports::name(node->second->record.phase);
    }
    tensor.layer = layer(layer_name(node != nodes.end() ? node->second->record.name : record.name, depth));
    tensors_.emplace(id, std::move(tensor));
  }
}

std::size_t Places::layer(const std::string& name) {
  const auto found = std::find(layers_.begin(), layers_.end(), name);
  if (found != layers_.end()) return static_cast<std::size_t>(found - layers_.begin());
  layers_.push_back(name);
  return layers_.size() - 1;
}

const Placed* Places::find(TensorId id) const {
  const auto found = tensors_.find(id);
  return found == tensors_.end() ? nullptr : &found->second;
}

void HistogramPick::add(const Placed& tensor, TensorStatsRecord row) {
  if (!row.histogram || row.histogram->counts.empty() || tensor.role == TensorRole::internal) return;
  const std::int64_t odd = row.nan.value_or(0) + row.positive_infinite.value_or(0) + row.negative_infinite.value_or(0) + row.overflowed.value_or(0);
  const auto not_zero = static_cast<double>(std::max<std::int64_t>(1, row.elements - row.zero.value_or(0)));
  // One bit of head-room weighs as much as 1 % that is flushed; what is not finite, more than anything.
  const double near = -tensor.head_room(row).value_or(200.0);
  const double lost = 100.0 * static_cast<double>(row.flushed.value_or(0)) / not_zero - 16.0;
  const double score = (odd > 0 ? 1000.0 : 0.0) + std::max(near, lost);
  const char* const why = odd > 0 ? "values that are not finite" : near >= lost ? "least head-room" : "most flushed to zero";
  const auto [at, added] = kept_.try_emplace(tensor.id);
  Kept& kept = at->second;
  if (added || score > kept.score) {
    kept.worst = row;
    kept.score = score;
    kept.why = why;
  }
  kept.latest = std::move(row);
}

std::vector<TensorHistogram> HistogramPick::chosen(std::size_t tensors) const {
  std::vector<std::pair<double, TensorId>> order;
  const bool any_narrow = std::any_of(kept_.begin(), kept_.end(), [&](const auto& k) { return places_->find(k.first)->narrow; });
  for (const auto& [id, kept] : kept_)
    if (places_->find(id)->narrow == any_narrow) order.emplace_back(-kept.score, id);
  std::sort(order.begin(), order.end());
  if (order.size() > tensors) order.resize(tensors);
  std::vector<TensorHistogram> list;
  for (const auto& [score, id] : order) {
    const Placed& tensor = *places_->find(id);
    const Kept& kept = kept_.at(id);
    const auto push = [&](const TensorStatsRecord& row, const char* why) {
      list.push_back({.tensor = tensor.name,
                      .layer = places_->layers()[tensor.layer],
                      .operation = tensor.operation,
                      .phase = tensor.phase,
                      .role = std::string(ulpscope::reports::name(tensor.role)),
                      .format = ulpscope::name(tensor.format),
                      .why = why,
                      .head_room = tensor.head_room(row),
                      .stats = row});
    };
    push(kept.worst, kept.why);
    if (kept.latest.step != kept.worst.step) push(kept.latest, "latest observed step");
  }
  return list;
}

}  // namespace ulpscope::reports::report_parts
