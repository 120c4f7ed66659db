// The program called from a test, in this process: what it says and how it ends.
#pragma once

#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "profiler/cli/program.h"

namespace ulpscope::profiler {

struct Answer {
  int code = 0;
  std::string out, err;
};

inline Answer ulpscope(std::vector<std::string> arguments) {
  std::ostringstream out, err;
  const int code = run_program(std::move(arguments), out, err);
  return {code, out.str(), err.str()};
}

}  // namespace ulpscope::profiler
