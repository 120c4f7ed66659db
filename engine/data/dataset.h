// Where batches come from. A batch is a function of seed, iteration and micro-batch alone: the same in every mode.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "kernels/tensor.h"

namespace ulpscope::engine {

struct BatchKey {
  std::uint64_t seed = 0;
  std::int64_t iteration = 0;
  std::int32_t micro_batch = 0;
};

/// Training and held-out batches. Implementations are immutable and may be shared by several trainers.
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// "text: README.md, 48213 bytes, 43391 for training, 4822 held out"
  virtual std::string describe() const = 0;
  /// Identifies the content: printed as hexadecimal in run files, compared between runs.
  virtual std::uint64_t fingerprint() const = 0;

  /// Fills the model's inputs (host memory, in the order the model declares them: features or tokens, then targets).
  virtual void training_batch(const BatchKey& key, std::span<const Tensor> inputs) const = 0;
  /// How many different held-out batches of that size there are; 0: nothing is held out. Otherwise at least one.
  virtual std::int64_t held_out_batches(std::int64_t batch) const = 0;
  virtual void held_out_batch(std::int64_t index, std::span<const Tensor> inputs) const = 0;
};

/// How a text becomes batches. tokens [batch, context] i32 are bytes; targets are the following bytes:
/// every position (a GPT): targets [batch, context]; or only the byte after the context (an MLP): targets [batch].
enum class TextTargets : std::uint8_t { every_position, next_byte };

struct TextOptions {
  std::int64_t context = 64;
  TextTargets targets = TextTargets::every_position;
  double held_out = 0.1;                 ///< share of the bytes, taken from the end, held out of training
};

/// Text files and folders, as bytes. Folders are read recursively in sorted order; hidden entries, build* folders, symbolic
/// links and files with NUL bytes are left out. Training windows (context + 1 bytes) start anywhere in the training bytes,
/// drawn with replacement; held-out windows follow each other, a context apart. A batch larger than the number of held-out
/// windows repeats them from the start. Throws UsageError for a missing, empty or unreadable path, a context longer than
/// the text, and a held_out outside [0, 0.9] or too small for one window, naming the path and the sizes.
std::unique_ptr<Dataset> load_text(const std::vector<std::string>& paths, const TextOptions& options);

}  // namespace ulpscope::engine
