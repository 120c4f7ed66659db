// Keys of [data] and [run].
#include <algorithm>

#include "engine/precision/mode.h"
#include "kernels/error.h"
#include "profiler/experiment/keys.h"
#include "profiler/experiment/make_device.h"

namespace ulpscope::profiler {
namespace {

Key path_key() {
  Key key =
      texts_key("data.path", "text files and folders, read as bytes", [](Experiment& e) { return &e.data.paths; });
  key.also = {"paths", "file", "files", "folder", "train_file", "dataset"};
  key.get = [](const Experiment& e) -> std::optional<KeyValue> {
    if (e.data.paths.empty()) return std::nullopt;
    return KeyValue(e.data.paths);
  };
  return key;
}

/// Said where it is on.
Key random_key() {
  Key key = flag_key("data.random", "instead of a text: tokens drawn from the model's vocabulary, for times", [](Experiment& e) { return &e.data.random; });
  key.get = [](const Experiment& e) -> std::optional<KeyValue> {
    if (!e.data.random) return std::nullopt;
    return KeyValue(true);
  };
  return key;
}

/// A path that may be missing.
Key file_key(std::string name, std::string doc, std::string DataSettings::*member) {
  Key key = text_key(std::move(name), std::move(doc), {}, [member](Experiment& e) { return &(e.data.*member); });
  key.get = [member](const Experiment& e) -> std::optional<KeyValue> {
    if ((e.data.*member).empty()) return std::nullopt;
    return KeyValue(e.data.*member);
  };
  return key;
}

/// Of the features: a text has none.
Key feature_key(std::string name, std::string doc, double DataSettings::*member) {
  Key key = number_key(std::move(name), std::move(doc), Range{}, [member](Experiment& e) { return &(e.data.*member); });
  key.get = [member](const Experiment& e) -> std::optional<KeyValue> {
    if (e.data.features.empty()) return std::nullopt;
    return KeyValue(e.data.*member);
  };
  return key;
}

Key modes_key() {
  Key key = texts_key("run.modes", "precision modes to train and compare", nullptr);
  key.also = {"mode", "precision", "precisions", "fp16", "bf16", "tf32"};
  key.choices = [] {
    std::vector<std::string> names;
    for (const engine::Mode& mode : engine::modes()) names.push_back(mode.name);
    return names;
  };
  key.applies = nullptr;
  key.set = [](Experiment& e, const KeyValue& value) {
    const auto& names = std::get<std::vector<std::string>>(value);
    if (names.empty()) throw UsageError("at least one mode is needed");
    for (auto name = names.begin(); name != names.end(); ++name) {
      if (std::find(names.begin(), name, *name) != name) throw UsageError("mode " + *name + " is there twice");
    }
    e.run.modes = names;
  };
  key.get = [](const Experiment& e) -> std::optional<KeyValue> { return KeyValue(e.run.modes); };
  return key;
}

Key timing_key() {
  Key key = integer_key("run.timing_steps", "timed steps of each mode after training; 0: none",
                        Range{.least = 0, .greatest = 1e6}, [](Experiment& e) { return &e.run.timing_steps; });
  const auto plain = key.set;
  key.set = [plain](Experiment& e, const KeyValue& value) {
    const std::int64_t steps = std::get<std::int64_t>(value);
    if (steps != 0 && steps < least_timing_steps) {
      throw UsageError("a median and its spread need at least " + std::to_string(least_timing_steps) +
                       " timed steps; 0 leaves the timing phase out");
    }
    plain(e, value);
  };
  return key;
}

Key device_key() {
  Key key = text_key("run.device", "where it runs: auto (a GPU that can be used, else the CPU), cpu, cuda, cuda:1 …", {},
                     [](Experiment& e) { return &e.run.device; });
  const auto plain = key.set;
  key.set = [plain](Experiment& e, const KeyValue& value) {
    parse_device(std::get<std::string>(value));
    plain(e, value);
  };
  return key;
}

Key output_key() {
  Key key = text_key("run.output", "the run file; without it a name made from model and time", {},
                     [](Experiment& e) { return &e.run.output; });
  key.also = {"output_dir", "out", "file"};
  key.get = [](const Experiment& e) -> std::optional<KeyValue> {
    if (e.run.output.empty()) return std::nullopt;
    return KeyValue(e.run.output);
  };
  return key;
}

}  // namespace

std::vector<Key> data_and_run_keys() {
  return {
      path_key(),
      random_key(),
      also(file_key("data.features", "features instead of a text: .npy, or IDX (gzip too), [examples, ...]", &DataSettings::features),
           {"x", "images", "inputs"}),
      also(file_key("data.labels", "of the features: .npy or IDX, [examples] or [examples, ...]", &DataSettings::labels),
           {"y", "targets"}),
      feature_key("data.scale", "features are multiplied by it", &DataSettings::scale),
      feature_key("data.shift", "added to the scaled features", &DataSettings::shift),
      number_key("data.held_out", "share of the data kept from training and evaluated", between(0, 0.9),
                 [](Experiment& e) { return &e.data.held_out; }),
      modes_key(),
      integer_key("run.seeds", "runs of each mode, with seed, seed + 1 and so on; a verdict needs 3", between(1, 10000),
                  [](Experiment& e) { return &e.run.seeds; }),
      integer_key("run.seed", "the first seed", between(0, 0x1p53), [](Experiment& e) { return &e.run.seed; }),
      timing_key(),
      device_key(),
      integer_key("run.threads", "threads of the CPU; 0: all processors this process may use", between(0, 4096),
                  [](Experiment& e) { return &e.run.threads; }),
      integer_key("run.checkpoint_every", "steps between checkpoints, for --resume; 0: every 30 seconds; -1: none", between(-1, 0x1p53),
                  [](Experiment& e) { return &e.run.checkpoint_every; }),
      also(flag_key("run.save_weights", "final weights of every run stay beside the run file, for ulpscope export",
                    [](Experiment& e) { return &e.run.save_weights; }),
           {"save_model", "keep_weights"}),
      output_key(),
  };
}

}  // namespace ulpscope::profiler
