#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <utility>

#include "engine/data/dataset.h"
#include "engine/data/draw.h"
#include "engine/data/text_files.h"
#include "engine/streams.h"
#include "kernels/error.h"

namespace ulpscope::engine {

namespace {

/// The bytes, then how many of them are for training.
std::uint64_t fnv1a(const std::vector<std::uint8_t>& bytes, std::int64_t training) {
  Fnv1a sum;
  sum.bytes(std::as_bytes(std::span(bytes)));
  sum.number(static_cast<std::uint64_t>(training));
  return sum.value();
}

class TextDataset final : public Dataset {
 public:
  TextDataset(TextBytes text, const TextOptions& options, std::int64_t held_out)
      : text_(std::move(text)), options_(options), training_(size() - held_out), held_out_(held_out),
        fingerprint_(fnv1a(text_.bytes, training_)) {}

  std::string describe() const override {
    return fmt::format("text: {}, {} bytes, {} for training, {} held out", text_.source, size(), training_, held_out_);
  }
  std::uint64_t fingerprint() const override { return fingerprint_; }

  void training_batch(const BatchKey& key, std::span<const Tensor> inputs) const override {
    const std::int64_t batch = check(inputs);
    const std::uint64_t random_key = math::random_key(key.seed, batch_stream("text"));
    const std::int64_t offsets = training_ - options_.context;   // the window's target still is a training byte
    for (std::int64_t row = 0; row < batch; ++row)
      copy_window(draw_below(random_key, static_cast<std::uint64_t>(row), key, offsets), row, inputs);
  }

  std::int64_t held_out_batches(std::int64_t batch) const override {
    if (held_out_ == 0 || batch < 1) return 0;
    return std::max<std::int64_t>(1, held_out_windows() / batch);
  }

  void held_out_batch(std::int64_t index, std::span<const Tensor> inputs) const override {
    const std::int64_t batch = check(inputs);
    if (index < 0 || index >= held_out_batches(batch))
      throw Error(fmt::format("held_out_batch({}) of {} batches of {} windows", index, held_out_batches(batch), batch));
    for (std::int64_t row = 0; row < batch; ++row) {
      const std::int64_t window = (index * batch + row) % held_out_windows();
      copy_window(training_ + window * options_.context, row, inputs);
    }
  }

 private:
  std::int64_t size() const { return static_cast<std::int64_t>(text_.bytes.size()); }
  /// A context apart, so that no byte is read twice as an input or as a target.
  std::int64_t held_out_windows() const { return (held_out_ - 1) / options_.context; }

  /// The batch size, once the inputs are what this text fills.
  std::int64_t check(std::span<const Tensor> inputs) const {
    const bool all = options_.targets == TextTargets::every_position;
    if (inputs.size() == 2) {
      const Tensor& tokens = inputs[0];
      const std::int64_t batch = tokens.shape.rank == 2 ? tokens.shape[0] : 0;
      const Shape want_tokens{batch, options_.context};
      const Shape want_targets = all ? want_tokens : Shape{batch};
      if (batch > 0 && tokens.shape == want_tokens && inputs[1].shape == want_targets && usable(tokens) && usable(inputs[1]))
        return batch;
    }
    std::string got;
    for (const Tensor& input : inputs) got += fmt::format(" {} {}", to_string(input.shape), name(input.format));
    throw Error(fmt::format("text data fills two contiguous i32 tensors, tokens [batch, {}] and targets {}, but was given:{}",
                            options_.context, all ? "alike" : "[batch]", got.empty() ? " nothing" : got));
  }
  static bool usable(const Tensor& tensor) {
    return tensor.format == Format::i32 && tensor.data != nullptr && tensor.contiguous();
  }

  void copy_window(std::int64_t offset, std::int64_t row, std::span<const Tensor> inputs) const {
    const std::int64_t context = options_.context;
    const std::uint8_t* bytes = text_.bytes.data() + offset;
    auto* tokens = static_cast<std::int32_t*>(inputs[0].data) + row * context;
    std::copy(bytes, bytes + context, tokens);
    auto* targets = static_cast<std::int32_t*>(inputs[1].data);
    if (options_.targets == TextTargets::every_position)
      std::copy(bytes + 1, bytes + 1 + context, targets + row * context);
    else
      targets[row] = bytes[context];
  }

  TextBytes text_;
  TextOptions options_;
  std::int64_t training_;   ///< bytes; the held-out ones follow
  std::int64_t held_out_;
  std::uint64_t fingerprint_;
};

/// What would work instead of a split with a part shorter than a window: another share, if one does, and another context.
std::string advise(std::int64_t total, std::int64_t window, double share) {
  const std::int64_t held_out = share_of(total, share);
  const std::int64_t context = std::min(held_out, total - held_out) - 1;
  std::string advice;
  if (2 * window <= total) {
    // Four digits after the point, rounded towards the feasible side.
    const double scale = 1e4 / static_cast<double>(total);
    const double at_least = std::ceil(static_cast<double>(window) * scale) / 1e4;
    const double at_most = std::min(0.9, std::floor(static_cast<double>(total - window) * scale) / 1e4);
    if (share > at_most)
      advice = fmt::format("set held_out to at most {}", at_most);
    else if (at_least <= at_most)
      advice = fmt::format("set held_out to at least {}", at_least);
  }
  if (context >= 1) advice += fmt::format("{}context to at most {}", advice.empty() ? "set " : ", or ", context);
  return advice + (advice.empty() ? "set held_out to 0" : ", or held_out to 0");
}

}  // namespace

std::unique_ptr<Dataset> load_text(const std::vector<std::string>& paths, const TextOptions& options) {
  if (options.context < 1) throw UsageError(fmt::format("context {}: must be at least 1", options.context));
  if (!(options.held_out >= 0.0 && options.held_out <= 0.9))
    throw UsageError(fmt::format("held_out {}: must be a share from 0 to 0.9", options.held_out));

  TextBytes text = read_text(paths);
  const auto total = static_cast<std::int64_t>(text.bytes.size());
  if (options.context >= total)
    throw UsageError(fmt::format("data: context {} is longer than the text: '{}' has {} bytes, and a window needs context + 1",
                                 options.context, text.source, total));
  const std::int64_t window = options.context + 1;
  const std::int64_t held_out = share_of(total, options.held_out);
  const std::int64_t training = total - held_out;
  if (training < window || (held_out > 0 && held_out < window))
    throw UsageError(fmt::format("data: held_out {} of '{}' ({} bytes) leaves {} bytes for training and {} held out, but each "
                                 "needs a window of {} (context {} + 1): {}",
                                 options.held_out, text.source, total, training, held_out, window, options.context,
                                 advise(total, window, options.held_out)));
  return std::make_unique<TextDataset>(std::move(text), options, held_out);
}

}  // namespace ulpscope::engine
