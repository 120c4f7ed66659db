#include "reports/analysis/diagnosis/remedy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <iterator>
#include <set>

#include "kernels/scaling/loss_scaler.h"
#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/normality.h"
#include "reports/analysis/diagnosis/remedy_parts.h"
#include "reports/analysis/diagnosis/remedy_trials.h"
#include "reports/analysis/diagnosis/run_away.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

Remedy accumulate_in_fp32() {
  return config(0, "accumulate gradients in fp32", "train.accumulator_format=fp32",
                "DeepSpeed: \"data_types\": {\"grad_accum_dtype\": \"fp32\"}; PyTorch: fp32 .grad, which fp32 weights under autocast have", "accumulator_fp32");
}

void gradient_large(const Evidence& e, const Cause& cause, std::vector<Remedy>& list) {
  const Fact* unscaled = find(cause, "unscaled_gradient");
  const Format format = parse_format(cause.format).value_or(Format::fp16);
  if (unscaled != nullptr && unscaled->value && *unscaled->value > 0.0 && e.scales()) {
    // One scale is for all gradients: that which is nearest to its limit decides, here or elsewhere.
    const StepStory story = tell_steps(e);
    const double here = limit(format) / *unscaled->value, most = story.greatest_gradient ? *story.gradient_limit / *story.greatest_gradient : here;
    const double scale = std::exp2(std::ceil(std::log2(std::min(here, most))) - 1.0);
    const bool begins_there = story.policy_known && scaling::is_dynamic(story.policy) && story.scale_first && *story.scale_first <= scale;
    if (scale > 0.0 && scale < 0x1p100 && !begins_there) {
      list.push_back(scale_to(e, scale));
      // Of what was computed behind it only that it was infinite is known.
      if (cause.chain.size() > 1) list.back().change += ", or a lower one: how large what is computed from it becomes does not show while it is infinite";
    }
  }
  if (e.setting("gradient_format") == cause.format && unscaled != nullptr && unscaled->value.value_or(0.0) >= limit(format))
    list.push_back(config(0, fmt::format("keep the gradients of weights in fp32: {} is beyond {} at a scale of 1, too", amount(*unscaled->value), cause.format),
                          "train.gradient_format=fp32", "PyTorch: autocast on fp32 weights, whose gradients are fp32", "gradient_fp32"));
  if (find(cause, "beyond_fp32") == nullptr) {
    // What is of no operation of the model (the loss scale's own) has no name that can be kept in fp32.
    if (Remedy wide = keep_fp32(e, cause); !wide.ulpscope.empty()) list.push_back(std::move(wide));
    if (cause.format == "fp16") list.push_back(use_bf16());
  }
}

void master(const Cause& cause, std::vector<Remedy>& list) {
  if (cause.format == "fp32") return;  // they have one
  list.push_back(
      {.cost = 2,
       .change = "keep an fp32 master copy of the weights (+4 bytes a parameter): mixed instead of pure precision",
       .ulpscope = cause.format == "bf16" ? "run.modes=bf16" : "run.modes=fp16",
       .settings = "Hugging Face: load with torch_dtype=torch.float32 and set fp16=True or bf16=True; PyTorch: "
                   "model.float() and autocast; DeepSpeed keeps one by itself",
       .mend = "master_weights"});
  list.push_back({.cost = 3,
                  .change = "round the new weights stochastically, or keep Kahan's compensation (+2 bytes a parameter)",
                  .ulpscope = "train.update_rounding=stochastic",
                  .mend = "update_rounding"});
}

Remedy raise_lr(const Cause& cause) {
  const Fact* needed = find(cause, "needed_lr");
  const double rate = needed->value.value_or(0.0);
  return {.cost = 4,
          .change = fmt::format("a learning rate above {} would begin to move these weights: it changes the training", amount(rate)),
          .ulpscope = fmt::format("train.lr={:.3g}", 1.01 * rate),
          .mend = "lr"};
}

