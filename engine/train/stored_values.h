// Values of a training graph in device memory: read, written, saved and found again by name.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/precision/mode.h"
#include "engine/train/config.h"
#include "engine/train/trainer_state.h"
#include "kernels/device.h"

namespace ulpscope::engine {

class StoredValues {
 public:
  /// address: device memory of a value. Device and graph must outlive it.
  StoredValues(Device& device, const Graph& graph, std::function<void*(ValueId)> address);

  std::size_t bytes(ValueId v) const;
  /// Widened to fp32, and back, rounded to nearest; what a buffer's last commit left is written, too.
  std::vector<float> read(ValueId v) const;
  void write(ValueId v, const std::vector<float>& values) const;
  /// Parameters, constants and buffers as the model begins; then those that config.weights holds.
  void write_initial(const TrainConfig& config, const Mode& mode, std::uint64_t seed) const;

  /// What is kept from one step to the next, into a state, and back. Throws Error, naming the value, for a state that does not
  /// fit; nothing is changed then.
  void save(TrainerState& state) const;
  void restore(const TrainerState& state, const std::string& mode) const;
  /// Parameters and buffers of a state in whatever formats they are there. Throws as restore.
  void adopt(const TrainerState& state) const;

 private:
  std::vector<ValueId> kept() const;

  Device& device_;
  const Graph& graph_;
  std::function<void*(ValueId)> address_;
};

}  // namespace ulpscope::engine
