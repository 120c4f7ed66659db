#include "reports/analysis/diagnosis/remedy_parts.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "kernels/scaling/loss_scaler.h"
#include "reports/analysis/diagnosis/normality.h"
#include "reports/analysis/diagnosis/words.h"
#include "reports/analysis/scale_floor.h"

namespace ulpscope::reports {
namespace {

constexpr std::size_t most_named = 4;

/// What reads the result and would store it (or make of it what is as large) in 16 bits: up to four, or the next norm.
std::vector<std::string> also_in_fp32(const PlanView& plan, const PlanNode& from) {
  std::vector<std::string> names;
  std::vector<const PlanNode*> open{&from};
  for (std::size_t i = 0; i < open.size() && names.size() < most_named; ++i)
    for (const TensorId output : open[i]->outputs)
      for (const std::size_t reader : plan.readers(output)) {
        const PlanNode& node = plan.nodes()[reader];
        if (node.record.phase != Phase::forward || node.outputs.empty() || is_norm(node) || names.size() >= most_named) continue;
        if (std::find(open.begin(), open.end(), &node) != open.end()) continue;
        const bool narrow = is_16bit(plan.format(node.outputs.front()));
        if (is_view_or_cast(node)) open.push_back(&node);
        else if (narrow) names.push_back(node.record.name);
      }
  return names;
}

}  // namespace

const Fact* find(const Cause& cause, const char* key) {
  const auto found = std::find_if(cause.facts.begin(), cause.facts.end(), [&](const Fact& f) { return f.key == key; });
  return found == cause.facts.end() ? nullptr : &*found;
}

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

namespace {

/// The experiment file asks for the node's formats: that wins over train.keep_fp32. The table that asks for fp32 again; empty: it does not.
std::string back_to_fp32(const PlanView& plan, const std::string& name) {
  const PlanNode* node = plan.node(name);
  if (node == nullptr) return "";
  const std::string& reason = node->record.format_reason;
  std::string keys;
  if (reason.find("override: computes in ") != std::string::npos) keys += ", compute = \"fp32\"";
  if (reason.find("override: result in ") != std::string::npos) keys += ", output = \"fp32\"";
  return keys.empty() ? "" : fmt::format("{{nodes = \"{}\"{}}}", name, keys);
}

/// The operations that a cast is made for, and what reads their results.
std::vector<std::string> readers_of_cast(const PlanView& plan, const PlanNode& cast) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (names.size() < most_named && std::find(names.begin(), names.end(), name) == names.end()) names.push_back(name);
  };
  for (const TensorId output : cast.outputs)
    for (const std::size_t reader : plan.readers(output)) {
      const PlanNode& node = plan.nodes()[reader];
      if (node.record.phase == Phase::forward && !is_view_or_cast(node)) add(node.record.name);
    }
  for (const std::string& name : also_in_fp32(plan, cast)) add(name);   // behind a view
  for (const std::string& name : std::vector<std::string>(names))
    for (const std::string& next : also_in_fp32(plan, *plan.node(name))) add(next);
  return names;
}

/// Keys that keep these nodes in fp32.
std::string keep_fp32_keys(const PlanView& plan, const std::vector<std::string>& names) {
  std::vector<std::string> kept, tables;
  for (const std::string& name : names) {
    const std::string table = back_to_fp32(plan, name);
    (table.empty() ? kept : tables).push_back(table.empty() ? name : table);
  }
  std::string keys = kept.empty() ? "" : fmt::format("train.keep_fp32={}", fmt::join(kept, ","));
  if (!tables.empty()) keys += fmt::format("{}override = [{}]", keys.empty() ? "" : ", and ", fmt::join(tables, ", "));
  return keys;
}

}  // namespace

