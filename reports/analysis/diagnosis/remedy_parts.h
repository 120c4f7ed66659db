// What remedies are made of: changes that many causes have in common, with the keys and settings that make them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/diagnosis/evidence.h"

namespace ulpscope::reports {

/// A fact of the cause by its key; null if there is none.
const Fact* find(const Cause& cause, const char* key);

/// The operation of the forward pass that a node is named after: "y" of y.dweight, the cast "w.fp16" of w.fp16.d0.cast.
const PlanNode* model_node(const PlanView& plan, std::string name);

/// The cause's operation in fp32, with what reads it up to the next norm. Its key is empty if no operation of the model is behind it.
Remedy keep_fp32(const Evidence& evidence, const Cause& cause, const char* change = nullptr);
Remedy use_bf16();
/// A scaler that moves its scale begins there, and may fall so far; with another policy (or none) the scale is fixed.
Remedy scale_to(const Evidence& evidence, double scale);
/// A floor of the policy that lets the scale come down to this one. Nothing: it lets it already, or has no such key.
std::optional<Remedy> lower_floor_to(const Evidence& evidence, double scale);
Remedy lower_rate(const Fact& rate);
/// Of what comes in too large from the data: a factor for the features. Nothing: it is made by an operation.
std::optional<Remedy> scale_data(const Evidence& evidence, const Cause& cause);
/// In place of use_bf16, where weights are kept in fp16 alone.
Remedy use_bf16_pure();   // remedy_optimizer.cpp
/// Of moments and updates that leave the range, or vanish below it.
void of_optimizer_state(const Evidence& evidence, const Cause& cause, std::vector<Remedy>& list);   // remedy_optimizer.cpp
/// Of a divisor or an argument that is zero, or negative where it must not be.
void of_zeros(const Evidence& evidence, const Cause& cause, std::vector<Remedy>& list);   // remedy_zeros.cpp
/// Of a result of the forward pass that is too large for its format.
void of_activation(const Evidence& evidence, const Cause& cause, std::vector<Remedy>& list);   // remedy_activation.cpp
/// Of a mask that leaves rows without a score.
void of_mask(const Evidence& evidence, const Cause& cause, std::vector<Remedy>& list);   // remedy_activation.cpp
/// Of a norm that reads numbers rounded too far from 0.
void of_variance(const Evidence& evidence, const Cause& cause, std::vector<Remedy>& list);   // remedy_silent.cpp
/// Of held-out losses that are not finite.
void of_evaluation(const Evidence& evidence, const Cause& cause, std::vector<Remedy>& list);   // remedy_silent.cpp
Remedy config(int cost, std::string change, std::string key, std::string settings, std::string mend);

}  // namespace ulpscope::reports
