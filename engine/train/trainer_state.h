// Everything that decides how a training goes on: what a checkpoint holds.
#pragma once

#include <cstdint>
#include <vector>

#include "engine/data/safetensors.h"
#include "kernels/scaling/loss_scaler.h"

namespace ulpscope::engine {

/// Data, dropout and schedule follow from these numbers: the generator is counter-based, a schedule a function of its step.
struct TrainerState {
  std::int64_t iteration = 0;             ///< steps done
  std::int64_t applied = 0;               ///< of them committed
  scaling::ScalerState scaler;
  std::vector<NamedTensor> tensors;       ///< parameters, optimizer state, buffers: by name, in their own formats
};

/// As a file, and back. Numbers are in the metadata; floats as hexadecimal, to the bit. Throws UsageError "PATH: …" for a file
/// whose metadata is none of a checkpoint.
TensorFile to_file(const TrainerState& state);
TrainerState from_file(TensorFile file, const std::string& path);

}  // namespace ulpscope::engine
