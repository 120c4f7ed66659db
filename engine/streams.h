// Streams of the counter-based generator. What is drawn for one purpose has a key of its own: a weight, a dropout node and the
// batches never share random numbers, whatever they are called.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "kernels/math/random.h"

namespace ulpscope::engine {

/// First values of a parameter or constant.
inline std::uint64_t weight_stream(std::string_view value) { return math::hash_name("weight:" + std::string(value)); }
/// The mask of a dropout or attention node.
inline std::uint64_t mask_stream(std::string_view node) { return math::hash_name("dropout:" + std::string(node)); }
/// Which way the update of a parameter is rounded, where that is left to chance.
inline std::uint64_t update_stream(std::string_view parameter) { return math::hash_name("update:" + std::string(parameter)); }
/// Which examples a batch is made of.
inline std::uint64_t batch_stream(std::string_view dataset) { return math::hash_name("data:" + std::string(dataset)); }

}  // namespace ulpscope::engine
