#include "reports/analysis/diagnosis/remedy.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

const Fact* find(const Cause& cause, const char* key) {
  const auto found = std::find_if(cause.facts.begin(), cause.facts.end(), [&](const Fact& f) { return f.key == key; });
  return found == cause.facts.end() ? nullptr : &*found;
}

/// What reads the result and would store it (or make of it what is as large) in 16 bits: up to four, or the next norm.
std::vector<std::string> also_in_fp32(const PlanView& plan, const PlanNode& from) {
  std::vector<std::string> names;
  std::vector<const PlanNode*> open{&from};
  for (std::size_t i = 0; i < open.size() && names.size() < 4; ++i)
    for (const TensorId output : open[i]->outputs)
      for (const std::size_t reader : plan.readers(output)) {
        const PlanNode& node = plan.nodes()[reader];
        if (node.record.phase != Phase::forward || node.outputs.empty() || is_norm(node) || names.size() >= 4) continue;
        if (std::find(open.begin(), open.end(), &node) != open.end()) continue;
        const bool narrow = is_16bit(plan.format(node.outputs.front()));
        if (is_view_or_cast(node)) open.push_back(&node);
        else if (narrow) names.push_back(node.record.name);
      }
  return names;
}

/// The operation of the forward pass that a node is named after: "y" of y.dweight, the cast "w.fp16" of w.fp16.d0.cast.
const PlanNode* model_node(const PlanView& plan, std::string name) {
  for (;;) {
    const PlanNode* node = plan.node(name);
    if (node != nullptr && node->record.phase == Phase::forward)
      return node->record.operation == "scale_loss" ? nullptr : node;
    const std::size_t dot = name.rfind('.');
    if (dot == std::string::npos) return nullptr;
    name.resize(dot);
  }
}

Remedy keep_fp32(const Evidence& e, const Cause& cause, const char* change = nullptr) {
  // The key takes operations of the model alone: casts and the backward pass go with them.
  const PlanNode* made_by = model_node(e.plan(), cause.node);
  std::vector<std::string> names;
  if (made_by != nullptr && made_by->record.name == cause.node) names = also_in_fp32(e.plan(), *made_by);
  if (made_by != nullptr && made_by->record.operation == "cast") {
    const PlanNode* source = made_by->inputs.empty() || !made_by->inputs.front()
                                 ? nullptr
                                 : e.plan().producer(e.plan().uncast(*made_by->inputs.front()));
    if (source == nullptr) names = also_in_fp32(e.plan(), *made_by);
    else names = {source->record.name};
  } else if (made_by != nullptr) {
    names.insert(names.begin(), made_by->record.name);
  }
  const std::string node = fmt::format("{}", fmt::join(names, ","));
  return {.cost = 2,
          .change =
              change != nullptr ? change : fmt::format("keep {} (and what reads it up to the next norm) in fp32", cause.node),
          .ulpscope = node.empty() ? "" : fmt::format("train.keep_fp32={}", node),
          .settings = "PyTorch: with torch.autocast(\"cuda\", enabled=False): around it, inputs .float()",
          .mend = "keep_fp32"};
}

Remedy use_bf16() {
  return {
      .cost = 3,
      .change =
          "train in bf16: fp32's range, no loss scaler; 8 times coarser steps than fp16; needs compute capability 8.0",
      .ulpscope = "run.modes=bf16",
      .settings =
          "Hugging Face: bf16=True, fp16=False; PyTorch: torch.autocast(\"cuda\", dtype=torch.bfloat16), no "
          "GradScaler; DeepSpeed: \"bf16\": {\"enabled\": true}",
      .mend = "bf16"};
}

/// A scaler that moves its scale begins there; with another policy (or none) the scale is fixed.
Remedy scale_to(const Evidence& e, double scale) {
  const std::string policy = e.setting("scaler.policy");
  const bool fixed = policy == "none" || policy == "fixed";
  const bool pure = e.run().mode == "fp16_pure" && e.numeric_setting("scale_pure").value_or(0.0) == 0.0;
  return {.cost = 0,
          .change = fmt::format("{} a loss scale of {}{}", fixed ? "use" : "begin with", scale_amount(scale),
                                pure ? " (fp16_pure scales its loss with train.scale_pure=true alone: set that, too)" : ""),
          .ulpscope = fmt::format("train.scaler.{}={:g}", fixed ? "fixed" : "init", scale),
          .settings = fmt::format("PyTorch: torch.amp.GradScaler(\"cuda\", init_scale={:g}); DeepSpeed: \"fp16\": "
                                  "{{\"initial_scale_power\": {:g}}}",
                                  scale, std::log2(scale)),
          .mend = "scale"};
}

