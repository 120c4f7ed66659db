// What is to be trained and compared: the experiment file as plain data.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/models/models.h"
#include "engine/train/config.h"

namespace ulpscope::profiler {

struct DataSettings {
  std::vector<std::string> paths;  ///< files and folders; relative to the current folder, or absolute
  bool random = false;             ///< instead of a text: tokens drawn from the model's vocabulary
  std::string features;            ///< .npy or IDX: [examples, …]; instead of a text
  std::string labels;              ///< .npy or IDX: [examples] or [examples, …]
  double scale = 1.0;              ///< of the features,
  double shift = 0.0;              ///< added after that
  std::int64_t classes = 0;        ///< model.classes, where it was given: what labels have to keep to; 0: the data decide
  double held_out = 0.1;           ///< share of the bytes or examples kept from training and evaluated
};

struct RunSettings {
  std::vector<std::string> modes = {"fp32", "tf32", "fp16", "bf16"};
  std::int64_t seeds = 1;  ///< each mode runs once with each of seed, seed + 1, …
  std::int64_t seed = 0;
  std::int64_t timing_steps = 10;  ///< timed steps of each mode after training; 0: no timing phase
  std::string device = "cpu";  ///< as make_device takes it. A GPU is asked for by name: its kernels have not been proved on one yet
  std::int64_t threads = 0;  ///< 0: the processors this process may run on
  std::int64_t checkpoint_every = 0;  ///< steps; 0: every half minute; -1: none
  bool save_weights = false;   ///< final weights stay beside the run file
  std::string output;        ///< the run file; empty: a name made from model and time
};

/// Which steps are looked at, and how closely.
struct ObserveSettings {
  std::int64_t every = 100;              ///< steps; 0: none
  std::vector<std::string> nodes = {"*"};
  bool replay = true;                    ///< bad steps are run again under observation
  bool ranges = false;                   ///< how far the backward pass reaches is recorded in every step
  bool shadow = false;                   ///< observed steps are run in fp32, too
  std::vector<std::string> sums = {};    ///< generations whose matrix units' sums are sampled in observed steps
  double sums_share = 0.001;             ///< of the elements of a product
};

/// Timed steps a median and its spread need at least.
inline constexpr std::int64_t least_timing_steps = 10;

struct Experiment {
  std::string name;  ///< stem of the experiment file, or the model's name
  engine::ModelConfig model = engine::GptConfig{};
  DataSettings data;
  engine::TrainConfig train;
  ObserveSettings observe;
  RunSettings run;
};

}  // namespace ulpscope::profiler
