// ulpscope tensor-core --device: a GPU asked how its matrix unit adds up.
#pragma once

#include <iosfwd>
#include <string>

#include "kernels/device.h"
#include "profiler/cli/command.h"

namespace ulpscope::profiler {

/// Throws UsageError for a device that is no GPU, or one that cannot be used.
int ask_device(const std::string& which, bool json, const Invocation& call);

/// The answers beside the emulation. capability: 90 is 9.0. Exit code 1: where the emulation rests on captured data, the device answers
/// otherwise, or the sums of one tile are not alike.
int print_unit_answers(Device& device, int capability, bool json, std::ostream& out);

}  // namespace ulpscope::profiler
