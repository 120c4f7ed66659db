// First values of parameters and constants.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "engine/graph/graph.h"

namespace ulpscope::engine {

/// Drawn in fp32 from (seed, the value's name): the same in every mode, on every device and by any number of the host's threads.
/// Throws Error if a list of values has another length than the value.
std::vector<float> initial_values(const Value& value, std::uint64_t seed, int threads = 1);

/// Conversions between fp32 lists and a storage format in host memory.
void store(const std::vector<float>& values, Format format, void* memory);
void load(Format format, const void* memory, std::span<float> values);
std::vector<float> load(Format format, const void* memory, std::int64_t elements);

}  // namespace ulpscope::engine
