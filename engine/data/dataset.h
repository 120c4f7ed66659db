// Where batches come from. A batch is a function of seed, iteration and micro-batch alone: the same in every mode.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
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

/// One example of features and targets: what a model that is made for its data is made for.
struct Example {
  Shape features;               ///< of one example: [784], [1, 28, 28]
  bool whole_numbers = false;   ///< the features are of an integer type: tokens, if a model wants i32
  bool targets = false;         ///< there are targets
  Shape target;                 ///< of one example: [] for a label
  std::int64_t classes = 0;     ///< greatest label + 1; 0: the targets are not labels (not integers, or negative ones among them)
};

/// Training and held-out batches. Implementations are immutable and may be shared by several trainers.
class Dataset {
 public:
  virtual ~Dataset() = default;

  /// "text: README.md, 48213 bytes, 43391 for training, 4822 held out"
  virtual std::string describe() const = 0;
  /// Identifies the content: printed as hexadecimal in run files, compared between runs.
  virtual std::uint64_t fingerprint() const = 0;

  /// What one example is; nothing for text.
  virtual std::optional<Example> example() const { return std::nullopt; }

  /// Throws UsageError, with file and index, for a target that is no label: no integer, or outside [0, classes) and not
  /// `ignored`. For text: nothing.
  virtual void check_labels(std::int64_t /*classes*/, std::optional<std::int64_t> /*ignored*/) const {}

  /// The same for features that are tokens of a vocabulary.
  virtual void check_tokens(std::int64_t /*vocabulary*/) const {}

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

/// Tokens drawn uniformly from a vocabulary, windows as of a text: for times at sizes for which there is no text at hand. Training batches
/// depend on the seed, held-out ones (64, if held_out is above 0) do not. Throws UsageError for a vocabulary or a context below 1.
std::unique_ptr<Dataset> random_tokens(std::int64_t vocabulary, const TextOptions& options);

struct ArrayOptions {
  double held_out = 0.1;        ///< share of the examples, drawn once for all seeds and modes, held out of training
  double scale = 1.0;           ///< features are multiplied by it,
  double shift = 0.0;           ///< and this is added; in fp64, rounded once to fp32
};

/// Examples from .npy or IDX files (told apart by their first bytes; IDX also with gzip): `features` [examples, …], and
/// `targets` [examples] or [examples, …], integers or floats; empty: none. Training batches are drawn with replacement.
/// A batch larger than the number of held-out examples repeats them. Inputs are filled in the order features, targets: i32 ones
/// from integers, fp32 ones from anything. Throws UsageError, one line with the file, the place (index of the element) and the
/// reason: what read_npy and read_idx refuse, no examples, lengths that differ, a NaN or an infinity, a held_out outside [0, 0.9]
/// or one that leaves no example.
std::unique_ptr<Dataset> load_arrays(const std::string& features, const std::string& targets, const ArrayOptions& options);

}  // namespace ulpscope::engine
