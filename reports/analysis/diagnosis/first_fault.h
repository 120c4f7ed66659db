// Where values stop being finite: operations whose inputs are finite and whose result is not, results that overflow
// when they are rounded, sums that overflow inside an operation, and what is not finite before the first operation.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/diagnosis/evidence.h"

namespace ulpscope::reports {

struct Root {
  enum class How : std::uint8_t {
    source,      ///< no operation makes it: weights, buffers, data, constants
    rounding,    ///< finite before it is rounded into its format
    arithmetic,  ///< infinite or NaN before any rounding, from finite inputs
    inner        ///< a sum kept narrow inside the operation
  };
  How how = How::rounding;
  const PlanNode* node = nullptr;  ///< none: a source
  TensorId tensor{};               ///< the output (or source) in which it shows
  std::int64_t micro_batch = 0;
  const Stat* stat = nullptr;   ///< of the tensor
  const Stat* inner = nullptr;  ///< of sums inside
  bool inputs_known = true;     ///< every float input was observed
};

/// In order of execution: micro-batch by micro-batch, sources first. A tensor or node comes once.
std::vector<Root> find_roots(const Evidence& evidence, const ObservedStep& step);

/// What became of an infinity that the forward pass made a finite number of.
enum class Fate : std::uint8_t {
  same,     ///< the value itself would have given the same number, or it was left out
  unknown,
  differs
};

struct Chain {
  std::vector<std::string> nodes{};  ///< that values which are not finite pass through, the root first
  bool loss = false;                 ///< reaches the loss
  bool gradient = false;             ///< reaches the finite check of the gradients, or the global norm
  bool weights = false;              ///< reaches a weight
  bool buffers = false;              ///< reaches running statistics
  /// Divides finite numbers by what is infinite, and makes exact zeros of them: the first such operation before the loss.
  const PlanNode* zeroed_in = nullptr;
  std::int64_t zeroed = 0;  ///< of its results
  /// Forward operations that read what is not finite and make finite numbers of it: a share of 0, a bound, a saturated 1.
  std::vector<const PlanNode*> swallowed_in{};
  std::set<TensorId> passed{};          ///< not finite by it, as far as was observed
  const PlanNode* unseen_in = nullptr;  ///< a forward operation on the way to the loss whose result was not observed
  // Where it reaches neither loss nor gradient nor weight (swallowed.h):
  Fate fate = Fate::same;
  const PlanNode* changed_in = nullptr;  ///< the operation that this is said of
  Number made{}, would{}, value{};       ///< where they differ: of the infinity, of the value, and the value
  std::string reaches() const;
};
/// Follows values that are not finite from the root (through what was not observed, which is said in the name).
Chain follow(const Evidence& evidence, const ObservedStep& step, const Root& root);

/// What the node read.
std::vector<Operand> operands_of(const Evidence& evidence, const ObservedStep& step, const PlanNode& node,
                                 std::int64_t micro_batch);

/// Whether the tensor's value is used by an operation of one of these names within `depth` operations (through casts,
/// adds and masks). Returns the node.
const PlanNode* next_of(const PlanView& plan, TensorId tensor, const std::vector<std::string>& operations, int depth);

}  // namespace ulpscope::reports