Remedy keep_fp32(const Evidence& e, const Cause& cause, const char* change) {
  // The key takes operations of the model alone: casts and the backward pass go with them.
  const PlanNode* made_by = model_node(e.plan(), cause.node);
  std::vector<std::string> names;
  if (made_by != nullptr && made_by->record.name == cause.node) names = also_in_fp32(e.plan(), *made_by);
  if (made_by != nullptr && made_by->record.operation == "cast") {
    // It is its readers' cast: what they compute in, not what made the number, rounds it.
    names = readers_of_cast(e.plan(), *made_by);
    const PlanNode* source = made_by->inputs.empty() || !made_by->inputs.front() ? nullptr : e.plan().producer(e.plan().uncast(*made_by->inputs.front()));
    if (names.empty() && source != nullptr) names = {source->record.name};
  } else if (made_by != nullptr) {
    names.insert(names.begin(), made_by->record.name);
  }
  const std::string keys = keep_fp32_keys(e.plan(), names);
  const bool asked = keys.find("override = ") != std::string::npos;
  return {.cost = 2,
          .change = (change != nullptr ? change : fmt::format("keep {} (and what reads it up to the next norm) in fp32", cause.node)) +
                    (asked ? " (leave the override out, or add one: the last that names a node wins)" : ""),
          .ulpscope = keys,
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

Remedy scale_to(const Evidence& e, double scale) {
  const std::string policy = e.setting("scaler.policy");
  const bool fixed = policy == "none" || policy == "fixed";
  const bool pure = e.run().mode == "fp16_pure" && e.numeric_setting("scale_pure").value_or(0.0) == 0.0;
  Remedy remedy{.cost = 0,
                .change = fmt::format("{} a loss scale of {}{}", fixed ? "use" : "begin with", scale_amount(scale),
                                      pure ? " (fp16_pure scales its loss with train.scale_pure=true alone: set that, too)" : ""),
                .ulpscope = fmt::format("train.scaler.{}={}", fixed ? "fixed" : "init", scale),
                .mend = "scale"};
  std::string least;
  // Below the floor of its policy a scale does not stay: the first overflow after a growth brings it back there.
  if (const auto recorded = recorded_policy(e)) {
    const auto floor = floor_above(*recorded, static_cast<float>(scale));
    const auto lowered = lower_floor(*recorded, static_cast<float>(scale));
    if (lowered) {
      remedy.change += fmt::format(", and let it fall that far: a floor of {} instead of {}", scale_amount(lowered->floor), scale_amount(*floor));
      remedy.ulpscope += ", " + lowered->keys;
      least = fmt::format(", \"min_loss_scale\": {}", lowered->floor);
    } else if (floor) {
      remedy.change += fmt::format("; {} does not let it fall below {}: another policy has to", scaling::name(*recorded), scale_amount(*floor));
    }
  }
  if (fixed) {
    remedy.settings = fmt::format("DeepSpeed: \"fp16\": {{\"loss_scale\": {0}}}; PyTorch: (loss * {0}).backward(), gradients divided by it", scale);
    return remedy;
  }
  remedy.settings = fmt::format("PyTorch: torch.amp.GradScaler(\"cuda\", init_scale={}); DeepSpeed: \"fp16\": {{\"initial_scale_power\": {:g}{}}}", scale,
                                std::log2(scale), least);
  return remedy;
}

std::optional<Remedy> lower_floor_to(const Evidence& e, double scale) {
  const auto policy = recorded_policy(e);
  const auto lowered = policy ? lower_floor(*policy, static_cast<float>(scale)) : std::nullopt;
  if (!lowered) return std::nullopt;
  return config(0, fmt::format("let the loss scale fall to {}", scale_amount(scale)), lowered->keys, fmt::format("DeepSpeed: \"fp16\": {{\"min_loss_scale\": {}}}", scale),
                "scale_floor");
}

std::optional<Remedy> scale_data(const Evidence& e, const Cause& cause) {
  const PlanNode* node = e.plan().node(cause.node);
  const bool cast = node != nullptr && node->record.operation == "cast" && !node->inputs.empty() && node->inputs.front();
  const TensorRecord* source = cast ? e.plan().tensor(e.plan().uncast(*node->inputs.front())) : nullptr;
  const Fact* greatest = find(cause, "greatest_magnitude");
  if (source == nullptr || source->node || source->role != TensorRole::input || greatest == nullptr || !greatest->value || !std::isfinite(*greatest->value) ||
      !(*greatest->value > 1.0))
    return std::nullopt;
  const double factor = std::exp2(-std::ceil(std::log2(*greatest->value)));
  Remedy remedy{.cost = 4,
                .change = fmt::format("scale the data: {} times {} is at most 1 in magnitude, as far as was observed: the model sees other numbers, which changes the training",
                                      source->name, scale_amount(factor)),
                .settings = "PyTorch: in the data set, x * factor (torchvision.transforms.Normalize for images)"};
  const nlohmann::json data = nlohmann::json::parse(e.run().data_json, nullptr, false);
  const auto number = [&](const char* key) { return data.is_object() && data.contains(key) && data[key].is_number() ? std::optional(data[key].get<double>()) : std::nullopt; };
  if (const auto scale = number("scale")) {
    const double shift = number("shift").value_or(0.0);
    remedy.ulpscope = fmt::format("data.scale={}", *scale * factor) + (shift != 0.0 ? fmt::format(", data.shift={}", shift * factor) : "");
    remedy.mend = "data_scale";
  } else {
    remedy.change += fmt::format(" (its numbers are in the [[node]] table '{}')", source->name);
  }
  return remedy;
}

Remedy config(int cost, std::string change, std::string key, std::string settings, std::string mend) {
  return {.cost = cost,
          .change = std::move(change),
          .ulpscope = std::move(key),
          .settings = std::move(settings),
          .mend = std::move(mend)};
}

Remedy lower_rate(const Fact& rate) {
  return config(1, "look at the data of that step, and try a lower learning rate or a warm-up",
                fmt::format("train.lr={:.3g}", 0.1 * rate.value.value_or(0.0)), "Hugging Face: learning_rate, warmup_steps; PyTorch: lr of the optimizer, torch.optim.lr_scheduler.LinearLR; DeepSpeed: "
                "\"optimizer\": {\"params\": {\"lr\": ...}}, \"scheduler\": {\"type\": \"WarmupLR\"}",
                "lr");
}

}  // namespace ulpscope::reports
