// To norms that read numbers rounded too far from 0, and to evaluations that are not finite.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/analysis/diagnosis/remedy_parts.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

constexpr double finer = 8.0;        ///< steps of fp16 in one of bf16
constexpr double most_in_fp16 = 16384.0;  ///< a mean with room above it
constexpr double little = 0.1;       ///< of a deviation, as rounding: 1 % of the variance

double value_of(const Cause& cause, const char* key) {
  const Fact* found = find(cause, key);
  return found != nullptr ? found->value.value_or(0.0) : 0.0;
}

/// What makes the tensor that is rounded, and the norm itself where it reads 16 bits.
Remedy in_fp32(const Evidence& e, const Cause& cause, const TensorRecord* tensor, const PlanNode* norm) {
  const PlanNode* made_by = tensor != nullptr ? e.plan().producer(tensor->id) : nullptr;
  Cause at = cause;
  if (made_by != nullptr) at.node = made_by->record.name;
  Remedy remedy = keep_fp32(e, at);
  const bool narrow = norm != nullptr && norm->inputs.front() && is_16bit(e.plan().format(*norm->inputs.front()));
  if (narrow) {
    const bool alone = remedy.ulpscope.empty() || made_by == norm;
    remedy.ulpscope = alone ? fmt::format("train.keep_fp32={}", norm->record.name) : fmt::format("{},{}", remedy.ulpscope, norm->record.name);
  }
  remedy.cost = 0;
  remedy.change = fmt::format("keep {} in fp32, which goes into {}{}{}", cause.tensor, cause.node, narrow ? ", and the norm itself" : "",
                              cause.format == "fp16" ? " (bf16 is no help: its steps are 8 times as coarse)" : "");
  return remedy;
}

/// Features have a key for it.
Remedy subtract_mean(const Evidence& e, const Cause& cause, const TensorRecord* tensor) {
  Remedy remedy{.cost = 1,
                .change = "subtract the mean (of each row, or a constant) before the values are rounded: the norm takes it away in any case, and its result is the same",
                .settings = "PyTorch: x = x.float(); x = x - x.mean(-1, keepdim=True), and only then .half() or .bfloat16()"};
  const TensorRecord* source = tensor != nullptr ? e.plan().tensor(e.plan().uncast(tensor->id)) : nullptr;
  const nlohmann::json data = nlohmann::json::parse(e.run().data_json, nullptr, false);
  const bool scaled = data.is_object() && data.contains("scale") && data["scale"].is_number();
  if (source == nullptr || source->node || source->role != TensorRole::input || !scaled) return remedy;
  const double shift = data.contains("shift") && data["shift"].is_number() ? data["shift"].get<double>() : 0.0;
  remedy.ulpscope = fmt::format("data.shift={}", shift - value_of(cause, "mean"));
  return remedy;
}

/// Of what the evaluation reads, the nearest to its limit as training had it.
std::optional<Remedy> nearest_in_fp32(const Evidence& e, const Cause& cause) {
  const Fact* nearest = find(cause, "nearest");
  const TensorRecord* tensor = nearest != nullptr ? e.plan().tensor(nearest->text.substr(0, nearest->text.find(": "))) : nullptr;
  const PlanNode* made_by = tensor != nullptr ? e.plan().producer(tensor->id) : nullptr;
  if (made_by == nullptr) return std::nullopt;
  Cause at = cause;
  at.node = made_by->record.name;
  Remedy remedy = keep_fp32(e, at);
  if (remedy.ulpscope.empty()) return std::nullopt;
  remedy.change = fmt::format("keep {}, nearest to the limit in training, in fp32 (and what reads it up to the next norm): whether that is where held-out data overflows is not known", tensor->name);
  return remedy;
}

}  // namespace

void of_variance(const Evidence& e, const Cause& cause, std::vector<Remedy>& list) {
  const TensorRecord* tensor = e.plan().tensor(cause.tensor);
  const PlanNode* norm = e.plan().node(cause.node);
  list.push_back(in_fp32(e, cause, tensor, norm));
  list.push_back(subtract_mean(e, cause, tensor));
  const double rounding = value_of(cause, "rounding") / finer, deviation = value_of(cause, "deviation");
  if (cause.format != "bf16" || std::fabs(value_of(cause, "mean")) > most_in_fp16 || rounding > little * deviation || find(cause, "share") == nullptr) return;
  const bool pure = e.run().mode.ends_with("_pure");
  list.push_back(config(3, "train in fp16, whose steps are 8 times as fine, and whose range ends at 65504", pure ? "run.modes=fp16_pure" : "run.modes=fp16",
                        "Hugging Face: fp16=True, bf16=False; PyTorch: torch.autocast(\"cuda\", dtype=torch.float16) and a GradScaler", ""));
}

void of_evaluation(const Evidence& e, const Cause& cause, std::vector<Remedy>& list) {
  if (find(cause, "fp32_too") == nullptr && !cause.format.empty() && cause.format != "fp32") {
    if (!e.setting("evaluation_format").empty() && e.setting("evaluation_format") != "mode")
      list.push_back(config(0, fmt::format("evaluate in the formats of {}, not with everything in {}", e.run().mode, cause.format), "train.evaluation_format=mode",
                            "Hugging Face: leave fp16_full_eval and bf16_full_eval out; PyTorch: no model.half() before the evaluation", ""));
    list.push_back(config(1, "evaluate in fp32: the held-out loss of the same weights", "train.evaluation_format=fp32",
                          "PyTorch: no autocast around the evaluation, model.float() if the weights are 16-bit; Hugging Face: leave fp16_full_eval and bf16_full_eval out", ""));
    if (e.setting("evaluation_format").empty() || e.setting("evaluation_format") == "mode") {
      if (auto wide = nearest_in_fp32(e, cause)) list.push_back(std::move(*wide));
      if (cause.format == "fp16") list.push_back(use_bf16());
    }
  }
  list.push_back({.cost = 4,
                  .change = "look at the held-out data: scale it as the training data is scaled, and leave out what is so much larger",
                  .settings = "PyTorch: the same transforms for both data sets; x.abs().max() over the batches of each"});
}

}  // namespace ulpscope::reports
