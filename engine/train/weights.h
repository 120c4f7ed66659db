// Weights in safetensors files: initial ones, and those that training came to.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/data/safetensors.h"
#include "engine/graph/graph.h"
#include "engine/precision/mode.h"
#include "engine/train/trainer_state.h"

namespace ulpscope::engine {

struct WeightsSummary {
  std::int64_t parameters = 0;          ///< numbers
  std::int64_t in_16_bits = 0;          ///< of them stored as F16 or BF16
  std::int64_t master_bytes = 0;        ///< what fp32 master copies of those cost: 4 bytes each
  std::string dtypes;                   ///< "F32", "BF16, F32"
};

/// Throws UsageError, "model.weights: PATH: WHY".
TensorFile read_weights(const std::string& path);

/// Holds the file against the parameters and buffers of a graph. A checkpoint serves as well as a file of weights alone: optimizer
/// state is passed over. Throws UsageError, "model.weights: PATH: …", for a parameter that is missing or has another shape or no
/// number format, for a tensor that the graph does not know (with the nearest name), for one that is not finite; and for a mixed
/// mode if weights come in 16 bits and `widen` is not asked for: their fp32 values are lost, and updates smaller than their spacing
/// need a master copy.
WeightsSummary check_weights(const TensorFile& file, const std::string& path, const Graph& graph, const Mode& mode, bool widen);

/// A parameter's or buffer's numbers, widened to fp32; none if the file does not have it (a buffer).
std::vector<float> weights_of(const TensorFile& file, const Value& value);

/// Of the parameters and buffers of a graph, in its order.
std::vector<std::string> weight_names(const Graph& graph);

/// Those tensors of a training's state, in their own formats. Throws Error for a name that it does not have.
TensorFile weights_file(const TrainerState& state, const std::vector<std::string>& names);

/// The same tensors in another format (fp32, fp16, bf16), rounded to nearest. Integers stay. flushed: numbers that became 0.
/// Throws UsageError naming the tensor for numbers that are beyond the format's range.
TensorFile in_format(const TensorFile& file, Format format, std::int64_t& flushed);

}  // namespace ulpscope::engine
