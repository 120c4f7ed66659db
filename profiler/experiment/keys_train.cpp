// Keys of [train].
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <type_traits>

#include "engine/precision/policy.h"
#include "kernels/error.h"
#include "profiler/experiment/keys.h"
#include "profiler/experiment/keys_choice.h"
#include "profiler/experiment/load_data.h"

namespace ulpscope::profiler {
namespace {

using engine::OptimizerConfig;
using engine::ScheduleConfig;
using engine::TrainConfig;

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

/// A graph that makes its own batches says how large they are.
Key batch_key() {
  Key key = integer_key("train.batch", "sequences (or samples) of a micro-batch", between(1, 65536), in(&TrainConfig::batch));
  key.also = {"batch_size", "per_device_train_batch_size"};
  key.get = [plain = key.get](const Experiment& e) -> std::optional<KeyValue> {
    if (makes_own_data(e)) return std::nullopt;
    return plain(e);
  };
  return key;
}

/// "none", "blocks" or patterns. Whether patterns match is for the plan to find out.
Key checkpoint_key() {
  Key key;
  key.name = "train.recompute";
  key.type = KeyType::texts;
  key.doc =
      "what the backward pass computes again instead of keeping it: none, blocks (block0.…, layer0.…), or patterns of "
      "node names (* and ?)";
  key.also = {"gradient_checkpointing", "activation_checkpointing", "checkpoint"};
  key.set = [](Experiment& e, const KeyValue& value) {
    std::vector<std::string> words = std::get<std::vector<std::string>>(value);
    const bool none = std::find(words.begin(), words.end(), "none") != words.end();
    if (none && words.size() > 1) throw UsageError("\"none\" does not go with others; it takes none, blocks, or patterns");
    if (none) words.clear();
    e.train.recompute = std::move(words);
  };
  key.get = [](const Experiment& e) -> std::optional<KeyValue> {
    const std::vector<std::string>& words = e.train.recompute;
    if (words.empty()) return KeyValue(std::string("none"));
    if (words.size() == 1) return KeyValue(words.front());
    return KeyValue(words);
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

}  // namespace

std::vector<Key> train_keys() {
  using engine::NonFinite;
  using engine::ScheduleKind;
  using engine::WeightCopies;
  std::vector<Key> list = {
      also(integer_key("train.steps", "training steps", between(1, 1e9), in(&TrainConfig::steps)),
           {"max_steps", "iterations"}),
      batch_key(),
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
  for (Key& key : step_keys()) list.push_back(std::move(key));
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
  list.push_back(also(flag_key("train.widen", "weights that come in 16 bits get an fp32 master copy, in mixed modes",
                               [](Experiment& e) { return &e.train.widen; }),
                      {"master_weights"}));
  list.push_back(also(
      choice_key<MatrixUnit, 7>("train.accumulate_as",
                                "whose matrix units' sums the products have, emulated on the CPU (docs/tensor_cores.md); none: plain fp32 sums",
                                {{{"none", MatrixUnit::none},
                                  {"v100", MatrixUnit::v100},
                                  {"turing", MatrixUnit::turing},
                                  {"ampere", MatrixUnit::ampere},
                                  {"ada", MatrixUnit::ada},
                                  {"hopper", MatrixUnit::hopper},
                                  {"blackwell", MatrixUnit::blackwell}}},
                                [](Experiment& e) -> MatrixUnit& { return e.train.accumulate_as; }),
      {"generation", "tensor_cores", "accumulate"}));
  list.push_back(flag_key("train.fusion", "operations that follow each other in one launch; the bits are the same",
                          in(&TrainConfig::fusion)));
  list.push_back(checkpoint_key());
  list.push_back(choice_key<WeightCopies, 3>(
      "train.weight_copies", "16-bit copies of weights: kept for the backward pass, cast again, or what the plan decides",
      {{{"auto", WeightCopies::automatic}, {"keep", WeightCopies::keep}, {"recast", WeightCopies::recast}}},
      [](Experiment& e) -> WeightCopies& { return e.train.weight_copies; }));
  for (Key& key : scaler_keys()) list.push_back(std::move(key));
  return list;
}

}  // namespace ulpscope::profiler
