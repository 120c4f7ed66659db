// The batches of a graph that brings its own.
#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "engine/data/draw.h"
#include "engine/graph/initialise.h"
#include "engine/models/graph_model.h"
#include "engine/streams.h"
#include "kernels/error.h"
#include "kernels/math/random.h"

namespace ulpscope::engine {
namespace {

/// Steps that no training reaches: the held-out batches are drawn for them.
constexpr std::int64_t first_held_out_step = std::int64_t{1} << 40;
constexpr std::int64_t most_held_out_batches = std::int64_t{1} << 20;
/// Held-out batches are the same for all seeds, so that their losses can be compared.
constexpr std::uint64_t held_out_seed = 0;

std::vector<float> drawn(const Numbers& n, std::uint64_t stream, const BatchKey& at, std::size_t count) {
  std::vector<float> values(count);
  const std::uint64_t key = math::random_key(at.seed, stream);
  const auto low = static_cast<float>(n.low), high = static_cast<float>(n.high);
  for (std::size_t i = 0; i < count; ++i) {
    switch (n.kind) {
      case Numbers::Kind::normal: values[i] = high * math::random_normal(key, i, at.iteration, at.micro_batch); break;
      case Numbers::Kind::integers:
        values[i] = static_cast<float>(draw_below(key, i, at, static_cast<std::int64_t>(n.high)));
        break;
      default: values[i] = low + (high - low) * math::random_uniform(key, i, at.iteration, at.micro_batch); break;
    }
  }
  return values;
}

class GraphData final : public Dataset {
 public:
  explicit GraphData(const GraphConfig& config) {
    for (const GraphNode& node : config.nodes) {
      if (node.op != "input") continue;
      inputs_.push_back(node);
      for (const Numbers& n : node.values) any_drawn_ = any_drawn_ || n.drawn();
    }
  }

  std::string describe() const override {
    std::string text = "made by the experiment file:";
    for (const GraphNode& node : inputs_)
      text += fmt::format("{} {} [{}]", &node == inputs_.data() ? "" : ",", node.name, fmt::join(node.shape, ", "));
    return text;
  }

  std::uint64_t fingerprint() const override {
    Fnv1a sum;
    for (const GraphNode& node : inputs_) {
      sum.bytes(std::as_bytes(std::span(node.name)));
      for (const std::int64_t d : node.shape) sum.number(static_cast<std::uint64_t>(d));
      for (const Numbers& n : node.values) {
        sum.number(static_cast<std::uint64_t>(n.kind));
        sum.bytes(std::as_bytes(std::span(&n.low, 1)));
        sum.bytes(std::as_bytes(std::span(&n.high, 1)));
        sum.bytes(std::as_bytes(std::span(n.list)));
      }
    }
    return sum.value();
  }

  void training_batch(const BatchKey& key, std::span<const Tensor> inputs) const override { fill(key, key.iteration, inputs); }

  std::int64_t held_out_batches(std::int64_t) const override {
    if (inputs_.empty()) return 1;
    return any_drawn_ ? most_held_out_batches : 1;
  }

  void held_out_batch(std::int64_t index, std::span<const Tensor> inputs) const override {
    fill({held_out_seed, first_held_out_step + index, 0}, first_held_out_step, inputs);
  }

 private:
  void fill(const BatchKey& key, std::int64_t step, std::span<const Tensor> tensors) const {
    for (std::size_t i = 0; i < inputs_.size() && i < tensors.size(); ++i) {
      const GraphNode& node = inputs_[i];
      const Numbers& n = node.values[std::min(static_cast<std::size_t>(step), node.values.size() - 1)];
      const Tensor& to = tensors[i];
      const auto count = static_cast<std::size_t>(to.elements());
      if (n.drawn())
        store(drawn(n, batch_stream(node.name), key, count), to.format, to.data);
      else if (n.kind == Numbers::Kind::constant)
        store(std::vector<float>(count, static_cast<float>(n.low)), to.format, to.data);
      else
        store(n.list, to.format, to.data);
    }
  }

  std::vector<GraphNode> inputs_;
  bool any_drawn_ = false;
};

}  // namespace

bool has_own_data(const GraphConfig& config) {
  const GraphNode* with = nullptr;
  const GraphNode* without = nullptr;
  for (const GraphNode& node : config.nodes)
    if (node.op == "input") (node.values.empty() ? without : with) = &node;
  if (with != nullptr && without != nullptr)
    throw UsageError(fmt::format("{}input '{}' has no values, but '{}' has: give all inputs values, or none and data.path",
                                 without->where.empty() ? "" : without->where + ": ", without->name, with->name));
  return without == nullptr;
}

std::unique_ptr<Dataset> make_graph_data(const GraphConfig& config) {
  has_own_data(config);
  return std::make_unique<GraphData>(config);
}

}  // namespace ulpscope::engine
