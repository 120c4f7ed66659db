// Keys of [train] and [train.scaler].
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/precision/policy.h"
#include "kernels/error.h"
#include "profiler/experiment/keys.h"

namespace ulpscope::profiler {
namespace {

using engine::OptimizerConfig;
using engine::ScheduleConfig;
using engine::TrainConfig;
using scaling::FixedScaling;
using scaling::PytorchScaler;

template <class T>
Slot<T> in(T TrainConfig::*member) {
  return [member](Experiment& e) { return &(e.train.*member); };
}
template <class T>
Slot<T> in(T OptimizerConfig::*member) {
  return [member](Experiment& e) { return &(e.train.optimizer.*member); };
}
template <class T>
Slot<T> in(T ScheduleConfig::*member) {
  return [member](Experiment& e) { return &(e.train.schedule.*member); };
}

/// A key whose value is an enumerator, by name.
template <class Enum, std::size_t count>
Key choice_key(std::string name, std::string doc, std::array<std::pair<const char*, Enum>, count> choices,
               std::function<Enum&(Experiment&)> slot) {
  Key key;
  key.name = std::move(name);
  key.type = KeyType::text;
  key.doc = std::move(doc);
  key.choices = [choices] {
    std::vector<std::string> names;
    for (const auto& [word, value] : choices) names.emplace_back(word);
    return names;
  };
  key.set = [choices, slot](Experiment& e, const KeyValue& value) {
    for (const auto& [word, enumerator] : choices) {
      if (std::get<std::string>(value) == word) slot(e) = enumerator;
    }
  };
  key.get = [choices, slot](const Experiment& e) -> std::optional<KeyValue> {
    for (const auto& [word, enumerator] : choices) {
      if (slot(const_cast<Experiment&>(e)) == enumerator) return KeyValue(std::string(word));
    }
    return std::nullopt;
  };
  return key;
}

/// Scales are fp32; what is 0 or infinite there is no scale.
float as_scale(double number) {
  const auto scale = static_cast<float>(number);
  if (scale > 0 && std::isfinite(scale)) return scale;
  throw UsageError(fmt::format("{} is {:g} in fp32: it must be from {:.3g} to {:.3g}", number, scale,
                               std::numeric_limits<float>::denorm_min(), std::numeric_limits<float>::max()));
}

/// A number of the dynamic scaler. Settings::build refuses it beside train.scaler.fixed.
template <class Member>
Key scaler_key(std::string name, KeyType type, std::string doc, Range range, Member PytorchScaler::*member) {
  Key key;
  key.name = std::move(name);
  key.type = type;
  key.doc = std::move(doc);
  key.range = range;
  key.set = [member](Experiment& e, const KeyValue& value) {
    auto* scaler = std::get_if<PytorchScaler>(&e.train.scaler);
    if (scaler == nullptr) scaler = &e.train.scaler.emplace<PytorchScaler>();
    if (const auto* integer = std::get_if<std::int64_t>(&value)) scaler->*member = static_cast<Member>(*integer);
    if (const auto* number = std::get_if<double>(&value)) {
      if constexpr (std::is_same_v<Member, float>)
        scaler->*member = as_scale(*number);
      else
        scaler->*member = static_cast<Member>(*number);
    }
  };
  key.get = [member, type](const Experiment& e) -> std::optional<KeyValue> {
    const auto* scaler = std::get_if<PytorchScaler>(&e.train.scaler);
    if (scaler == nullptr) return std::nullopt;
    if (type == KeyType::integer) return KeyValue(static_cast<std::int64_t>(scaler->*member));
    return KeyValue(static_cast<double>(scaler->*member));
  };
  return key;
}

Key fixed_scale_key() {
  Key key;
  key.name = "train.scaler.fixed";
  key.type = KeyType::number;
  key.doc = "one loss scale for the whole run, instead of the four above";
  key.also = {"static", "loss_scale", "scale"};
  key.range = {.least = 0, .greatest = std::numeric_limits<float>::max(), .least_allowed = false};
  key.set = [](Experiment& e, const KeyValue& value) {
    e.train.scaler = FixedScaling{as_scale(std::get<double>(value))};
  };
  key.get = [](const Experiment& e) -> std::optional<KeyValue> {
    const auto* fixed = std::get_if<FixedScaling>(&e.train.scaler);
    if (fixed == nullptr) return std::nullopt;
    return KeyValue(static_cast<double>(fixed->scale));
  };
  return key;
}

std::vector<Key> optimizer_keys() {
  using engine::OptimizerKind;
  return {
      also(choice_key<OptimizerKind, 2>("train.optimizer", "how weights are updated",
                                        {{{"adamw", OptimizerKind::adamw}, {"sgd", OptimizerKind::sgd}}},
                                        [](Experiment& e) -> OptimizerKind& { return e.train.optimizer.kind; }),
           {"optim"}),
      also(number_key("train.beta1", "adamw: decay of the mean gradient", below(0, 1), in(&OptimizerConfig::beta1)),
           {"adam_beta1"}),
      also(number_key("train.beta2", "adamw: decay of the mean squared gradient", below(0, 1),
                      in(&OptimizerConfig::beta2)),
           {"adam_beta2"}),
      also(number_key("train.epsilon", "adamw: added to the divisor", at_least(0), in(&OptimizerConfig::epsilon)),
           {"adam_epsilon", "eps"}),
      number_key("train.momentum", "sgd: decay of the mean gradient", below(0, 1), in(&OptimizerConfig::momentum)),
      flag_key("train.nesterov", "sgd: Nesterov's momentum", in(&OptimizerConfig::nesterov)),
      also(number_key("train.weight_decay", "pulls weights towards 0", at_least(0), in(&OptimizerConfig::weight_decay)),
           {"wd"}),
      also(number_key("train.clip", "greatest norm of the unscaled gradients; 0: no clipping", at_least(0),
                      in(&OptimizerConfig::clip)),
           {"max_grad_norm", "grad_clip", "clip_grad_norm"}),
  };
}

std::vector<Key> scaler_keys() {
  Key interval = scaler_key("train.scaler.interval", KeyType::integer, "steps without overflow before the scale grows",
                            between(1, 1e9), &PytorchScaler::growth_interval);
  Key init = scaler_key("train.scaler.init", KeyType::number, "first loss scale of the fp16 modes",
                        Range{.least = 0, .greatest = std::numeric_limits<float>::max(), .least_allowed = false},
                        &PytorchScaler::initial_scale);
  return {
      also(std::move(init), {"initial_scale", "init_scale"}),
      also(scaler_key("train.scaler.growth", KeyType::number, "factor by which it grows", more_than(1),
                      &PytorchScaler::growth_factor),
           {"growth_factor"}),
      also(scaler_key("train.scaler.backoff", KeyType::number, "factor on overflow",
                      Range{.least = 0, .greatest = 1, .least_allowed = false, .greatest_allowed = false},
                      &PytorchScaler::backoff_factor),
           {"backoff_factor"}),
      also(std::move(interval), {"growth_interval", "window"}),
      fixed_scale_key(),
  };
}

}  // namespace

std::vector<Key> train_keys() {
  using engine::NonFinite;
  using engine::ScheduleKind;
  std::vector<Key> list = {
      also(integer_key("train.steps", "training steps", between(1, 1e9), in(&TrainConfig::steps)),
           {"max_steps", "iterations"}),
      also(integer_key("train.batch", "sequences (or samples) in a step", between(1, 65536), in(&TrainConfig::batch)),
           {"batch_size", "per_device_train_batch_size"}),
      also(number_key("train.lr", "learning rate after warm-up", at_least(0), in(&ScheduleConfig::learning_rate)),
           {"learning_rate"}),
      also(integer_key("train.warmup", "applied steps in which it rises from 0", at_least(0),
                       in(&ScheduleConfig::warmup)),
           {"warmup_steps"}),
      also(choice_key<ScheduleKind, 3>("train.schedule", "how the learning rate goes on after warm-up",
                                       {{{"constant", ScheduleKind::constant},
                                         {"cosine", ScheduleKind::cosine},
                                         {"linear", ScheduleKind::linear}}},
                                       [](Experiment& e) -> ScheduleKind& { return e.train.schedule.kind; }),
           {"lr_scheduler_type", "lr_scheduler"}),
      number_key("train.final_fraction", "cosine and linear end at lr times this", between(0, 1),
                 in(&ScheduleConfig::final_fraction)),
  };
  for (Key& key : optimizer_keys()) list.push_back(std::move(key));
  list.push_back(also(integer_key("train.evaluate_every", "steps between held-out evaluations; 0: only at the end",
                                  at_least(0), in(&TrainConfig::evaluate_every)),
                      {"eval_steps"}));
  list.push_back(integer_key("train.evaluation_batches", "batches of one held-out evaluation", at_least(1),
                             in(&TrainConfig::evaluation_batches)));
  list.push_back(choice_key<NonFinite, 2>("train.non_finite",
                                          "on a gradient that is not finite in a mode without a loss scaler",
                                          {{{"stop", NonFinite::stop}, {"apply", NonFinite::apply}}},
                                          [](Experiment& e) -> NonFinite& { return e.train.non_finite; }));
  std::vector<std::string> policies;
  for (const engine::Policy& policy : engine::policies()) policies.push_back(policy.name);
  list.push_back(text_key("train.policy", "which operators autocast lowers", policies, in(&TrainConfig::policy)));
  list.push_back(
      texts_key("train.keep_fp32", "patterns of node names that stay fp32 (* and ?)", in(&TrainConfig::keep_fp32)));
  for (Key& key : scaler_keys()) list.push_back(std::move(key));
  return list;
}

}  // namespace ulpscope::profiler
