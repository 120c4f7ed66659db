// Keys of [train] that say how a step is made: micro-batches, formats of what is kept, arithmetic of the update, and knobs that
// reproduce faults.
#include "engine/train/config.h"
#include "profiler/experiment/keys.h"
#include "profiler/experiment/keys_choice.h"

namespace ulpscope::profiler {
namespace {

using engine::OptimizerConfig;
using engine::TrainConfig;

template <class T>
Slot<T> in(T TrainConfig::*member) {
  return [member](Experiment& e) { return &(e.train.*member); };
}

template <class T>
std::function<T&(Experiment&)> of_update(T OptimizerConfig::*member) {
  return [member](Experiment& e) -> T& { return e.train.optimizer.*member; };
}
template <class T>
std::function<T&(Experiment&)> of_step(T TrainConfig::*member) {
  return [member](Experiment& e) -> T& { return e.train.*member; };
}

Key format_key(std::string name, std::string doc, std::function<Format&(Experiment&)> slot) {
  return choice_key<Format, 3>(std::move(name), std::move(doc),
                               {{{"fp32", Format::fp32}, {"fp16", Format::fp16}, {"bf16", Format::bf16}}}, std::move(slot));
}

/// A format, or that of the weights.
Key like_weights_key(std::string name, std::string doc, std::function<std::optional<Format>&(Experiment&)> slot) {
  using Maybe = std::optional<Format>;
  return choice_key<Maybe, 4>(
      std::move(name), std::move(doc),
      {{{"weights", Maybe{}}, {"fp32", Format::fp32}, {"fp16", Format::fp16}, {"bf16", Format::bf16}}}, std::move(slot));
}

/// The mode's own formats, or everything in 16 bits, or in fp32.
Key evaluation_format_key() {
  using Maybe = std::optional<Format>;
  return choice_key<Maybe, 4>("train.evaluation_format", "held-out evaluation: in the run's mode, or with weights and everything in 16 bits, or in fp32",
                              {{{"mode", Maybe{}}, {"fp16", Format::fp16}, {"bf16", Format::bf16}, {"fp32", Format::fp32}}},
                              of_step(&TrainConfig::evaluation_format));
}

Key wrong_if_set(std::string name, std::string doc, const char* right, const char* wrong, std::function<bool&(Experiment&)> slot) {
  return choice_key<bool, 2>(std::move(name), std::move(doc), {{{right, false}, {wrong, true}}}, std::move(slot));
}

std::vector<Key> update_keys() {
  using engine::ScalarRounding;
  using engine::UpdateArithmetic;
  return {
      choice_key<UpdateRounding, 3>("train.update_rounding", "how new weights are rounded to their format",
                                    {{{"nearest", UpdateRounding::nearest},
                                      {"stochastic", UpdateRounding::stochastic},
                                      {"kahan", UpdateRounding::kahan}}},
                                    of_update(&OptimizerConfig::rounding)),
      choice_key<UpdateArithmetic, 2>("train.update_arithmetic",
                                      "16-bit weights: every operation of the update rounded (storage), or once at its end (fp32)",
                                      {{{"storage", UpdateArithmetic::storage}, {"fp32", UpdateArithmetic::fp32}}},
                                      of_update(&OptimizerConfig::arithmetic)),
      like_weights_key("train.moment_format", "of the optimizer's moments", of_update(&OptimizerConfig::moment_format)),
      format_key("train.scalar_format", "non-standard: what betas, epsilon, rate and decay are kept in",
                 of_update(&OptimizerConfig::scalar_format)),
      choice_key<ScalarRounding, 2>("train.scalar_rounding", "how they get there",
                                    {{{"round", ScalarRounding::round}, {"truncate", ScalarRounding::truncate}}},
                                    of_update(&OptimizerConfig::scalar_rounding)),
      format_key("train.norm_accumulate", "non-standard: what the norm for clipping is summed in",
                 of_update(&OptimizerConfig::norm_accumulate)),
      wrong_if_set("train.clip_order", "non-standard if before_unscale: which gradients the norm for clipping is of", "after_unscale",
                   "before_unscale", of_update(&OptimizerConfig::clip_before_unscale)),
  };
}

}  // namespace

std::vector<Key> step_keys() {
  using engine::BufferCommit;
  using engine::ScheduleCounts;
  std::vector<Key> list = {
      also(integer_key("train.micro_batches", "batches whose gradients make one step",
                       between(1, static_cast<double>(engine::most_micro_batches)), in(&TrainConfig::micro_batches)),
           {"gradient_accumulation_steps", "accumulate_grad_batches", "accumulation"}),
      format_key("train.accumulator_format", "what the gradients of several micro-batches are summed in",
                 of_step(&TrainConfig::accumulator_format)),
      like_weights_key("train.gradient_format", "of the weights' gradients", of_step(&TrainConfig::gradient_format)),
  };
  for (Key& key : update_keys()) list.push_back(std::move(key));
  list.push_back(wrong_if_set("train.unscale", "non-standard if early: the first micro-batch is unscaled, the others are not",
                              "standard", "early", of_step(&TrainConfig::early_unscale)));
  list.push_back(choice_key<ScheduleCounts, 2>(
      "train.schedule_counts", "non-standard if iterations: what moves the learning rate",
      {{{"applied", ScheduleCounts::applied}, {"iterations", ScheduleCounts::iterations}}}, of_step(&TrainConfig::schedule_counts)));
  list.push_back(choice_key<BufferCommit, 2>(
      "train.buffers", "non-standard if always: running statistics of a step that is not committed",
      {{{"transaction", BufferCommit::transaction}, {"always", BufferCommit::always}}}, of_step(&TrainConfig::buffers)));
  list.push_back(also(evaluation_format_key(), {"fp16_full_eval", "bf16_full_eval", "full_eval", "eval_format"}));
  list.push_back(flag_key("train.scale_pure", "fp16_pure scales its loss, too", in(&TrainConfig::scale_pure)));
  list.push_back(flag_key("train.scale_all", "every mode scales its loss, fp32 too", in(&TrainConfig::scale_all)));
  list.push_back(flag_key("train.warmup_from_zero", "the first step of the warm-up has a rate of 0",
                          [](Experiment& e) { return &e.train.schedule.warmup_from_zero; }));
  return list;
}

}  // namespace ulpscope::profiler
