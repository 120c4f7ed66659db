// The GPU that device tests run on, in place of the emulated grid.
#pragma once

#include "kernels/device.h"

namespace ulpscope::test {

/// The GPU whose number the variable ULPSCOPE_TEST_GPU holds; null without the variable, and then nothing is said about GPUs. Throws Error
/// with the GPU module's reason where that one cannot be used. The one device of its kind in the process; it lives to the end.
Device* gpu_device();

}  // namespace ulpscope::test
