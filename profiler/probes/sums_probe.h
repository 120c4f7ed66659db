// What the sums of matrix units would change in the products of a run: in observed steps some elements of every matmul are computed
// with each unit's sums, from the numbers that the run multiplies, and held against plain fp32 sums. The run's bits stay the same.
// Attention and convolutions are not sampled: their operands exist inside a launch alone.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "engine/train/trainer.h"
#include "kernels/tensor_core/sample.h"
#include "profiler/probes/faults.h"

namespace ulpscope::profiler {

class SumsProbe {
 public:
  /// units: none leaves nothing to do. share: of a product's elements (tensor_core::sample_size). Trainer and topics must outlive it.
  SumsProbe(engine::Topics& topics, const engine::Trainer& run, std::vector<MatrixUnit> units, double share, Faults& faults);

  std::int64_t steps() const { return steps_; }
  /// {"steps", "share", "units": {"hopper": {"elements", "greatest", "rms", "bias", "products": {node: {…}}}}}: relative to the plain
  /// sums' root mean square (bias: to their mean magnitude), computed. Empty if nothing was sampled.
  std::string json() const;

 private:
  void sample(engine::NodeId id, const engine::NodeEvent& event);
  const engine::Trainer& run_;
  std::vector<MatrixUnit> units_;
  double share_;
  Faults& faults_;
  bool observed_ = false;
  std::int64_t steps_ = 0;
  std::map<MatrixUnit, std::map<std::string, tensor_core::SumDifference>> differences_;
  engine::Subscription begin_, node_;
};

}  // namespace ulpscope::profiler
