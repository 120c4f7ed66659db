#include "kernels/scaling/loss_scaler.h"

#include <algorithm>
#include <cmath>
#include <string_view>
#include <utility>

#include "kernels/error.h"
#include "kernels/nearest.h"

namespace ulpscope::scaling {
namespace {

// ---- checks

[[noreturn]] void refuse(const std::string& place, const char* key, double value, const char* valid) {
  throw UsageError(place + ": " + key + " is " + std::to_string(value) + ", but must be " + valid);
}

void check_field(const std::string& place, const char* key, float scale) {
  const std::string_view k = key;
  const bool may_be_zero = k == "floor" || k == "threshold";
  if (std::isfinite(scale) && (may_be_zero ? scale >= 0.0f : scale > 0.0f)) return;
  refuse(place, key, static_cast<double>(scale), may_be_zero ? "finite and at least 0" : "finite and above 0");
}

void check_field(const std::string& place, const char* key, double number) {
  const std::string_view k = key;
  if (k == "growth" && !(std::isfinite(number) && number > 1.0)) refuse(place, key, number, "finite and above 1");
  if (k == "backoff" && !(number > 0.0 && number < 1.0)) refuse(place, key, number, "between 0 and 1, both excluded");
  if (k == "tolerance" && !(number >= 0.0 && number <= 1.0)) refuse(place, key, number, "between 0 and 1");
}

void check_field(const std::string& place, const char* key, std::int64_t count) {
  if (count < 1) refuse(place, key, static_cast<double>(count), "at least 1");
}

void check_field(const std::string&, const char*, bool) {}

template <class P>
void check_whole(const P& policy, const std::string& place) {
  if constexpr (requires { policy.greatest_scale; }) {
    if (policy.greatest_scale < policy.initial_scale)
      refuse(place, "cap", static_cast<double>(policy.greatest_scale), "at least the initial scale");
  }
}

// ---- before the first step

ScalerState start_of(const NoScaling&) { return {}; }
ScalerState start_of(const FixedScaling& policy) { return {.scale = policy.scale}; }
ScalerState start_of(const PytorchScaler& policy) { return {.scale = policy.initial_scale}; }
ScalerState start_of(const ApexScaler& policy) { return {.scale = policy.initial_scale}; }
ScalerState start_of(const DeepspeedScaler& policy) {
  return {.scale = policy.initial_scale, .hysteresis = policy.hysteresis, .last_overflow = -1};
}
ScalerState start_of(const MegatronScaler& policy) { return {.scale = policy.initial_scale, .hysteresis = policy.hysteresis}; }
ScalerState start_of(const FairseqScaler& policy) {
  return {.scale = policy.initial_scale, .last_overflow = -1, .last_rescale = -1};
}
ScalerState start_of(const TensorflowScaler& policy) { return {.scale = policy.initial_scale}; }
ScalerState start_of(const KerasScaler& policy) { return {.scale = policy.initial_scale}; }

// ---- rules

float product(float scale, double factor) { return static_cast<float>(static_cast<double>(scale) * factor); }
float quotient(float scale, double factor) { return static_cast<float>(static_cast<double>(scale) / factor); }

Transition step(const NoScaling&, const ScalerState& state, bool) { return {state, ScaleEvent::unchanged}; }
Transition step(const FixedScaling&, const ScalerState& state, bool) { return {state, ScaleEvent::unchanged}; }

/// PyTorch, TensorFlow and Keras count good steps in a row; what differs is what happens at the ends of the range.
Transition count_in_a_row(const ScalerState& state, bool overflow, std::int64_t interval, float lowered, float grown,
                          bool growth_is_taken) {
  ScalerState next = state;
  next.growth_tracker = overflow ? 0 : state.growth_tracker + 1;
  if (overflow) {
    next.scale = lowered;
    return {next, ScaleEvent::backed_off};
  }
  if (next.growth_tracker != interval) return {next, ScaleEvent::unchanged};
  next.growth_tracker = 0;
  if (!growth_is_taken) return {next, ScaleEvent::growth_not_taken};
  next.scale = grown;
  return {next, ScaleEvent::grown};
}

Transition step(const PytorchScaler& policy, const ScalerState& state, bool overflow) {
  const float grown = product(state.scale, policy.growth_factor);
  return count_in_a_row(state, overflow, policy.growth_interval, product(state.scale, policy.backoff_factor), grown,
                        std::isfinite(grown));
}

Transition step(const TensorflowScaler& policy, const ScalerState& state, bool overflow) {
  const float grown = product(state.scale, policy.growth_factor);
  return count_in_a_row(state, overflow, policy.growth_interval, std::max(quotient(state.scale, policy.growth_factor), 1.0f),
                        grown, std::isfinite(grown));
}

Transition step(const KerasScaler& policy, const ScalerState& state, bool overflow) {
  return count_in_a_row(state, overflow, policy.growth_interval, product(state.scale, 0.5), product(state.scale, 2.0), true);
}

Transition step(const ApexScaler& policy, const ScalerState& state, bool overflow) {
  const float grown = std::min(policy.greatest_scale, product(state.scale, 2.0));
  return count_in_a_row(state, overflow, policy.growth_interval, std::max(policy.least_scale, product(state.scale, 0.5)), grown,
                        grown != state.scale);
}

Transition step(const DeepspeedScaler& policy, const ScalerState& state, bool overflow) {
  Transition t{state, ScaleEvent::unchanged};
  if (overflow) {
    if (policy.hysteresis == 1 || state.hysteresis == 1) {
      if (state.scale == policy.least_scale && policy.stop_at_floor) {
        t.event = ScaleEvent::gave_up;
      } else {
        t.state.scale = std::max(quotient(state.scale, policy.growth_factor), policy.least_scale);
        t.event = ScaleEvent::backed_off;
      }
    } else {
      --t.state.hysteresis;
      t.event = ScaleEvent::absorbed;
    }
    t.state.last_overflow = state.step;
  } else {
    if (policy.consecutive_hysteresis) t.state.hysteresis = policy.hysteresis;
    if ((state.step - state.last_overflow) % policy.growth_interval == 0) {
      t.state.hysteresis = policy.hysteresis;
      t.state.scale = product(state.scale, policy.growth_factor);
      t.event = ScaleEvent::grown;
    }
  }
  ++t.state.step;
  return t;
}

Transition step(const MegatronScaler& policy, const ScalerState& state, bool overflow) {
  Transition t{state, ScaleEvent::unchanged};
  if (overflow) {
    t.state.growth_tracker = 0;
    --t.state.hysteresis;
    t.event = ScaleEvent::absorbed;
    if (t.state.hysteresis <= 0) {
      t.state.scale = std::max(product(state.scale, policy.backoff_factor), policy.least_scale);
      t.event = ScaleEvent::backed_off;
    }
    return t;
  }
  if (++t.state.growth_tracker == policy.growth_interval) {
    t.state.growth_tracker = 0;
    t.state.hysteresis = policy.hysteresis;
    t.state.scale = product(state.scale, policy.growth_factor);
    t.event = ScaleEvent::grown;
  }
  return t;
}

Transition step(const FairseqScaler& policy, const ScalerState& state, bool overflow) {
  Transition t{state, ScaleEvent::unchanged};
  if (overflow) {
    t.state.last_overflow = state.step;
    ++t.state.overflows;
    t.event = ScaleEvent::absorbed;
    const auto since = static_cast<double>(state.step - state.last_rescale);
    if (static_cast<double>(t.state.overflows) / since >= policy.tolerance) {
      t.state.scale = std::max(quotient(state.scale, policy.growth_factor), policy.threshold);
      t.state.last_rescale = state.step;
      t.state.overflows = 0;
      t.event = ScaleEvent::backed_off;
    }
    if (t.state.scale <= policy.least_scale) {
      t.state.scale = state.scale;   // fairseq restores it before it raises
      t.event = ScaleEvent::gave_up;
    }
  } else if ((state.step - state.last_overflow) % policy.growth_interval == 0) {
    t.state.scale = product(state.scale, policy.growth_factor);
    t.state.last_rescale = state.step;
    t.event = ScaleEvent::grown;
  }
  ++t.state.step;
  return t;
}

template <std::size_t... index>
std::vector<Policy> all_policies(std::index_sequence<index...>) {
  return {Policy{std::in_place_index<index>}...};
}
std::vector<Policy> all_policies() { return all_policies(std::make_index_sequence<std::variant_size_v<Policy>>{}); }

}  // namespace

const char* name(const Policy& policy) {
  return std::visit([](const auto& p) { return std::decay_t<decltype(p)>::name; }, policy);
}

std::vector<std::string> policy_names() {
  std::vector<std::string> names;
  for (const Policy& policy : all_policies()) names.emplace_back(name(policy));
  return names;
}

Policy find_policy(const std::string& wanted, const std::string& place) {
  std::string list;
  for (const Policy& policy : all_policies()) {
    if (wanted == name(policy)) return policy;
    list += (list.empty() ? "" : ", ") + std::string(name(policy));
  }
  throw UsageError(place + ": unknown policy '" + wanted + "'; did you mean " + nearest(wanted, policy_names()) + "? Policies: " + list);
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
    case ScaleEvent::absorbed:
      return "absorbed";
    case ScaleEvent::gave_up:
      return "gave_up";
  }
  return "unknown";
}

void check(const Policy& policy, const std::string& place) {
  std::visit(
      [&](auto p) {
        p.fields([&](const char* key, auto value) { check_field(place, key, value); });
        check_whole(p, place);
      },
      policy);
}

ScalerState initial_state(const Policy& policy) {
  return std::visit([](const auto& p) { return start_of(p); }, policy);
}

bool is_dynamic(const Policy& policy) {
  return !std::holds_alternative<NoScaling>(policy) && !std::holds_alternative<FixedScaling>(policy);
}

Transition next(const Policy& policy, const ScalerState& state, bool overflow) {
  return std::visit([&](const auto& p) { return step(p, state, overflow); }, policy);
}

float inverse(float scale) { return static_cast<float>(1.0 / static_cast<double>(scale)); }

}  // namespace ulpscope::scaling
