// A multi-layer perceptron on bytes: the embedded context, laid end to end, predicts the next byte (as Bengio et al. 2003).
// Weights start uniform in ±1/sqrt(inputs), as torch.nn.Linear's do; biases start at zero.
#include <fmt/format.h>

#include "engine/models/builders.h"
#include "kernels/error.h"
#include "kernels/math/elementary.h"

namespace ulpscope::engine {
namespace {

void check(const MlpConfig& c) {
  require_vocabulary(c.vocabulary);
  require_positive("model.context", c.context);
  require_positive("model.embedding", c.embedding);
  require_positive("model.width", c.width);
  require_positive("model.layers", c.layers);
  if (c.activation != "gelu" && c.activation != "relu" && c.activation != "tanh")
    throw UsageError(fmt::format("unknown model.activation '{}'. Choices: gelu, relu, tanh", c.activation));
}

Initial uniform_for(std::int64_t inputs) {
  return {Initial::Kind::uniform, 1.0 / math::sqrt(static_cast<double>(inputs)), {}};
}

}  // namespace

Model build_mlp(const MlpConfig& c, std::int64_t batch) {
  check(c);
  Model model;
  Graph& g = model.graph;
  const ValueId tokens = g.add_input("tokens", Shape{batch, c.context}, Format::i32);
  const ValueId targets = g.add_input("targets", Shape{batch}, Format::i32);
  const ValueId table = g.add_parameter("embedding.weight", Shape{c.vocabulary, c.embedding}, {Initial::Kind::normal, 1.0, {}});
  ValueId x = g.apply("embedding", "embedding", {table, tokens});
  x = g.apply("reshape", "flatten", {x}, {{"shape", std::vector<std::int64_t>{batch, c.context * c.embedding}}});
  for (std::int64_t i = 0; i < c.layers; ++i) {
    const std::string layer = fmt::format("layer{}", i);
    x = add_linear(g, layer, x, c.width, uniform_for(g.value(x).shape[-1]));
    x = g.apply(c.activation, layer + "." + c.activation, {x});
  }
  const ValueId logits = add_linear(g, "head", x, c.vocabulary, uniform_for(c.width));
  model.loss = g.apply("cross_entropy", "loss", {logits, targets});
  model.inputs = {tokens, targets};
  model.tokens_per_batch = batch;
  return model;
}

}  // namespace ulpscope::engine
