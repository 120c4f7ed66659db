// A model given node by node in the experiment file, as plain data: [[node]] tables.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "engine/data/dataset.h"
#include "engine/graph/attributes.h"
#include "kernels/formats/format.h"

namespace ulpscope::engine {

/// Where the numbers of a parameter, a constant or a batch come from.
struct Numbers {
  enum class Kind : std::uint8_t {
    none,
    constant,    ///< all are `low`
    list,
    normal,      ///< mean 0, standard deviation `high`
    uniform,     ///< in [low, high)
    integers,    ///< whole numbers in [0, high)
    file,        ///< a .npy file, read when the experiment is
  };
  Kind kind = Kind::none;
  double low = 0.0, high = 0.0;
  std::vector<float> list;   ///< list, file; row-major
  std::string path;          ///< file, absolute

  bool drawn() const { return kind == Kind::normal || kind == Kind::uniform || kind == Kind::integers; }
};

struct GraphNode {
  std::string name;
  std::string op;                     ///< an operator of a model; or parameter, constant, buffer, input
  std::vector<std::string> inputs;    ///< names of values
  Attributes attributes;              ///< of an operator
  std::vector<std::int64_t> shape;    ///< parameter, constant, buffer, input; empty: a scalar
  Format format = Format::fp32;       ///< constant, input: fp32 or i32
  Numbers init;                       ///< parameter, constant, buffer; none: zeros
  /// input: the batch of each step, the last one staying; drawn anew in every step. Empty: from the data.
  std::vector<Numbers> values;
  std::string where;                  ///< place in the experiment file, for messages
};

struct GraphConfig {
  std::string loss;                   ///< name of the scalar that is minimised
  std::vector<GraphNode> nodes;       ///< each reads what stands before it
};

/// "parameter", "constant", "buffer", "input": what stands in a graph beside the nodes of operators.
const std::vector<std::string>& graph_sources();

/// Whether the inputs have values of their own, so that no data is needed. Throws UsageError if only some of them have.
bool has_own_data(const GraphConfig& config);

/// Batches as the input nodes say, from the seed, the node's name, the step and the micro-batch. Held out: what is drawn for
/// other steps than those of training; of inputs that are not drawn, the values of the last step.
std::unique_ptr<Dataset> make_graph_data(const GraphConfig& config);

}  // namespace ulpscope::engine
