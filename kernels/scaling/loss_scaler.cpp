#include "kernels/scaling/loss_scaler.h"

#include <cmath>

#include "kernels/error.h"

namespace ulpscope::scaling {
namespace {

const char* name_of(const NoScaling&) { return "none"; }
const char* name_of(const FixedScaling&) { return "fixed"; }
const char* name_of(const PytorchScaler&) { return "pytorch"; }

void require(bool good, const std::string& place, const char* key, double value, const char* valid) {
  if (good) return;
  throw UsageError(place + ": " + key + " is " + std::to_string(value) + ", but must be " + valid);
}

bool valid_scale(float scale) { return std::isfinite(scale) && scale > 0.0f; }

void check_policy(const NoScaling&, const std::string&) {}

void check_policy(const FixedScaling& policy, const std::string& place) {
  require(valid_scale(policy.scale), place, "scale", static_cast<double>(policy.scale), "finite and above 0");
}

void check_policy(const PytorchScaler& policy, const std::string& place) {
  require(valid_scale(policy.initial_scale), place, "initial_scale", static_cast<double>(policy.initial_scale),
          "finite and above 0");
  require(std::isfinite(policy.growth_factor) && policy.growth_factor > 1.0, place, "growth_factor",
          policy.growth_factor, "finite and above 1");
  require(policy.backoff_factor > 0.0 && policy.backoff_factor < 1.0, place, "backoff_factor", policy.backoff_factor,
          "between 0 and 1, both excluded");
  require(policy.growth_interval >= 1, place, "growth_interval", static_cast<double>(policy.growth_interval),
          "at least 1");
}

float initial_scale(const NoScaling&) { return 1.0f; }
float initial_scale(const FixedScaling& policy) { return policy.scale; }
float initial_scale(const PytorchScaler& policy) { return policy.initial_scale; }

float product(float scale, double factor) { return static_cast<float>(static_cast<double>(scale) * factor); }

Transition step(const NoScaling&, const ScalerState& state, bool) { return {state, ScaleEvent::unchanged}; }
Transition step(const FixedScaling&, const ScalerState& state, bool) { return {state, ScaleEvent::unchanged}; }

Transition step(const PytorchScaler& policy, const ScalerState& state, bool overflow) {
  if (overflow) return {{product(state.scale, policy.backoff_factor), 0}, ScaleEvent::backed_off};
  const std::int64_t tracker = state.growth_tracker + 1;
  if (tracker != policy.growth_interval) return {{state.scale, tracker}, ScaleEvent::unchanged};
  const float grown = product(state.scale, policy.growth_factor);
  if (!std::isfinite(grown)) return {{state.scale, 0}, ScaleEvent::growth_not_taken};
  return {{grown, 0}, ScaleEvent::grown};
}

}  // namespace

const char* name(const Policy& policy) {
  return std::visit([](const auto& p) { return name_of(p); }, policy);
}

const char* name(ScaleEvent event) {
  switch (event) {
    case ScaleEvent::unchanged:
      return "unchanged";
    case ScaleEvent::grown:
      return "grown";
    case ScaleEvent::backed_off:
      return "backed_off";
    case ScaleEvent::growth_not_taken:
      return "growth_not_taken";
  }
  return "unknown";
}

void check(const Policy& policy, const std::string& place) {
  std::visit([&](const auto& p) { check_policy(p, place); }, policy);
}

ScalerState initial_state(const Policy& policy) {
  return {std::visit([](const auto& p) { return initial_scale(p); }, policy), 0};
}

bool is_dynamic(const Policy& policy) { return std::holds_alternative<PytorchScaler>(policy); }

Transition next(const Policy& policy, const ScalerState& state, bool overflow) {
  return std::visit([&](const auto& p) { return step(p, state, overflow); }, policy);
}

float inverse(float scale) { return static_cast<float>(1.0 / static_cast<double>(scale)); }

}  // namespace ulpscope::scaling
