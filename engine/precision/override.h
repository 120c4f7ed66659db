// What an experiment asks of single nodes, whatever mode and policy say. Plain data.
#pragma once

#include <optional>
#include <string>

#include "engine/precision/mode.h"
#include "kernels/arithmetic.h"

namespace ulpscope::engine {

/// A format, or "lower": the 16-bit format of the mode that runs (fp32 in modes without one).
struct OverrideFormat {
  bool lower = false;
  Format format = Format::fp32;

  Format in(const Mode& mode) const { return lower ? mode.lower : format; }
  friend bool operator==(const OverrideFormat&, const OverrideFormat&) = default;
};

struct Override {
  std::string nodes;                          ///< pattern (*, ?) of node names
  std::optional<OverrideFormat> output;       ///< the result is rounded to it
  std::optional<OverrideFormat> compute;      ///< operands are cast to it first; tf32: what products multiply in
  std::optional<OverrideFormat> accumulate;   ///< of sums: kernels/arithmetic.h
  std::optional<SumOrder> order;
  std::optional<OverrideFormat> scalar;
  std::string where;                          ///< place in the experiment file, for messages
};

}  // namespace ulpscope::engine
