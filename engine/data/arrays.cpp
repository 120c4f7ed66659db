#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "engine/data/array.h"
#include "engine/data/dataset.h"
#include "engine/data/draw.h"
#include "engine/data/file_bytes.h"
#include "engine/data/idx.h"
#include "engine/data/npy.h"
#include "engine/streams.h"
#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

/// By the first bytes: a name says little ("train-images-idx3-ubyte").
Array read_array(const std::string& path) {
  const std::vector<std::byte> start = first_bytes(path, 6);
  return !start.empty() && start.front() == std::byte{0x93} ? read_npy(path) : read_idx(path);
}

void hash(Fnv1a& sum, const Array& array) {
  for (const std::int64_t d : array.shape) sum.number(static_cast<std::uint64_t>(d));
  sum.number(static_cast<std::uint64_t>(array.type));
  sum.bytes(array.data);
}

Shape row_shape(const Array& array) {
  if (array.shape.size() > static_cast<std::size_t>(max_rank))
    refuse_file(array.source, fmt::format("its shape {} has more than {} dimensions", shape_text(array.shape), max_rank));
  return Shape(std::span(array.shape).subspan(1));
}

void check_range(const Array& array, const char* what, std::int64_t count, std::optional<std::int64_t> ignored) {
  if (!is_integer(array.type))
    refuse_file(array.source, fmt::format("its elements are {}, and {}s are integers", name(array.type), what));
  for (std::int64_t i = 0; i < array.elements(); ++i) {
    const std::int64_t value = array.integer(i);
    if ((value >= 0 && value < count) || (ignored && value == *ignored)) continue;
    refuse_file(array.source, fmt::format("{} {} at {} is out of range: valid are 0 to {}{}", what, value, index_text(array, i),
                                          count - 1, ignored ? fmt::format(", and {} (ignored)", *ignored) : ""));
  }
}

/// As a batch has it.
float scaled_value(double value, const ArrayOptions& options) {
  return static_cast<float>(static_cast<double>(static_cast<float>(value)) * options.scale + options.shift);
}

class ArrayDataset final : public Dataset {
 public:
  ArrayDataset(Array features, std::optional<Array> targets, const ArrayOptions& options, std::vector<std::int64_t> order,
               std::int64_t held_out)
      : features_(std::move(features)), targets_(std::move(targets)), options_(options), order_(std::move(order)),
        training_(static_cast<std::int64_t>(order_.size()) - held_out), held_out_(held_out) {
    example_.features = row_shape(features_);
    example_.whole_numbers = is_integer(features_.type);
    example_.targets = targets_.has_value();
    if (targets_) describe_targets();
    Fnv1a sum;
    hash(sum, features_);
    if (targets_) hash(sum, *targets_);
    sum.number(static_cast<std::uint64_t>(training_));
    for (const double number : {options.scale, options.shift}) sum.number(std::bit_cast<std::uint64_t>(number));
    fingerprint_ = sum.value();
  }

  std::string describe() const override {
    return fmt::format("arrays: {} {} of {}{}, {} for training, {} held out", features_.source, to_string(example_.features),
                       name(features_.type), targets_ ? fmt::format(", {}", targets_->source) : "", training_, held_out_);
  }
  std::uint64_t fingerprint() const override { return fingerprint_; }
  std::optional<Example> example() const override { return example_; }

  void check_labels(std::int64_t classes, std::optional<std::int64_t> ignored) const override {
    if (!targets_) throw UsageError("data.labels is missing: the model needs a label for every example");
    check_range(*targets_, "label", classes, ignored);
  }

  void check_tokens(std::int64_t vocabulary) const override { check_range(features_, "token", vocabulary, std::nullopt); }

  void training_batch(const BatchKey& key, std::span<const Tensor> inputs) const override {
    const std::int64_t batch = check(inputs);
    const std::uint64_t random_key = math::random_key(key.seed, batch_stream("arrays"));
    for (std::int64_t row = 0; row < batch; ++row)
      copy(order_[static_cast<std::size_t>(draw_below(random_key, static_cast<std::uint64_t>(row), key, training_))], row, inputs);
  }

  std::int64_t held_out_batches(std::int64_t batch) const override {
    if (held_out_ == 0 || batch < 1) return 0;
    return std::max<std::int64_t>(1, held_out_ / batch);
  }

  void held_out_batch(std::int64_t index, std::span<const Tensor> inputs) const override {
    const std::int64_t batch = check(inputs);
    if (index < 0 || index >= held_out_batches(batch))
      throw Error(fmt::format("held_out_batch({}) of {} batches of {} examples", index, held_out_batches(batch), batch));
    for (std::int64_t row = 0; row < batch; ++row)
      copy(order_[static_cast<std::size_t>(training_ + (index * batch + row) % held_out_)], row, inputs);
  }

 private:
  void describe_targets() {
    example_.target = row_shape(*targets_);
    if (!is_integer(targets_->type)) return;
    std::int64_t least = 0, greatest = -1;
    for (std::int64_t i = 0; i < targets_->elements(); ++i) {
      least = std::min(least, targets_->integer(i));
      greatest = std::max(greatest, targets_->integer(i));
    }
    if (least >= 0) example_.classes = greatest + 1;
  }

