// ulpscope sweep --products: every matrix product of a step, timed alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "profiler/cli/command.h"
#include "profiler/experiment/experiment_file.h"
#include "profiler/sweep/bare_products.h"

namespace ulpscope::profiler {

struct ProductsRequest {
  std::vector<std::string> modes;   ///< none: those of run.modes
  std::int64_t rounds = 0;          ///< 0: 7
  std::string beside;               ///< a run file whose steps are held against the products; empty: none
  bool json = false;
  std::string output;               ///< the JSON goes there, too
};

int sweep_products(const ProductsRequest& request, const Settings& settings, const Invocation& call);

}  // namespace ulpscope::profiler
