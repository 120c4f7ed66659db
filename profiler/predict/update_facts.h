// The first update of an experiment as a mode makes it, weight by weight, from the gradients of the rehearsal.
#pragma once

#include <cmath>
#include <vector>

#include "kernels/ops/adamw.h"
#include "profiler/predict/plan_facts.h"

namespace ulpscope::profiler {

/// The updates of a plan: one node for each parameter, alike but for shape.
struct Updates {
  std::vector<engine::NodeId> nodes;
  Format weights = Format::fp32;
  Format moments = Format::fp32;   ///< sgd: of the momentum buffer
  bool adamw = false;
  bool momentum = false;           ///< sgd keeps a buffer
  bool each_operation = false;

  bool any() const { return !nodes.empty(); }
};
Updates updates_of(const PlanFacts& facts);

/// Gradients of the parameter that a node updates; null if they are not known.
const std::vector<float>* gradients_of(const PlanFacts& facts, const engine::Node& update);

/// Calls work(weight, gradient) for every number that is updated.
template <class Work>
void each_weight(const PlanFacts& facts, const Work& work) {
  for (const auto& [parameter, weights] : facts.rehearsal().weights) {
    const std::vector<float>& gradients = facts.rehearsal().gradients.at(parameter);
    for (std::size_t i = 0; i < weights.size() && i < gradients.size(); ++i)
      work(static_cast<double>(weights[i]), static_cast<double>(gradients[i]));
  }
}

/// What Adam makes of one gradient in the first step.
struct AdamStep {
  float m = 0.0f, v = 0.0f;      ///< before they are rounded for storage
  bool m_fits = true, v_fits = true;
  bool v_flushed = false;        ///< it is not 0, and becomes 0 where it is kept
  bool divides_by_zero = false;
  double update = 0.0;           ///< in learning rates
};

/// As kernels/ops/adamw.h makes it, and as its callers round it.
class FirstAdam {
 public:
  FirstAdam(const PlanFacts& facts, const Updates& updates);

  AdamStep operator()(double gradient) const;
  /// The applied step in which the second moment becomes infinite, were the gradient always this one; 0: in none of so many.
  std::int64_t overflows_in(double gradient, std::int64_t steps) const;
  double beta1() const { return beta1_; }
  double beta2() const { return beta2_; }
  /// As it is added.
  double epsilon() const;

 private:
  float stored(Format format, float x) const { return each_ ? rounded(format, x) : x; }
  static float rounded(Format format, float x);
  Format weights_, moments_;
  bool each_;
  double beta1_, beta2_, epsilon_;
  AdamWBody<float> body_;
};

/// The applied step in which sgd's momentum buffer becomes infinite where it is kept, and what it is before that rounding.
struct BufferBeyond {
  std::int64_t step = 0;   ///< 0: in none
  double size = 0.0;
};
/// Of a gradient (after clipping) that is always the same, in so many steps.
BufferBeyond buffer_overflows_in(const PlanFacts& facts, const Updates& updates, double gradient, std::int64_t steps);

}  // namespace ulpscope::profiler
