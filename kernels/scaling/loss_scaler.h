// Loss-scaling policies as pure state machines: what the scale is after a step, given whether a gradient overflowed.
// They know nothing of training; analysis replays them on recorded steps.
//
// A policy is a plain struct (policies.h) and a member of the variant Policy; its rule is one overload in loss_scaler.cpp.
// Products are formed in double and rounded to fp32 once.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "kernels/scaling/policies.h"

namespace ulpscope::scaling {

/// Everything that decides the next scale. What a policy does not use stays 0.
struct ScalerState {
  float scale = 1.0f;
  std::int64_t growth_tracker = 0;  ///< steps without overflow since the last change or attempt at one
  std::int64_t hysteresis = 0;      ///< deepspeed, megatron: what is left of it
  std::int64_t step = 0;            ///< deepspeed, fairseq: steps made
  std::int64_t last_overflow = 0;   ///< deepspeed, fairseq: step; -1: none yet
  std::int64_t last_rescale = 0;    ///< fairseq: step; -1: none yet
  std::int64_t overflows = 0;       ///< fairseq: since the last rescale
  friend bool operator==(const ScalerState&, const ScalerState&) = default;
};

enum class ScaleEvent : std::uint8_t {
  unchanged,
  grown,
  backed_off,        ///< an overflow lowered the scale (0 stays 0)
  growth_not_taken,  ///< the interval was reached, but the grown scale would not be finite, or above the cap
  absorbed,          ///< an overflow that hysteresis or tolerance lets pass
  gave_up,           ///< an overflow at the floor: the framework ends the training
};

struct Transition {
  ScalerState state;
  ScaleEvent event = ScaleEvent::unchanged;
};

/// "none", "fixed", "pytorch", "apex", "deepspeed", "megatron", "fairseq", "tensorflow", "keras".
const char* name(const Policy& policy);
std::vector<std::string> policy_names();
/// With the framework's defaults. Throws UsageError "<place>: …" naming the nearest and all valid names.
Policy find_policy(const std::string& name, const std::string& place);
/// "unchanged", "grown", "backed_off", "growth_not_taken", "absorbed", "gave_up".
const char* name(ScaleEvent event);

/// Throws UsageError if a number of the policy is out of its range: scales finite and above 0 (floors and thresholds may be
/// 0), growth above 1, backoff in (0, 1), interval and hysteresis at least 1, tolerance in [0, 1], cap at least the start. `place` is put in front of the message ("modes.fp16.loss_scale").
void check(const Policy& policy, const std::string& place);

/// Before the first step.
ScalerState initial_state(const Policy& policy);

/// Whether the scale can change: false for none and fixed alone.
bool is_dynamic(const Policy& policy);

/// After one step (with gradient accumulation: after the last micro-batch).
Transition next(const Policy& policy, const ScalerState& state, bool overflow);

/// float32(1 / double(scale)), as PyTorch's unscale_ computes it; infinite for a scale of 0, and below about 2^-128.
float inverse(float scale);

}  // namespace ulpscope::scaling
