// A small residual network (He et al. 2016) for planes [C, H, W] or lines [C, L]: a stem, blocks of two convolutions, each
// block after the first with half the resolution and twice the channels; batch norm, ReLU, the mean of each channel, a linear
// head. Kernels start normal with sqrt(2 / (outputs * kernel size)), as torchvision's ResNet.
#include <fmt/format.h>

#include "engine/models/builders.h"
#include "kernels/error.h"
#include "kernels/math/elementary.h"

namespace ulpscope::engine {
namespace {

constexpr double momentum = 0.1;   // of the running statistics, as torch.nn.BatchNorm2d

void check(const CnnConfig& c) {
  if (c.shape.size() != 2 && c.shape.size() != 3)
    throw UsageError(fmt::format("model.shape has {} dimensions; a cnn takes [channels, length] or [channels, height, width]", c.shape.size()));
  for (const std::int64_t size : c.shape) require_positive("model.shape", size);
  require_positive("model.channels", c.channels);
  require_positive("model.blocks", c.blocks);
  require_positive("model.classes", c.classes);
  require_positive("model.kernel", c.kernel);
  if (c.kernel % 2 == 0) throw UsageError(fmt::format("model.kernel must be odd, not {}", c.kernel));
  if (c.blocks > 12) throw UsageError(fmt::format("model.blocks must be at most 12 (each doubles the channels), not {}", c.blocks));
}

class Builder {
 public:
  Builder(const CnnConfig& config, std::int64_t batch, bool training) : c_(config), batch_(batch), training_(training) {}

  Model build() {
    Graph& g = model_.graph;
    std::vector<std::int64_t> shape{batch_};
    shape.insert(shape.end(), c_.shape.begin(), c_.shape.end());
    const ValueId features = g.add_input("features", Shape(shape), Format::fp32);
    const ValueId targets = g.add_input("targets", Shape{batch_}, Format::i32);
    ValueId x = g.apply("relu", "stem.relu", {convolve("stem", features, c_.channels, c_.kernel, 1)});
    for (std::int64_t i = 0; i < c_.blocks; ++i) x = block(fmt::format("block{}", i), x, c_.channels << i, i == 0 ? 1 : 2);
    const Shape last = g.value(x).shape;
    const std::vector<std::int64_t> plane(last.dim.begin() + 2, last.dim.begin() + last.rank);
    x = g.apply(planes() ? "avg_pool2d" : "avg_pool1d", "pool", {x}, {{"kernel", plane}});
    x = g.apply("flatten", "flatten", {x});
    const double bound = 1.0 / math::sqrt(static_cast<double>(last[1]));
    const ValueId logits = add_linear(g, "head", x, c_.classes, {Initial::Kind::uniform, bound, {}});
    model_.loss = g.apply("cross_entropy", "loss", {logits, targets});
    // Running statistics are overwritten at the end, so that nothing in between is kept from fusing.
    for (const Running& r : running_) g.apply("ema", r.name + ".ema", {r.buffer, r.batch}, {{"momentum", momentum}});
    model_.inputs = {features, targets};
    model_.tokens_per_batch = batch_;
    return std::move(model_);
  }

 private:
  struct Running {
    std::string name;
    ValueId buffer, batch;
  };

  bool planes() const { return c_.shape.size() == 3; }

  /// Convolution name.conv and batch norm name.bn.
  ValueId convolve(const std::string& name, ValueId x, std::int64_t outputs, std::int64_t kernel, std::int64_t stride) {
    Graph& g = model_.graph;
    std::vector<std::int64_t> weight{outputs, g.value(x).shape[1], kernel};
    if (planes()) weight.push_back(kernel);
    const double fan = static_cast<double>(outputs * kernel * (planes() ? kernel : 1));
    const ValueId w = g.add_parameter(name + ".conv.weight", Shape(weight), {Initial::Kind::normal, math::sqrt(2.0 / fan), {}});
    x = g.apply(planes() ? "conv2d" : "conv1d", name + ".conv", {x, w}, {{"stride", stride}, {"padding", kernel / 2}});
    return normalise(name + ".bn", x);
  }

  ValueId normalise(const std::string& name, ValueId x) {
    Graph& g = model_.graph;
    const Shape channels{g.value(x).shape[1]};
    const ValueId gain = g.add_parameter(name + ".weight", channels, {Initial::Kind::ones, 0.0, {}});
    const ValueId bias = g.add_parameter(name + ".bias", channels, {});
    const ValueId mean = g.add_buffer(name + ".running_mean", channels, {});
    const ValueId variance = g.add_buffer(name + ".running_var", channels, {Initial::Kind::ones, 0.0, {}});
    const Attributes attributes{{"epsilon", 1e-5}};
    if (!training_) return g.apply("batch_norm", name, {x, gain, bias, mean, variance}, attributes);
    const NodeId node = g.add_node("batch_norm", name, {x, gain, bias}, attributes);
    const std::vector<ValueId> out = g.node(node).outputs;
    running_.push_back({name + ".running_mean", mean, out[1]});
    running_.push_back({name + ".running_var", variance, out[3]});
    return out[0];
  }

  ValueId block(const std::string& name, ValueId x, std::int64_t channels, std::int64_t stride) {
    Graph& g = model_.graph;
    ValueId y = g.apply("relu", name + ".relu1", {convolve(name + ".1", x, channels, c_.kernel, stride)});
    y = convolve(name + ".2", y, channels, c_.kernel, 1);
    const bool same = stride == 1 && g.value(x).shape[1] == channels;
    const ValueId shortcut = same ? x : convolve(name + ".shortcut", x, channels, 1, stride);
    return g.apply("relu", name + ".relu2", {g.apply("add", name + ".residual", {y, shortcut})});
  }

  const CnnConfig& c_;
  std::int64_t batch_;
  bool training_;
  std::vector<Running> running_;
  Model model_;
};

}  // namespace

Model build_cnn(const CnnConfig& config, std::int64_t batch, bool training) {
  check(config);
  return Builder(config, batch, training).build();
}

}  // namespace ulpscope::engine
