// Checks before training that need no range of a 16-bit tensor: each adds what it foresees.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "profiler/predict/plan_facts.h"
#include "reports/analysis/diagnosis/kind.h"

namespace ulpscope::profiler {

/// Foreseen::kind of what the diagnosis finds, too.
inline std::string kind(reports::Kind k) { return std::string(name(k)); }

using FoundFaults = std::vector<reports::Foreseen>;

/// betas, updates and weight decay against half an ulp of the weights, and the two below.
void check_optimizer(const PlanFacts& facts, FoundFaults& found);
/// Moments that become zero or infinite as they are kept, and an epsilon that does.
void check_moments(const PlanFacts& facts, FoundFaults& found);
/// The norm for clipping, and when it is taken.
void check_clipping(const PlanFacts& facts, FoundFaults& found);
/// Sums and counts that are kept narrow inside an operation.
void check_sums(const PlanFacts& facts, FoundFaults& found);
/// Sums that will stand still, or lose a hundredth and more, as the mode makes them of the numbers of the rehearsal.
void check_stuck_sums(const PlanFacts& facts, FoundFaults& found);
/// Results (and indices) whose numbers check_stuck_sums, check_sums and check_norms ask for.
std::set<std::string> narrow_addends(const engine::StepPlan& plan);
/// Gradients of micro-batches, whose numbers in each of them check_stuck_sums asks for.
std::set<std::string> micro_batch_addends(const engine::StepPlan& plan);
/// Variances of numbers that 16 bits hold too coarsely beside their mean: channels and rows whose values fall together.
void check_variances(const PlanFacts& facts, FoundFaults& found);
/// Results whose numbers check_variances asks for.
std::set<std::string> norm_inputs(const engine::StepPlan& plan);
/// Squares inside norms that overflow or become zero, variances with nothing left in them.
void check_norms(const PlanFacts& facts, FoundFaults& found);
/// Running statistics that leave the range, in the first step or in one of those planned. explained: names of the tensors whose overflows it speaks of.
void check_running(const PlanFacts& facts, FoundFaults& found, std::vector<std::string>& explained);
/// Buffers and what they take in, whose numbers check_running asks for.
std::set<std::string> averaged(const engine::StepPlan& plan);
/// Whether check_norms asks for the numbers that a node reads.
bool keeps_narrow_squares(const engine::Node& node);
/// Norms over rows whose sums in fp32 are infinite in the rehearsal; after check_norms, of which it replaces what is no more than possible.
void check_wide_norms(const PlanFacts& facts, FoundFaults& found);
/// What the order of a step's parts does wrong.
void check_order(const PlanFacts& facts, FoundFaults& found);
/// Whether a difference that is not 0 in the rehearsal, and so small that rounding in 16 bits may make 0 of it, is divided by, or a logarithm taken of it.
bool may_cancel(const PlanFacts& facts);
/// Divisors that become zero in 16 bits.
void check_divisors(const PlanFacts& facts, FoundFaults& found);
/// Masks that are added to scores in 16 bits. explained: names of the tensors whose overflows it speaks of.
void check_masks(const PlanFacts& facts, FoundFaults& found, std::vector<std::string>& explained);
/// Results whose numbers check_masks asks for: by name, in fp32.
std::set<std::string> mask_scores(const engine::StepPlan& plan);
/// Whole numbers (positions) and rotations that fall together in 16 bits.
void check_positions(const PlanFacts& facts, FoundFaults& found);
/// Results whose numbers check_positions asks for.
std::set<std::string> position_tables(const engine::StepPlan& plan);

}  // namespace ulpscope::profiler