void activation(const Evidence& e, const Cause& cause, std::vector<Remedy>& list) {
  const PlanNode* node = e.plan().node(cause.node);
  const bool scores = node != nullptr && node->record.operation == "matmul";
  if (scores)
    list.push_back({.cost = 1,
                    .change = "scale before the product: q / sqrt(d) first lowers the scores by sqrt(d); 1 / sqrt(d) "
                              "after it comes too late",
                    .settings = "PyTorch: q = q * d**-0.5 before q @ k.transpose(-2, -1), or "
                                "scaled_dot_product_attention, which never stores raw scores",
                    .mend = "scale_before_product"});
  if (find(cause, "sudden_data") != nullptr)
    list.push_back(
        {.cost = 1,
         .change = "look at the batch of that step: normalise or leave out what is so much larger than the rest"});
  if (find(cause, "beyond_fp32") != nullptr)
    list.push_back({.cost = 2,
                    .change = "keep the values smaller (a lower learning rate, a norm before it, what goes in): no format "
                              "of this program has a wider range than fp32"});
  else
    list.push_back(keep_fp32(e, cause));
  if (cause.format == "fp16" && find(cause, "beyond_fp32") == nullptr) list.push_back(use_bf16());
  list.push_back({.cost = 4,
                  .change = fmt::format("clamp {} to the largest finite number: changes the result", cause.node),
                  .settings = "PyTorch: torch.clamp(x, max=torch.finfo(x.dtype).max)",
                  .mend = "clamp"});
}

void boolean_mask(const Cause& cause, std::vector<Remedy>& list) {
  list.push_back({.cost = 0,
                  .change = "use a boolean mask, and leave out rows that mask everything",
                  .settings = "PyTorch: scores.masked_fill(~mask, torch.finfo(scores.dtype).min) instead of an "
                              "addition, or attn_mask of dtype bool in scaled_dot_product_attention",
                  .mend = "boolean_mask"});
  list.push_back({.cost = 1,
                  .change = "add the mask in fp32 (scores to fp32 before the addition, as softmax does anyway)",
                  .ulpscope = fmt::format("train.keep_fp32={}", cause.node),
                  .settings = "PyTorch: softmax(scores.float() + mask, dim=-1)",
                  .mend = "keep_fp32"});
}

void gradient_large(const Evidence& e, const Cause& cause, std::vector<Remedy>& list) {
  const Fact* unscaled = find(cause, "unscaled_gradient");
  const Format format = parse_format(cause.format).value_or(Format::fp16);
  if (unscaled != nullptr && unscaled->value && *unscaled->value > 0.0 && e.scales()) {
    const double scale = std::exp2(std::ceil(std::log2(limit(format) / *unscaled->value)) - 1.0);
    if (scale > 0.0 && scale < 0x1p100) list.push_back(scale_to(e, scale));
  }
  if (find(cause, "beyond_fp32") == nullptr) {
    list.push_back(keep_fp32(e, cause));
    if (cause.format == "fp16") list.push_back(use_bf16());
  }
}

void master(std::vector<Remedy>& list) {
  list.push_back(
      {.cost = 2,
       .change = "keep an fp32 master copy of the weights (+4 bytes a parameter): mixed instead of pure precision",
       .ulpscope = "run.modes=fp16 or bf16",
       .settings = "Hugging Face: load with torch_dtype=torch.float32 and set fp16=True or bf16=True; PyTorch: "
                   "model.float() and autocast; DeepSpeed keeps one by itself",
       .mend = "master_weights"});
  list.push_back({.cost = 3,
                  .change = "round the new weights stochastically, or keep Kahan's compensation (+2 bytes a parameter)",
                  .ulpscope = "train.update_rounding=stochastic (or kahan)",
                  .mend = "update_rounding"});
}

Remedy raise_lr(const Cause& cause) {
  const Fact* needed = find(cause, "needed_lr");
  return {.cost = 4,
          .change = fmt::format("a learning rate above {} would begin to move these weights: it changes the training",
                                needed != nullptr ? amount(needed->value.value_or(0)) : "half an ulp"),
          .mend = "lr"};
}

