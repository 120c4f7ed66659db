// From a place where values stop being finite to a cause; and causes that leave every value finite.
//
// A family looks at the operation, its attributes and what was counted: never at names. It returns no if it does not
// know the fault, so that the next family is asked; what no family knows is Kind::unknown.
#pragma once

#include <vector>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/diagnosis/evidence.h"
#include "reports/analysis/diagnosis/first_fault.h"
#include "reports/analysis/diagnosis/normality.h"

namespace ulpscope::reports {

struct Suspect {
  const Evidence& evidence;
  const ObservedStep& step;
  const Root& root;
  const Chain& chain;
  const StepStory& story;

  const PlanNode& node() const { return *root.node; }
  const Stat* input(std::size_t i) const;
  Format output_format() const { return evidence.plan().format(root.tensor); }
  std::string title() const { return evidence.plan().title(root.tensor); }
  /// What is not finite is a gradient times the loss scale, and not what the backward pass computes of the forward pass alone.
  bool carries_scale() const {
    return root.node != nullptr && node().record.phase == Phase::backward && (node().outputs.empty() || evidence.plan().carries_scale(root.tensor));
  }
};

enum class Known : std::uint8_t {
  no,
  yes,
  contained  ///< what masks are for: nothing to report
};

/// Fill kind, what and facts.
Known source_cause(const Suspect& suspect, Cause& cause);     // causes_source.cpp
Known mask_cause(const Suspect& suspect, Cause& cause);       // causes_mask.cpp
Known reduction_cause(const Suspect& suspect, Cause& cause);  // causes_reduction.cpp
Known norm_cause(const Suspect& suspect, Cause& cause);       // causes_norm.cpp
Known optimizer_cause(const Suspect& suspect, Cause& cause);  // causes_optimizer.cpp
Known scale_cause(const Suspect& suspect, Cause& cause);      // causes_scale.cpp
Known domain_cause(const Suspect& suspect, Cause& cause);     // causes_domain.cpp
Known divisor_cause(const Suspect& suspect, Cause& cause);    // causes_range.cpp
Known range_cause(const Suspect& suspect, Cause& cause);      // causes_range.cpp

/// Of a zero: that it is a variance computed as E[x^2] - E[x]^2, and what rounding does to that. Nothing if it is another number.
void tell_cancelled(const Suspect& suspect, TensorId zero, Cause& cause);  // causes_domain.cpp

/// Of the update of a running average that leaves its format: what it averages, and who reads it.
void tell_average(const Suspect& suspect, Cause& cause);  // causes_buffers.cpp

/// Of rows that several masks leave without a score: how many are one mask's, where what the others can have done leaves no doubt.
void tell_mask_rows_apart(std::vector<Cause>& causes);  // causes_mask.cpp

/// The cause of a root with everything that is known of it but its gravity; nothing if it is contained.
std::optional<Cause> cause_of(const Suspect& suspect);

/// The sum of a row's elements is infinite inside a layer norm, and so is its mean: what comes of that is NaN.
bool mean_overflowed(const Suspect& suspect);  // causes_norm.cpp

/// Causes without a value that is not finite, each with its gravity.
void silent_update_causes(const Evidence& evidence, std::vector<Cause>& causes);  // causes_updates.cpp
void silent_moment_causes(const Evidence& evidence, std::vector<Cause>& causes);  // causes_moments.cpp
void silent_buffer_causes(const Evidence& evidence, std::vector<Cause>& causes);  // causes_buffers.cpp
void silent_norm_causes(const Evidence& evidence, std::vector<Cause>& causes);    // causes_norm.cpp
void silent_sum_causes(const Evidence& evidence, std::vector<Cause>& causes);     // causes_sums.cpp
void silent_mask_causes(const Evidence& evidence, std::vector<Cause>& causes);    // causes_mask.cpp
void silent_norm_sum_causes(const Evidence& evidence, std::vector<Cause>& causes);  // causes_norm_sums.cpp
void silent_variance_causes(const Evidence& evidence, std::vector<Cause>& causes);  // causes_variance.cpp
/// Of evaluations; after all others, which may have told already why one is not finite.
void silent_evaluation_causes(const Evidence& evidence, const StepStory& story, std::vector<Cause>& causes);  // causes_evaluation.cpp
/// Of sums kept narrow, those of which only swallowed additions are seen, in words; empty: there are none.
std::string unseen_sums(const Evidence& evidence);  // causes_sums.cpp
void silent_gradient_causes(const Evidence& evidence, const StepStory& story,
                            std::vector<Cause>& causes);  // causes_gradients.cpp
void silent_step_causes(const Evidence& evidence, const StepStory& story,
                        std::vector<Cause>& causes);                            // causes_steps.cpp
void silent_flushed_causes(const Evidence& evidence, std::vector<Cause>& causes);  // causes_flushed.cpp
void silent_loss_causes(const Evidence& evidence, std::vector<Cause>& causes);  // causes_loss.cpp

/// The betas (and the momentum) of an update that are 1 or 0 as they are kept, in words, with a fact for each; "" if none is.
std::string vanished_betas(const Evidence& evidence, const PlanNode& update, std::vector<Fact>& facts);  // causes_optimizer.cpp
/// Adam's second moment is infinite and nothing else of that update is: its weights stand still, and stay finite.
bool second_moment_alone(const Suspect& suspect);  // causes_optimizer.cpp

/// Words for a format that an attribute names ("accumulate", "scalar"); fp32 if it is not there.
Format attribute_format(const PlanNode& node, const char* attribute);
/// The format a node's sum (or its mean's sum and count) is rounded to, and fp32 if it is not narrow.
Format sum_format(const PlanNode& node);
/// Elements that make one result of a reduction; 1 if that is not known.
std::int64_t reduced_elements(const PlanNode& node);

}  // namespace ulpscope::reports
