// The matrix product of a node, as a mode carries it out.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "engine/graph/operator.h"
#include "engine/train/trainer.h"
#include "reports/analysis/sweep.h"

namespace ulpscope::profiler {

/// result [batch, rows, columns] = a [batch, rows, inner] x b [batch, inner, columns] + bias [columns].
struct SweptProduct {
  std::string node, operation;
  std::int64_t batch = 1, rows = 0, columns = 0, inner = 0;
  bool trans_a = false, trans_b = false;   ///< how the operands are stored
  Format a = Format::fp32, b = Format::fp32, result = Format::fp32;
  std::optional<Format> bias{};
  Format multiply = Format::fp32;          ///< what the multiplier sees of wider operands

  std::int64_t size(reports::SweepDimension dimension) const;
  void resize(reports::SweepDimension dimension, std::int64_t size);
  /// Of what is multiplied: "tf32", "fp16".
  std::string compute_format() const;
  /// "fp16, fp16 > fp16"
  std::string formats() const;
};

/// Of a launch of the operation matmul.
SweptProduct product_of(const engine::Node& node, const engine::LaunchPlan& launch);

/// Throws UsageError for a node that is not in the plan, with the nearest one, and for one that is no matrix product, with some that are.
SweptProduct find_product(const engine::StepPlan& plan, const std::string& node);

}  // namespace ulpscope::profiler