void sums_in_fp32(const Evidence& e, const Cause& cause, const char* what, std::vector<Remedy>& list) {
  if (cause.operation == "global_norm") {
    list.push_back(config(0, "compute the norm of the gradients in fp32", "train.norm_accumulate=fp32",
                          "PyTorch: torch.nn.utils.clip_grad_norm_ on fp32 gradients; DeepSpeed: \"gradient_clipping\" does so",
                          "norm_fp32"));
    return;
  }
  const PlanNode* node = e.plan().node(cause.node);
  const PlanNode* model = model_node(e.plan(), cause.node);
  std::string keys;
  for (const char* key : {"accumulate", "scalar"})
    if (node != nullptr && node->attributes.contains(key)) keys += fmt::format(", {} = \"fp32\"", key);
  list.push_back(config(
      0,
      fmt::format("{} {} in fp32: that is the default here and in PyTorch's own kernels{}", what, cause.node,
                  keys.empty() ? "" : " (leave the override out, or add one: the last that names a node wins)"),
      keys.empty() || model == nullptr ? "" : fmt::format("override = [{{nodes = \"{}\"{}}}]", model->record.name, keys),
      "PyTorch: x.float() before the reduction, or torch.sum(x, dtype=torch.float32)", "sum_fp32"));
  if (keys.empty()) list.push_back(keep_fp32(e, cause));  // the sum is fp32's: its result alone is stored too narrow
}

/// apex's policy always doubles: it goes with no other growth.
Remedy capped_scale(const Evidence& e) {
  const bool doubles = e.numeric_setting("scaler.growth").value_or(2.0) == 2.0;
  return config(0, doubles ? "cap the scale at 2^24" : "cap the scale at 2^24 (policy apex: leave train.scaler.growth out)",
                doubles ? "train.scaler.policy=apex" : "",
                "PyTorch: if scaler.get_scale() > 2**24: scaler.update(2.0**24); Keras: a LossScaleOptimizer with a larger "
                "dynamic_growth_steps",
                "policy");
}

