// What the checks before training ask of a mode's plan: which numbers of the rehearsal stand behind a value, what leads
// where.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "engine/train/trainer.h"
#include "profiler/predict/rehearsal.h"
#include "reports/analysis/prediction.h"

namespace ulpscope::profiler {

class PlanFacts {
 public:
  /// All must outlive it.
  PlanFacts(const engine::StepPlan& plan, const engine::Mode& mode, const engine::TrainConfig& config,
            const Rehearsal& rehearsal);

  const engine::StepPlan& plan() const { return plan_; }
  const engine::Graph& graph() const { return plan_.graph; }
  const engine::Mode& mode() const { return mode_; }
  const engine::TrainConfig& config() const { return config_; }
  const Rehearsal& rehearsal() const { return rehearsal_; }

  /// The value itself, or what it is a cast (or a view, or the loss times the scale) of, that the rehearsal has ranges
  /// of.
  std::optional<std::string> seen(engine::ValueId value) const;
  /// Of what is seen, or of a sum of gradients that fp32 does not make.
  const RoundingCounts* range(engine::ValueId value) const;
  /// Numbers in fp32; null if they were not kept.
  const std::vector<float>* numbers(engine::ValueId value) const;
  /// The same of every micro-batch; null if they were not kept, or not of each of them.
  const std::vector<std::vector<float>>* numbers_of_every(engine::ValueId value) const;
  /// What the value is a cast or a view of, in the end.
  engine::ValueId origin(engine::ValueId value) const;
  bool feeds_loss(engine::ValueId value) const { return feeds_loss_[static_cast<std::size_t>(value.index)]; }
  /// Whether the value is computed from the gradient of the loss: not what the backward pass makes of results of the forward pass alone.
  bool is_gradient(engine::ValueId value) const { return gradients_[static_cast<std::size_t>(value.index)]; }
  /// Whether a softmax reads the value, through casts, views and further masks.
  bool reaches_softmax(engine::ValueId value, int depth = 6) const;
  /// Whether an addition or subtraction of the forward pass reads it, perhaps through casts and views.
  bool is_term(engine::ValueId value, int depth = 4) const;
  /// Nodes that read the value.
  std::vector<engine::NodeId> readers(engine::ValueId value) const;

 private:
  const engine::StepPlan& plan_;
  const engine::Mode& mode_;
  const engine::TrainConfig& config_;
  const Rehearsal& rehearsal_;
  std::vector<bool> feeds_loss_, gradients_;
  std::map<std::int32_t, RoundingCounts> sums_;   ///< gradient_sums.h
};

/// The names of a value and of all that PlanFacts::seen may find its numbers under: of a view there are none, and in fp32 some casts are not there.
void add_origins(const engine::Graph& graph, engine::ValueId value, std::set<std::string>& names);

/// A finding about a node.
reports::Foreseen foreseen_at(const PlanFacts& facts, engine::NodeId node, std::string kind, reports::Gravity gravity);

/// Tensors that the mode stores in 16 bits, with their ranges. explained: names that a check of its own speaks of.
void add_ranges(const PlanFacts& facts, const std::vector<std::string>& explained, reports::PredictionInput& input);

}  // namespace ulpscope::profiler
