// Prints of the parameter gradients of a step: what tells whether two executions of it had the same gradients to the bit.
#pragma once

#include <string>
#include <vector>

#include "engine/topics.h"
#include "engine/train/trainer.h"

namespace ulpscope::profiler {

/// Of the gradient of one parameter after unscaling, before clipping, as the finite check reads it.
struct GradientPrint {
  std::string parameter;
  /// FNV-1a, 64 bits, 16 hexadecimal digits, of the elements in row-major order: each widened to fp32 (which is exact) and hashed as
  /// its four bytes, least significant first; every NaN counts as 7fc00000, since its payload is the processor's affair.
  std::string print;

  bool operator==(const GradientPrint&) const = default;
};

std::string print_of(const std::vector<float>& elements);

/// Takes the prints in every step from its making on; those of the last step stay. Trainer and topics must outlive it.
class GradientPrinter {
 public:
  GradientPrinter(engine::Topics& topics, const engine::Trainer& trainer);

  /// In the order in which the backward pass makes the gradients.
  const std::vector<GradientPrint>& prints() const { return prints_; }

 private:
  struct Gradient {
    std::string value, parameter;
  };
  const engine::Trainer& trainer_;
  std::vector<Gradient> gradients_;
  std::vector<GradientPrint> prints_;
  engine::Subscription on_node_;
};

/// Prints of the same step, held against each other.
struct GradientComparison {
  bool recorded = false;        ///< there is something to compare with
  std::int64_t compared = 0;    ///< parameters with a gradient on either side
  std::int64_t different = 0;   ///< of them: other bits, or no gradient on one side
  std::string first_different;  ///< the parameter whose gradient the backward pass makes first; empty: none differs

  bool alike() const { return different == 0; }
};

/// recorded: empty where nothing was recorded.
GradientComparison compare(const std::vector<GradientPrint>& recorded, const std::vector<GradientPrint>& here);

}  // namespace ulpscope::profiler