void of_kind(const Evidence& e, const Cause& cause, std::vector<Remedy>& list) {
  const bool too_large = cause.kind == Kind::activation_too_large || cause.kind == Kind::gradient_too_large_for_scale;
  if (too_large && cause.operation == "accumulate") {   // its format is a setting, whatever the mode
    list.push_back(accumulate_in_fp32());
    if (!e.scales()) return;
  }
  switch (cause.kind) {
    case Kind::activation_too_large:
      return of_activation(e, cause, list);
    case Kind::weight_too_large:
      list.push_back(keep_fp32(e, cause, "keep the operations that read this weight in fp32"));
      list.push_back(use_bf16());
      return;
    case Kind::mask_constant_out_of_range:
    case Kind::mask_sum:
      return of_mask(e, cause, list);
    case Kind::gradient_too_large_for_scale:
      return gradient_large(e, cause, list);
    case Kind::gradient_below_range: {
      if (cause.operation == "global_norm") return sums_in_fp32(e, cause, "compute", list);  // of gradients that no scale is in any more
      const Fact* smallest = find(cause, "smallest_scale");
      const Fact* full = find(cause, "full_scale");
      const Fact* largest = find(cause, "largest_scale");
      if (smallest != nullptr && full != nullptr && largest != nullptr && *largest->value >= *smallest->value)
        list.push_back(scale_to(e, std::min(*full->value, *largest->value)));
      const bool fixed = e.setting("scaler.policy") == "fixed";  // the key that fixes it goes with no policy
      const auto policy = recorded_policy(e);
      if (!policy || !scaling::is_dynamic(*policy))
        list.push_back(config(1, fixed ? "use a dynamic loss scaler: leave train.scaler.fixed out" : "use a dynamic loss scaler",
                            fixed ? "" : "train.scaler.policy=pytorch",
                            "PyTorch: torch.amp.GradScaler(\"cuda\"); Hugging Face: fp16=True brings one; DeepSpeed: "
                            "\"fp16\": {\"loss_scale\": 0}",
                            "scaler"));
      list.push_back(use_bf16());
      return;
    }
    case Kind::update_lost:
    case Kind::no_master_weights:
      master(cause, list);
      if (cause.kind == Kind::update_lost && find(cause, "needed_lr") != nullptr) list.push_back(raise_lr(cause));
      return;
    case Kind::weight_decay_lost:
      master(cause, list);
      if (const Fact* needed = find(cause, "needed_decay"); needed != nullptr && needed->value)
        list.push_back(config(4, fmt::format("a weight decay above {} would begin to act at this learning rate: it changes the training",
                                             amount(*needed->value)),
                              fmt::format("train.weight_decay={:.3g}", 1.01 * *needed->value), "Hugging Face: weight_decay",
                              "weight_decay"));
      return;
    case Kind::epsilon_vanished:
      if (cause.phase == "update") {
        list.push_back(config(1, "keep moments and weights in fp32 (train.moment_format=fp32 alone keeps m and v)",
                              e.run().mode.starts_with("bf16") ? "run.modes=bf16" : "run.modes=fp16",
                              "PyTorch: autocast on fp32 weights instead of model.half(); DeepSpeed: fp32 optimizer "
                              "states are its default",
                              "moments_fp32"));
        list.push_back(config(0, "a larger epsilon, 1e-4: it stops the NaN, not the underflow of v",
                              "train.epsilon=1e-4",
                              "Hugging Face: adam_epsilon=1e-4; PyTorch: AdamW(eps=1e-4); DeepSpeed: \"optimizer\": "
                              "{\"params\": {\"eps\": 1e-4}}",
                              "epsilon"));
      } else {
        list.push_back(config(0, "a larger epsilon: at least 6e-8 in fp16, better 1e-5", "",
                              "PyTorch: eps of the norm, or the constant in the code", "epsilon"));
        Cause at = cause;
        if (const Fact* in = find(cause, "vanished_in"); in != nullptr) at.node = in->text;   // what meets the zero may be in fp32 already
        list.push_back(keep_fp32(e, at));
      }
      return;
    case Kind::second_moment_below_range:
    case Kind::update_overflowed:
      return of_optimizer_state(e, cause, list);
    case Kind::beta_vanished:
      list.push_back(config(0, "keep the optimizer's scalars in fp32 (Python floats, not tensors of the weights' type)",
                            "train.scalar_format=fp32",
                            "PyTorch: pass betas as floats; do not store them in bf16 tensors", "scalar_format"));
      return;
    case Kind::reduction_too_long:
    case Kind::divisor_overflowed:
      return sums_in_fp32(e, cause, "reduce", list);
    case Kind::sum_stuck:
      if (cause.operation == "accumulate") {
        list.push_back(accumulate_in_fp32());
        const std::int64_t fewer = std::max<std::int64_t>(1, e.run().micro_batches.value_or(4) / 8);
        list.push_back(config(2, fmt::format("fewer micro-batches, larger ones: {}, with as much more in train.batch", fewer),
                              fmt::format("train.micro_batches={}", fewer), "Hugging Face: gradient_accumulation_steps",
                              "micro_batches"));
        return;
      }
      return sums_in_fp32(e, cause, "sum", list);
    case Kind::norm_overflowed:
      if (const Fact* factor = find(cause, "beyond_fp32"))
        list.push_back({.cost = 1,
                        .change = fmt::format("multiply what {} reads by {} first, or keep it smaller: the norm divides the factor out "
                                              "again (a norm with an epsilon nearly so)",
                                              cause.node, scale_amount(factor->value.value_or(0.0)))});
      else
        sums_in_fp32(e, cause, "compute the squares and sums of", list);
      return;
    case Kind::clip_overflowed:
      if (const PlanNode* norm = e.plan().node(cause.node); norm == nullptr || sum_format(*norm) != Format::fp32) return sums_in_fp32(e, cause, "compute", list);
      list.push_back(config(4, "clip the gradients by value, or make them smaller (a factor on the loss, a norm in the model): no format of this program has a wider range than fp32",
                            "", "PyTorch: torch.nn.utils.clip_grad_value_ instead of clip_grad_norm_", "clip_value"));
      return;
    case Kind::clip_before_unscale:
      list.push_back(config(0, "unscale before clipping", "train.clip_order=after_unscale",
                            "PyTorch: scaler.unscale_(optimizer) before torch.nn.utils.clip_grad_norm_; Hugging Face: "
                            "max_grad_norm does so",
                            "clip_order"));
      return;
    case Kind::unscaled_early:
      list.push_back(config(0, "unscale once, after the last micro-batch", "train.unscale=standard",
                            "PyTorch: scaler.unscale_(optimizer) once a step, after the last backward()", "unscale"));
      return;
    case Kind::unscale_overflowed:
    case Kind::scale_floor:
      // At a floor of 1 and more a higher start is no help: it comes down to the same floor.
      if (const Fact* scale = find(cause, "scale"); scale == nullptr || scale->value.value_or(0.0) < 1.0) {
        list.push_back(scale_to(e, 65536.0));
        list.back().change += ", not one below 1; look for what drove it there";
        list.back().settings = "PyTorch: GradScaler(init_scale=65536); DeepSpeed: \"fp16\": {\"min_loss_scale\": 1}";
      } else if (auto lower = lower_floor_to(e, 1.0)) {
        list.push_back(std::move(*lower));
      }
      list.push_back(use_bf16());
      return;
    case Kind::scale_unbounded:
      list.push_back(capped_scale(e));
      return;
    case Kind::buffers_poisoned:
      if (e.setting("buffers") != "transaction")
        list.push_back(config(
            0, "put running statistics back with the weights when a step is skipped", "train.buffers=transaction",
            "PyTorch: keep a copy of module.buffers() and copy it back when scaler.step() did not step", "buffers"));
      list.push_back(config(1, "reset the running statistics and recompute them: what is not finite in an average never leaves", "",
                            "PyTorch: bn.reset_running_stats()", "reset_buffers"));
      return;
    case Kind::weights_poisoned:
      list.push_back(
          config(1, "go back to a checkpoint from before that step, and find what wrote there", "", "", "restart"));
      return;
    case Kind::data_not_finite:
      if (find(cause, "injected") != nullptr) {
        list.push_back(config(0, "leave out the [[inject]] table", "", "", "inject"));
        return;
      }
      list.push_back(
          config(0, "leave out or mend that batch", "", "PyTorch: torch.isfinite(x).all() in the loader", "data"));
      return;
    case Kind::schedule_ahead:
      list.push_back(config(0, "step the schedule only when the optimizer stepped", "train.schedule_counts=applied",
                            "PyTorch: call scheduler.step() only if scaler.get_scale() did not fall; Hugging Face: "
                            "does so; DeepSpeed: does so",
                            "schedule_counts"));
      if (!e.steps().empty() && !e.steps().back().skipped && e.steps().back().loss_scale.value_or(0.0) > 0.0) {
        list.push_back(scale_to(e, *e.steps().back().loss_scale));
        list.back().cost = 1;
        list.back().change += ", the one that was found, so that nothing is skipped";
      }
      return;
    case Kind::no_gradient:
      if (find(cause, "zero_norm") != nullptr) {
        if (cause.node.empty())
          list.push_back(config(0, "look into every step, and find where the zeros begin", "observe.every=1", "", "observe"));
        return;
      }
      list.push_back(config(
          0, "look whether the parameter is used by the loss, and whether its cast was cached under no_grad", "",
          "PyTorch: no torch.no_grad() inside an autocast region that trains later; torch.clear_autocast_cache()",
          "cast_cache"));
      return;
    case Kind::zero_divisor:
    case Kind::activation_below_range:
    case Kind::outside_domain: {
      const PlanNode* node = e.plan().node(cause.node);
      const bool sums = node != nullptr && node->inner && is_norm(*node);
      return sums ? sums_in_fp32(e, cause, "compute the squares and sums of", list) : of_zeros(e, cause, list);
    }
    case Kind::variance_lost:
      return of_variance(e, cause, list);
    case Kind::held_out_not_finite:
      return of_evaluation(e, cause, list);
    case Kind::device_fault:
      list.push_back(config(
          0, "run it on another device, with the same seed: ulpscope run FILE --resume elsewhere says what differs", "",
          "NVIDIA: dcgmi diag -r 3, and look for Xid errors in the kernel log", "device"));
      return;
    case Kind::divergence:
      if (find(cause, "part_of_precision") == nullptr) return;  // it came back, or something else than the rate is known to be behind it
      [[fallthrough]];
    case Kind::unknown:
      if (const Fact* rate = find(cause, "learning_rate"); rate != nullptr) list.push_back(lower_rate(*rate));
      return;
    case Kind::exact_zero_loss:
      return;
  }
}

