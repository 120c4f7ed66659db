#include <fmt/format.h>

#include <string>

#include "engine/data/dataset.h"
#include "engine/data/draw.h"
#include "engine/streams.h"
#include "kernels/error.h"

namespace ulpscope::engine {

namespace {

class RandomTokens final : public Dataset {
 public:
  RandomTokens(std::int64_t vocabulary, const TextOptions& options) : vocabulary_(vocabulary), options_(options) {}

  std::string describe() const override {
    return fmt::format("random: tokens drawn uniformly from {}, nothing can be learned from them", vocabulary_);
  }
  std::uint64_t fingerprint() const override {
    Fnv1a sum;
    sum.number(static_cast<std::uint64_t>(vocabulary_));
    sum.number(static_cast<std::uint64_t>(options_.context));
    return sum.value();
  }

  void check_labels(std::int64_t classes, std::optional<std::int64_t> /*ignored*/) const override {
    if (vocabulary_ > classes)
      throw UsageError(fmt::format("random tokens of a vocabulary of {} are targets of a model of {} classes: they must not be fewer (model.classes)", vocabulary_, classes));
  }
  void check_tokens(std::int64_t vocabulary) const override {
    if (vocabulary_ > vocabulary)
      throw UsageError(fmt::format("random tokens of a vocabulary of {}, and the model has one of {}", vocabulary_, vocabulary));
  }

  void training_batch(const BatchKey& key, std::span<const Tensor> inputs) const override {
    draw(math::random_key(key.seed, batch_stream("random tokens")), key, inputs);
  }
  std::int64_t held_out_batches(std::int64_t batch) const override { return options_.held_out > 0.0 && batch > 0 ? held_out_count : 0; }
  void held_out_batch(std::int64_t index, std::span<const Tensor> inputs) const override {
    if (index < 0 || index >= held_out_batches(1)) throw Error(fmt::format("held_out_batch({}) of {} batches", index, held_out_batches(1)));
    draw(math::random_key(0, batch_stream("random tokens held out")), {0, index, 0}, inputs);
  }

 private:
  static constexpr std::int64_t held_out_count = 64;

  /// Each row is a window: its targets are its tokens, one further on.
  void draw(std::uint64_t random_key, const BatchKey& at, std::span<const Tensor> inputs) const {
    const std::int64_t context = options_.context, rows = check(inputs);
    const bool all = options_.targets == TextTargets::every_position;
    auto* const tokens = static_cast<std::int32_t*>(inputs[0].data);
    auto* const targets = static_cast<std::int32_t*>(inputs[1].data);
    for (std::int64_t row = 0; row < rows; ++row)
      for (std::int64_t i = 0; i <= context; ++i) {
        const auto token = static_cast<std::int32_t>(draw_below(random_key, static_cast<std::uint64_t>(row * (context + 1) + i), at, vocabulary_));
        if (i < context) tokens[row * context + i] = token;
        if (all && i > 0) targets[row * context + i - 1] = token;
        if (!all && i == context) targets[row] = token;
      }
  }

  std::int64_t check(std::span<const Tensor> inputs) const {
    const std::int64_t batch = inputs.size() == 2 && inputs[0].shape.rank == 2 ? inputs[0].shape[0] : 0;
    const Shape tokens{batch, options_.context};
    const Shape targets = options_.targets == TextTargets::every_position ? tokens : Shape{batch};
    bool fit = batch > 0 && inputs[0].shape == tokens && inputs[1].shape == targets;
    for (const Tensor& input : inputs) fit = fit && input.format == Format::i32 && input.data != nullptr && input.contiguous();
    if (!fit) throw Error(fmt::format("random tokens fill two contiguous i32 tensors, tokens [batch, {}] and their targets", options_.context));
    return batch;
  }

  std::int64_t vocabulary_;
  TextOptions options_;
};

}  // namespace

std::unique_ptr<Dataset> random_tokens(std::int64_t vocabulary, const TextOptions& options) {
  if (vocabulary < 1) throw UsageError(fmt::format("random tokens of a vocabulary of {}: it must be at least 1", vocabulary));
  if (options.context < 1) throw UsageError(fmt::format("context {}: must be at least 1", options.context));
  return std::make_unique<RandomTokens>(vocabulary, options);
}

}  // namespace ulpscope::engine
