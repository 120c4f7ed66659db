// Keys of [train.scaler]: the policy, and its numbers under the names that kernels/scaling/policies.h gives them.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <limits>

#include "kernels/error.h"
#include "profiler/experiment/keys.h"

namespace ulpscope::profiler {
namespace {

using scaling::FixedScaling;
using scaling::NoScaling;
using scaling::Policy;

/// Scales are fp32; what is not finite there is no scale, and 0 is one only where it means "none".
float as_scale(double number, bool may_be_zero) {
  const auto scale = static_cast<float>(number);
  if (std::isfinite(scale) && (scale > 0.0f || (may_be_zero && number == 0.0))) return scale;
  throw UsageError(fmt::format("{} is {:g} in fp32: it must be from {:.3g} to {:.3g}", number, scale,
                               std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max()));
}

std::vector<std::string> fields_of(Policy policy) {
  std::vector<std::string> names;
  std::visit([&](auto& p) { p.fields([&](const char* name, auto&) { names.emplace_back(name); }); }, policy);
  return names;
}

void assign(float& field, const KeyValue& value, std::string_view name) {
  field = as_scale(std::get<double>(value), name == "floor" || name == "threshold");
}
void assign(double& field, const KeyValue& value, std::string_view) { field = std::get<double>(value); }
void assign(std::int64_t& field, const KeyValue& value, std::string_view) { field = std::get<std::int64_t>(value); }
void assign(bool& field, const KeyValue& value, std::string_view) { field = std::get<bool>(value); }

KeyValue key_value(float field) { return static_cast<double>(field); }
KeyValue key_value(double field) { return field; }
KeyValue key_value(std::int64_t field) { return field; }
KeyValue key_value(bool field) { return field; }

/// A number of the policy. One that the policy does not have is refused by name.
Key field_key(std::string name, KeyType type, std::string doc, Range range = {}) {
  Key key;
  const std::string field = name.substr(name.rfind('.') + 1);
  key.name = std::move(name);
  key.type = type;
  key.doc = std::move(doc);
  key.range = range;
  key.set = [field](Experiment& e, const KeyValue& value) {
    bool found = false;
    std::visit(
        [&](auto& policy) {
          policy.fields([&](const char* each, auto& slot) {
            if (each != field) return;
            assign(slot, value, field);
            found = true;
          });
        },
        e.train.scaler);
    if (found) return;
    const std::vector<std::string> fields = fields_of(e.train.scaler);
    throw UsageError(fmt::format("the policy {} has no {}; it has {}", scaling::name(e.train.scaler), field,
                                 fields.empty() ? "no numbers" : fmt::format("{}", fmt::join(fields, ", "))));
  };
  key.get = [field](const Experiment& e) -> std::optional<KeyValue> {
    std::optional<KeyValue> value;
    Policy policy = e.train.scaler;
    std::visit(
        [&](auto& p) {
          p.fields([&](const char* each, auto& slot) {
            if (each == field) value = key_value(slot);
          });
        },
        policy);
    return value;
  };
  return key;
}

/// "fixed" chooses its policy by itself: a number is all that it is.
Key fixed_key(Range range) {
  Key key = field_key("train.scaler.fixed", KeyType::number, "one loss scale for the whole run", range);
  key.set = [](Experiment& e, const KeyValue& value) { e.train.scaler = FixedScaling{as_scale(std::get<double>(value), false)}; };
  return key;
}

Key policy_key() {
  Key key;
  key.name = "train.scaler.policy";
  key.type = KeyType::text;
  key.doc = "whose rule moves the loss scale of the fp16 modes, with that framework's defaults";
  key.choices = scaling::policy_names;
  key.also = {"kind", "name", "scaler"};
  key.set = [](Experiment& e, const KeyValue& value) {
    e.train.scaler = scaling::find_policy(std::get<std::string>(value), "train.scaler.policy");
  };
  key.get = [](const Experiment& e) -> std::optional<KeyValue> { return KeyValue(std::string(scaling::name(e.train.scaler))); };
  return key;
}

}  // namespace

std::vector<Key> scaler_keys() {
  const Range positive{.least = 0, .greatest = std::numeric_limits<float>::max(), .least_allowed = false};
  const Range not_negative{.least = 0, .greatest = std::numeric_limits<float>::max()};
  const Range count{.least = 1, .greatest = 1e9};
  return {
      policy_key(),
      also(field_key("train.scaler.init", KeyType::number, "first loss scale", positive), {"initial_scale", "init_scale", "initial_loss_scale"}),
      also(field_key("train.scaler.growth", KeyType::number, "factor by which it grows", {.least = 1, .least_allowed = false}),
           {"growth_factor", "scale_factor"}),
      also(field_key("train.scaler.backoff", KeyType::number, "factor on overflow",
                     {.least = 0, .greatest = 1, .least_allowed = false, .greatest_allowed = false}),
           {"backoff_factor"}),
      also(field_key("train.scaler.interval", KeyType::integer, "steps without overflow before it grows", count),
           {"growth_interval", "window", "scale_window", "loss_scale_window"}),
      also(field_key("train.scaler.floor", KeyType::number, "it does not fall below; 0: none", not_negative),
           {"min_scale", "min_loss_scale"}),
      also(field_key("train.scaler.cap", KeyType::number, "it does not grow beyond", positive), {"max_scale", "max_loss_scale"}),
      field_key("train.scaler.hysteresis", KeyType::integer, "overflows before it falls", count),
      field_key("train.scaler.consecutive_hysteresis", KeyType::flag, "every good step refills the hysteresis, not only a growth"),
      also(field_key("train.scaler.stop_at_floor", KeyType::flag, "an overflow at the floor ends the run"), {"raise_error_at_min_scale"}),
      field_key("train.scaler.tolerance", KeyType::number, "share of overflows since the last change before it falls", {.least = 0, .greatest = 1}),
      field_key("train.scaler.threshold", KeyType::number, "it is not lowered below; 0: none", not_negative),
      also(fixed_key(positive), {"static", "loss_scale", "scale"}),
  };
}

}  // namespace ulpscope::profiler
