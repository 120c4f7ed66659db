// The same training step without any format narrower than fp32: what a step in another mode is held against.
#pragma once

#include "engine/train/trainer.h"
#include "kernels/device.h"

namespace ulpscope::profiler {

/// Mode fp32, no loss scaler, no override, every sum and optimizer state in fp32; nothing fused, so that every result
/// is in memory. Injected values stay where fp32 has the value.
engine::TrainerSetup in_fp32(engine::TrainerSetup setup, Device& device);

}  // namespace ulpscope::profiler