Remedy config(int cost, std::string change, std::string key, std::string settings, std::string mend) {
  return {.cost = cost,
          .change = std::move(change),
          .ulpscope = std::move(key),
          .settings = std::move(settings),
          .mend = std::move(mend)};
}

void sums_in_fp32(const Cause& cause, const char* what, std::vector<Remedy>& list) {
  list.push_back(config(
      0, fmt::format("{} {} in fp32: that is the default here and in PyTorch's own kernels", what, cause.node),
      fmt::format("[[override]] nodes = \"{}\", accumulate = \"fp32\", scalar = \"fp32\" (or leave the override out)",
                  cause.node),
      "PyTorch: x.float() before the reduction, or torch.sum(x, dtype=torch.float32)", "sum_fp32"));
}

void of_kind(const Evidence& e, const Cause& cause, std::vector<Remedy>& list) {
  switch (cause.kind) {
    case Kind::activation_too_large:
      return activation(e, cause, list);
    case Kind::weight_too_large:
      list.push_back(keep_fp32(e, cause, "keep the operations that read this weight in fp32"));
      list.push_back(use_bf16());
      return;
    case Kind::mask_constant_out_of_range:
    case Kind::mask_sum:
      return boolean_mask(cause, list);
    case Kind::gradient_too_large_for_scale:
      return gradient_large(e, cause, list);
    case Kind::gradient_below_range: {
      const Fact* smallest = find(cause, "smallest_scale");
      const Fact* full = find(cause, "full_scale");
      const Fact* largest = find(cause, "largest_scale");
      if (smallest != nullptr && full != nullptr && largest != nullptr && *largest->value >= *smallest->value)
        list.push_back(scale_to(e, std::min(*full->value, *largest->value)));
      list.push_back(config(1, "use a dynamic loss scaler", "train.scaler.policy=pytorch",
                            "PyTorch: torch.amp.GradScaler(\"cuda\"); Hugging Face: fp16=True brings one; DeepSpeed: "
                            "\"fp16\": {\"loss_scale\": 0}",
                            "scaler"));
      list.push_back(use_bf16());
      return;
    }
    case Kind::update_lost:
    case Kind::no_master_weights:
      master(list);
      if (cause.kind == Kind::update_lost && find(cause, "needed_lr") != nullptr) list.push_back(raise_lr(cause));
      return;
    case Kind::weight_decay_lost:
      master(list);
      list.push_back(config(1, "a decay large enough that lr x decay exceeds half an ulp, applied less often",
                            "train.weight_decay", "Hugging Face: weight_decay", "weight_decay"));
      return;
    case Kind::epsilon_vanished:
      if (cause.phase == "update") {
        list.push_back(config(1, "keep moments and weights in fp32",
                              "run.modes=fp16 (train.moment_format=fp32 alone keeps m and v)",
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
        list.push_back(keep_fp32(e, cause));
      }
      return;
    case Kind::beta_vanished:
      list.push_back(config(0, "keep the optimizer's scalars in fp32 (Python floats, not tensors of the weights' type)",
                            "train.scalar_format=fp32",
                            "PyTorch: pass betas as floats; do not store them in bf16 tensors", "scalar_format"));
      return;
    case Kind::reduction_too_long:
    case Kind::divisor_overflowed:
      return sums_in_fp32(cause, "reduce", list);
    case Kind::sum_stuck:
      if (cause.operation == "accumulate") {
        list.push_back(config(0, "accumulate gradients in fp32", "train.accumulator_format=fp32",
                              "DeepSpeed: \"data_types\": {\"grad_accum_dtype\": \"fp32\"}; PyTorch: fp32 .grad, which "
                              "fp32 weights under autocast have",
                              "accumulator_fp32"));
        list.push_back(config(2, "fewer micro-batches, larger ones", "train.micro_batches",
                              "Hugging Face: gradient_accumulation_steps", "micro_batches"));
        return;
      }
      return sums_in_fp32(cause, "sum", list);
    case Kind::norm_overflowed:
      return sums_in_fp32(cause, "compute the squares and sums of", list);
    case Kind::clip_overflowed:
      list.push_back(
          config(0, "compute the norm of the gradients in fp32", "train.norm_accumulate=fp32",
                 "PyTorch: torch.nn.utils.clip_grad_norm_ on fp32 gradients; DeepSpeed: \"gradient_clipping\" does so",
                 "norm_fp32"));
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
      list.push_back(
          config(0, "a loss scale that is not below 1; look for what drove it there", "train.scaler.init=65536",
                 "PyTorch: GradScaler(init_scale=65536); DeepSpeed: \"fp16\": {\"min_loss_scale\": 1}", "scale"));
      list.push_back(use_bf16());
      return;
    case Kind::scale_unbounded:
      list.push_back(config(0, "cap the scale at 2^24", "train.scaler.policy=apex",
                            "PyTorch: if scaler.get_scale() > 2**24: scaler.update(2.0**24); Keras: a "
                            "LossScaleOptimizer with a larger dynamic_growth_steps",
                            "policy"));
      return;
    case Kind::buffers_poisoned:
      list.push_back(config(
          0, "put running statistics back with the weights when a step is skipped", "train.buffers=transaction",
          "PyTorch: keep a copy of module.buffers() and copy it back when scaler.step() did not step", "buffers"));
      list.push_back(config(1, "reset the running statistics and recompute them: a NaN in an average never leaves", "",
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
      list.push_back(
          config(1, "begin with a scale near the one that was found, so that nothing is skipped", "train.scaler.init",
                 "PyTorch: GradScaler(init_scale=...); DeepSpeed: \"fp16\": {\"initial_scale_power\": ...}", "scale"));
      return;
    case Kind::no_gradient:
      list.push_back(config(
          0, "look whether the parameter is used by the loss, and whether its cast was cached under no_grad", "",
          "PyTorch: no torch.no_grad() inside an autocast region that trains later; torch.clear_autocast_cache()",
          "cast_cache"));
      return;
    case Kind::zero_divisor:
    case Kind::activation_below_range:
      if (cause.operation == "rms_norm") return sums_in_fp32(cause, "compute the squares and sums of", list);
      if (cause.operation == "cast") {  // a weight
        list.push_back(keep_fp32(e, cause, "keep the operations that read this weight in fp32"));
        if (cause.format == "fp16") list.push_back(use_bf16());
        return;
      }
      if (cause.operation == "attention" || cause.operation == "cross_entropy") {
        list.push_back(config(0, "leave out batches (or sequences) in which every position is ignored or masked", "",
                              "PyTorch: skip the batch if (labels != -100).sum() == 0, or attention_mask.sum(1).min() == 0",
                              "data"));
        return;
      }
      list.push_back(config(0, "an epsilon beside the zero that its format holds", "",
                            "PyTorch: x / (y + eps), log(x + eps), sqrt(x + eps), eps at least 6e-8 in fp16",
                            "epsilon"));
      if (cause.format != "fp32") list.push_back(keep_fp32(e, cause));
      return;
    case Kind::update_overflowed:
      master(list);
      return;
    case Kind::device_fault:
      list.push_back(config(
          0, "run it on another device, with the same seed: ulpscope run FILE --resume elsewhere says what differs", "",
          "NVIDIA: dcgmi diag -r 3, and look for Xid errors in the kernel log", "device"));
      return;
    case Kind::unknown:
      if (find(cause, "learning_rate") != nullptr)
        list.push_back(config(1, "look at the data of that step, and try a lower learning rate or a warm-up", "train.lr",
                              "Hugging Face: learning_rate, warmup_steps", "lr"));
      return;
    case Kind::exact_zero_loss:
      return;
  }
}

std::string status_of(const MendRecord& mend) {
  std::string text(name(mend.status));
  if (mend.status == MendStatus::not_tried) return not_tried;
  if (!mend.how_run.empty()) text += fmt::format(" ({})", mend.how_run);
  if (mend.time_ratio) text += fmt::format(", step time x {:.3g} [{}]", *mend.time_ratio, name(mend.time_provenance));
  if (mend.memory_delta_bytes) text += fmt::format(", memory {:+} bytes", *mend.memory_delta_bytes);
  return text;
}

}  // namespace

void add_remedies(const Evidence& evidence, const std::vector<MendRecord>& mends, Cause& cause) {
  of_kind(evidence, cause, cause.remedies);
  for (Remedy& remedy : cause.remedies) {
    remedy.status = not_tried;
    for (const MendRecord& mend : mends)
      if (mend.run == evidence.run().id && !remedy.mend.empty() && mend.kind == remedy.mend)
        remedy.status = fmt::format("{}: {}", mend.change, status_of(mend));
  }
  std::stable_sort(cause.remedies.begin(), cause.remedies.end(),
                   [](const Remedy& a, const Remedy& b) { return a.cost < b.cost; });
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