void stamp(const Evidence& evidence, const std::vector<MendRecord>& mends, Cause& cause) {
  const bool mended = std::any_of(mends.begin(), mends.end(), [&](const MendRecord& m) { return m.run == evidence.run().id; });
  for (Remedy& remedy : cause.remedies) {
    if (remedy.mend == "bf16" && evidence.run().mode == "fp16_pure") remedy = use_bf16_pure();
    remedy.status = !mend_tries(remedy.mend) ? cannot_be_tried : mended ? not_asked_for : not_tried;
    if (const MendRecord* trial = trial_for(remedy, cause, evidence.run().id, mends)) remedy.status = fmt::format("{}: {}", trial->change, status_of(*trial));
  }
  std::stable_sort(cause.remedies.begin(), cause.remedies.end(),
                   [](const Remedy& a, const Remedy& b) { return a.cost < b.cost; });
}

}  // namespace

void add_remedies(const Evidence& evidence, const std::vector<MendRecord>& mends, Cause& cause) {
  of_kind(evidence, cause, cause.remedies);
  stamp(evidence, mends, cause);
}

void offer_lower_rate(const Evidence& evidence, const std::vector<MendRecord>& mends, Cause& cause) {
  if (std::any_of(cause.remedies.begin(), cause.remedies.end(), [](const Remedy& r) { return r.mend == "lr"; })) return;
  add_rate(evidence, cause);
  const Fact* rate = find(cause, "learning_rate");
  if (rate == nullptr) return;
  cause.remedies.push_back(lower_rate(*rate));
  stamp(evidence, mends, cause);
}