  /// The batch size, once the inputs are what these arrays fill.
  std::int64_t check(std::span<const Tensor> inputs) const {
    const std::int64_t batch = inputs.empty() || inputs[0].shape.rank == 0 ? 0 : inputs[0].shape[0];
    if (batch > 0 && fits(inputs[0], features_, batch) && inputs.size() <= (targets_ ? 2u : 1u) &&
        (inputs.size() == 1 || fits(inputs[1], *targets_, batch)))
      return batch;
    std::string got;
    for (const Tensor& input : inputs) got += fmt::format(" {} {}", to_string(input.shape), name(input.format));
    throw UsageError(fmt::format("data: an example of {} is {} {}{}; the model's inputs are{}", features_.source,
                                 name(features_.type), to_string(example_.features),
                                 targets_ ? fmt::format(", its target {} {}", name(targets_->type), to_string(example_.target))
                                          : ", without a target",
                                 got.empty() ? " none" : got));
  }
  static bool fits(const Tensor& input, const Array& array, std::int64_t batch) {
    const bool format = input.format == Format::fp32 || (input.format == Format::i32 && is_integer(array.type));
    return format && input.data != nullptr && input.contiguous() && input.shape.rank > 0 && input.shape[0] == batch &&
           input.elements() == batch * array.row_elements();
  }

  void copy(std::int64_t example, std::int64_t row, std::span<const Tensor> inputs) const {
    copy(features_, example, inputs[0], row, true);
    if (inputs.size() > 1) copy(*targets_, example, inputs[1], row, false);
  }
  void copy(const Array& from, std::int64_t example, const Tensor& to, std::int64_t row, bool scaled) const {
    const std::int64_t n = from.row_elements();
    if (to.format == Format::i32) {
      auto* values = static_cast<std::int32_t*>(to.data) + row * n;
      for (std::int64_t i = 0; i < n; ++i) values[i] = static_cast<std::int32_t>(from.integer(example * n + i));
      return;
    }
    const std::span<float> values(static_cast<float*>(to.data) + row * n, static_cast<std::size_t>(n));
    from.numbers(example * n, values);
    if (!scaled || (options_.scale == 1.0 && options_.shift == 0.0)) return;
    for (float& value : values) value = scaled_value(value, options_);
  }

  Array features_;
  std::optional<Array> targets_;
  ArrayOptions options_;
  std::vector<std::int64_t> order_;   ///< those for training, then those held out
  std::int64_t training_, held_out_;
  Example example_;
  std::uint64_t fingerprint_ = 0;
};

/// The same for every seed and mode: drawn from a stream of its own.
std::vector<std::int64_t> shuffled(std::int64_t examples) {
  std::vector<std::int64_t> order(static_cast<std::size_t>(examples));
  std::iota(order.begin(), order.end(), 0);
  const std::uint64_t key = math::random_key(0, batch_stream("held out"));
  for (std::int64_t i = examples - 1; i > 0; --i)
    std::swap(order[static_cast<std::size_t>(i)],
              order[static_cast<std::size_t>(draw_below(key, static_cast<std::uint64_t>(i), {}, i + 1))]);
  return order;
}

void refuse_not_finite(const Array& array) {
  const std::int64_t at = first_not_finite(array);
  if (at >= 0)
    refuse_file(array.source, fmt::format("the element at {} is {}", index_text(array, at),
                                          std::isnan(array.number(at)) ? "NaN" : "infinite, or beyond fp32's range"));
}

void refuse_scaled_out_of_range(const Array& array, const ArrayOptions& options) {
  if (options.scale == 1.0 && options.shift == 0.0) return;
  for (std::int64_t i = 0; i < array.elements(); ++i)
    if (!std::isfinite(scaled_value(array.number(i), options)))
      refuse_file(array.source, fmt::format("the element at {}, {:g}, is beyond fp32's range when it is scaled: data.scale = {:g}, "
                                            "data.shift = {:g}", index_text(array, i), array.number(i), options.scale, options.shift));
}

/// Tokens and labels become i32.
void refuse_large_integers(const Array& array) {
  if (array.type != ElementType::i8 && array.type != ElementType::u4) return;
  for (std::int64_t i = 0; i < array.elements(); ++i)
    if (array.integer(i) < std::numeric_limits<std::int32_t>::min() || array.integer(i) > std::numeric_limits<std::int32_t>::max())
      refuse_file(array.source, fmt::format("{} at {} does not fit 32 bits", array.integer(i), index_text(array, i)));
}

Array checked(Array array, const char* what) {
  if (array.shape.empty()) refuse_file(array.source, fmt::format("it holds one number, and {} are [examples, …]", what));
  if (array.elements() == 0) refuse_file(array.source, fmt::format("its shape {} holds no example", shape_text(array.shape)));
  refuse_not_finite(array);
  refuse_large_integers(array);
  return array;
}

}  // namespace

std::unique_ptr<Dataset> load_arrays(const std::string& features, const std::string& targets, const ArrayOptions& options) {
  if (!(options.held_out >= 0.0 && options.held_out <= 0.9))
    throw UsageError(fmt::format("held_out {}: must be a share from 0 to 0.9", options.held_out));
  Array x = checked(read_array(features), "features");
  refuse_scaled_out_of_range(x, options);
  std::optional<Array> y;
  if (!targets.empty()) y = checked(read_array(targets), "labels");
  const std::int64_t examples = x.shape[0];
  if (y && y->shape[0] != examples)
    refuse_file(targets, fmt::format("it has {} examples, and the features in {} have {}", y->shape[0], features, examples));
  const std::int64_t held_out = share_of(examples, options.held_out);
  if (held_out >= examples)
    throw UsageError(fmt::format("data: held_out {} of the {} examples of {} leaves none for training", options.held_out,
                                 examples, features));
  return std::make_unique<ArrayDataset>(std::move(x), std::move(y), options, shuffled(examples), held_out);
}

}  // namespace ulpscope::engine
