// Loss-scaling policies as pure state machines: what the scale is after a step, given whether a gradient overflowed.
// They know nothing of training; analysis replays them on recorded steps.
//
// A policy is a plain struct and a member of the variant Policy; its rule is one overload in loss_scaler.cpp. The rule
// of PyTorch's torch.amp.GradScaler (_amp_update_scale_): on overflow scale = float(scale * backoff), tracker = 0; else
// tracker + 1, and when it reaches the interval scale = float(scale * growth), unless that is not finite; tracker = 0
// either way. Products are formed in double and rounded to fp32 once. There is no floor: the scale can fall below 1 and
// to 0.
#pragma once

#include <cstdint>
#include <string>
#include <variant>

namespace ulpscope::scaling {

/// The scale is 1 and stays 1.
struct NoScaling {};

/// The scale is chosen once.
struct FixedScaling {
  float scale = 65536.0f;
};

/// PyTorch's defaults.
struct PytorchScaler {
  float initial_scale = 65536.0f;
  double growth_factor = 2.0;
  double backoff_factor = 0.5;
  std::int64_t growth_interval = 2000;  ///< steps without overflow before the scale grows
};

using Policy = std::variant<NoScaling, FixedScaling, PytorchScaler>;

struct ScalerState {
  float scale = 1.0f;
  std::int64_t growth_tracker = 0;  ///< steps without overflow since the last change or attempt at one
  friend bool operator==(const ScalerState&, const ScalerState&) = default;
};

enum class ScaleEvent : std::uint8_t {
  unchanged,
  grown,
  backed_off,        ///< an overflow lowered the scale (0 stays 0)
  growth_not_taken,  ///< the interval was reached, but the grown scale would not be finite
};

struct Transition {
  ScalerState state;
  ScaleEvent event = ScaleEvent::unchanged;
};

/// "none", "fixed", "pytorch".
const char* name(const Policy& policy);
/// "unchanged", "grown", "backed_off", "growth_not_taken".
const char* name(ScaleEvent event);

/// Throws UsageError if a number of the policy is out of its range: scales finite and above 0, growth above 1, backoff
/// in (0, 1), interval at least 1. `place` is put in front of the message ("modes.fp16.loss_scale").
void check(const Policy& policy, const std::string& place);

/// Before the first step.
ScalerState initial_state(const Policy& policy);

/// Whether the scale can change: false for none and fixed.
bool is_dynamic(const Policy& policy);

/// After one step (with gradient accumulation: after the last micro-batch).
Transition next(const Policy& policy, const ScalerState& state, bool overflow);

/// float32(1 / double(scale)), as PyTorch's unscale_ computes it; infinite for a scale of 0, and below about 2^-128.
float inverse(float scale);

}  // namespace ulpscope::scaling
