// A dataset that gives the same inputs in every batch, or those a function makes.
#pragma once

#include <cstring>
#include <functional>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/graph/initialise.h"

namespace ulpscope::engine::testing {

class ListDataset : public Dataset {
 public:
  using Fill = std::function<std::vector<std::vector<float>>(std::int64_t iteration)>;
  explicit ListDataset(Fill fill) : fill_(std::move(fill)) {}
  explicit ListDataset(std::vector<std::vector<float>> inputs)
      : fill_([list = std::move(inputs)](std::int64_t) { return list; }) {}

  std::string describe() const override { return "list"; }
  std::uint64_t fingerprint() const override { return 1; }
  void training_batch(const BatchKey& key, std::span<const Tensor> inputs) const override { write(key.iteration, inputs); }
  std::int64_t held_out_batches(std::int64_t) const override { return 1; }
  void held_out_batch(std::int64_t, std::span<const Tensor> inputs) const override { write(0, inputs); }

 private:
  void write(std::int64_t iteration, std::span<const Tensor> inputs) const {
    const std::vector<std::vector<float>> lists = fill_(iteration);
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      if (inputs[i].format == Format::i32) {
        auto* to = static_cast<std::int32_t*>(inputs[i].data);
        for (std::size_t k = 0; k < lists[i].size(); ++k) to[k] = static_cast<std::int32_t>(lists[i][k]);
      } else {
        store(lists[i], inputs[i].format, inputs[i].data);
      }
    }
  }
  Fill fill_;
};

/// A text with structure: short words in a fixed pseudo-random order.
inline std::string made_up_text(std::size_t bytes) {
  static const char* const words[] = {"scale ", "loss ", "half ", "bits ", "round ", "to ", "even ", "sum ", "norm\n"};
  std::string text;
  std::uint32_t state = 1;
  while (text.size() < bytes) text += words[(state = state * 1664525u + 1013904223u) / 477218589u];
  return text;
}

}  // namespace ulpscope::engine::testing
