// Made-up batches that can be learnt, for the models that read no text: from whole numbers alone, the same everywhere.
#pragma once

#include <cstdint>
#include <initializer_list>

#include "engine/data/dataset.h"
#include "engine/models/models.h"
#include "kernels/math/random.h"

namespace ulpscope::engine::golden {

/// A number in [0, below) that depends on all keys.
inline std::int32_t draw(std::initializer_list<std::int64_t> keys, std::int64_t below) {
  std::uint64_t x = 0;
  for (const std::int64_t key : keys) x = math::splitmix64(x ^ static_cast<std::uint64_t>(key));
  return static_cast<std::int32_t>((x >> 16) % static_cast<std::uint64_t>(below));
}

/// Examples by iteration and row; nothing is held out.
class MadeBatches : public Dataset {
 public:
  std::string describe() const override { return "made up"; }
  std::uint64_t fingerprint() const override { return 1; }
  std::int64_t held_out_batches(std::int64_t) const override { return 0; }
  void held_out_batch(std::int64_t, std::span<const Tensor>) const override {}
};

/// Sequences of 3 tokens to the whole context, then padding (token 0); every other token, on average, is one of its label's.
class SequenceBatches final : public MadeBatches {
 public:
  explicit SequenceBatches(const EncoderConfig& config) : c_(config) {}

  void training_batch(const BatchKey& key, std::span<const Tensor> inputs) const override {
    auto* tokens = static_cast<std::int32_t*>(inputs[0].data);
    auto* targets = static_cast<std::int32_t*>(inputs[1].data);
    const std::int64_t own = (c_.vocabulary - 1) / c_.classes;
    for (std::int64_t row = 0; row < inputs[0].shape[0]; ++row) {
      const std::int64_t label = targets[row] = draw({1, key.iteration, row}, c_.classes);
      const std::int64_t length = 3 + draw({2, key.iteration, row}, c_.context - 2);
      for (std::int64_t t = 0; t < c_.context; ++t) {
        std::int32_t token = 1 + draw({3, key.iteration, row, t}, c_.vocabulary - 1);
        if (draw({4, key.iteration, row, t}, 2) == 0) token = static_cast<std::int32_t>(1 + label * own + token % own);
        tokens[row * c_.context + t] = t < length ? token : 0;
      }
    }
  }

 private:
  EncoderConfig c_;
};

/// A pattern for each label, and noise as large: whole multiples of 2^-10 in [-2, 2).
class ImageBatches final : public MadeBatches {
 public:
  explicit ImageBatches(const CnnConfig& config) : c_(config) {}

  void training_batch(const BatchKey& key, std::span<const Tensor> inputs) const override {
    auto* features = static_cast<float*>(inputs[0].data);
    auto* targets = static_cast<std::int32_t*>(inputs[1].data);
    const std::int64_t rows = inputs[0].shape[0], size = inputs[0].elements() / rows;
    for (std::int64_t row = 0; row < rows; ++row) {
      const std::int64_t label = targets[row] = draw({5, key.iteration, row}, c_.classes);
      for (std::int64_t i = 0; i < size; ++i)
        features[row * size + i] = static_cast<float>(draw({6, label, i}, 2048) + draw({7, key.iteration, row, i}, 2048) - 2048) * 0x1p-10f;
    }
  }

 private:
  CnnConfig c_;
};

}  // namespace ulpscope::engine::golden