bool mend_tries(std::string_view kind) {
  static constexpr std::string_view kinds[] = {
      "accumulator_fp32", "bf16", "boolean_mask", "buffers", "clamp", "clip_order", "data_scale", "epsilon", "inject", "keep_fp32", "lr", "master_weights",
      "micro_batches", "moments_fp32", "norm_fp32", "policy", "rescale", "scalar_format", "scale", "scale_before_product", "scale_fixed", "scale_floor",
      "scaler",
      "schedule_counts", "sum_fp32", "unscale", "update_rounding", "weight_decay"};
  return std::find(std::begin(kinds), std::end(kinds), kind) != std::end(kinds);
}

std::vector<Remedy> other_trials(const Evidence& evidence, const std::vector<MendRecord>& mends,
                                 const std::vector<Cause>& causes) {
  std::set<std::string> covered;
  for (const Cause& cause : causes)
    for (const Remedy& remedy : cause.remedies) covered.insert(remedy.mend);
  std::vector<Remedy> list;
  for (const MendRecord& mend : mends)
    if (mend.run == evidence.run().id && !covered.contains(mend.kind))
      list.push_back({.cost = 0, .change = mend.change, .mend = mend.kind, .status = status_of(mend)});
  return list;
}

}  // namespace ulpscope::reports
