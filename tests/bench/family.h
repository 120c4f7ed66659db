// A family of rows that are measured together: one round is one repetition of each of them, taken in turn.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "engine/models/models.h"
#include "engine/train/trainer.h"
#include "kernels/device.h"

namespace ulpscope::bench {

/// What the program was asked for.
struct Options {
  bool quick = false;  ///< fewer repetitions, shapes and steps
  bool tiny = false;   ///< a tiny model: for the test of the program itself
  bool verbose = false;
  int repetitions = 0;
  int threads = 0;  ///< 0: the processors this process may use
  std::string filter;
  std::string output = "bench.json";
};

/// What all families share.
struct Setup {
  Options options;
  std::unique_ptr<Device> device;
  std::unique_ptr<engine::Dataset> dataset;
  std::string text;  ///< the file that is trained on
  engine::GptConfig model;
  engine::TrainConfig train;

  engine::TrainerSetup trainer(const std::string& mode) const;
  engine::StepPlan plan(const std::string& mode) const;
};
Setup make_setup(const Options& options);

/// By name: rows (their ratio) and what they are made of ("steps/fp32 s": a unit stands behind a blank). Finite numbers
/// only.
using Samples = std::map<std::string, double>;

class Family {
 public:
  virtual ~Family() = default;
  /// Once, before any round of any family: allocates and warms up.
  virtual void prepare() {}
  virtual void round(int repetition, Samples& samples) = 0;
};

std::unique_ptr<Family> make_products(const Setup& setup);
std::unique_ptr<Family> make_steps(const Setup& setup);
std::unique_ptr<Family> make_conversions(const Setup& setup);
std::unique_ptr<Family> make_units(const Setup& setup);
std::unique_ptr<Family> make_recorder(const Setup& setup);
std::unique_ptr<Family> make_nvtx(const Setup& setup);
std::unique_ptr<Family> make_observation(const Setup& setup);
std::unique_ptr<Family> make_memory(const Setup& setup);
std::unique_ptr<Family> make_kept(const Setup& setup);

/// Seconds that work takes on the wall.
double seconds(const std::function<void()>& work);

/// One committed step under the clock: steps that a loss scaler skips do other work and do not count. Throws Error if
/// too many are skipped.
double seconds_of_step(engine::Trainer& trainer);

}  // namespace ulpscope::bench
