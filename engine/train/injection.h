// Values that an experiment sets at a step, to see what follows. Non-standard.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ulpscope::engine {

struct Injection {
  std::int64_t step = 0;                 ///< iteration, from 0
  std::string value;                     ///< name in the graph of the step: parameter, buffer, input, result of a node
  std::vector<std::int64_t> elements;    ///< in row-major order; empty: all
  double number = 0.0;                   ///< rounded to the value's format
  std::string where;                     ///< place in the experiment file, for messages
};

}  // namespace ulpscope::engine
