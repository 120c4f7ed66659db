// Changes to what the optimizer keeps: its moments, and weights that have no range left.
#include <fmt/format.h>

#include <cmath>

#include "reports/analysis/diagnosis/remedy_parts.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

/// The moments have the format of the weights because nothing else is asked for: another mode gives them another.
bool moments_as_weights(const Evidence& e) {
  const std::string format = e.setting("moment_format");
  return e.run().mode.ends_with("_pure") && (format.empty() || format == "weights");
}

/// How new weights are rounded has no part in it.
Remedy masters(const Cause& cause) {
  return config(2, "keep an fp32 master copy of the weights, and with it the moments in fp32: mixed instead of pure precision",
                cause.format == "bf16" ? "run.modes=bf16" : "run.modes=fp16",
                "Hugging Face: load in fp32 and set fp16=True or bf16=True; PyTorch: model.float() and autocast", "master_weights");
}

void moments(const Evidence& e, const Cause& cause, std::vector<Remedy>& list) {
  if (cause.format == "fp32") return;
  list.push_back(config(0, "keep the optimizer's moments in fp32 (train.moment_format=fp32 alone keeps m and v)", "train.moment_format=fp32",
                        "PyTorch: autocast on fp32 weights instead of model.half(); DeepSpeed: fp32 optimizer states are its default", "moments_fp32"));
  if (!moments_as_weights(e)) return;
  list.push_back(masters(cause));
  if (cause.format == "fp16") list.push_back(use_bf16());
}

void bounding_epsilon(const Cause& cause, std::vector<Remedy>& list) {
  const Fact* threshold = find(cause, "v_threshold");
  if (threshold == nullptr || !threshold->value) return;
  list.push_back(config(1, fmt::format("an epsilon of the size of the gradients that are lost, {}: it bounds the updates, and changes the training", amount(*threshold->value)),
                        fmt::format("train.epsilon={:.3g}", *threshold->value), "Hugging Face: adam_epsilon; PyTorch: AdamW(eps=...)", "epsilon"));
}

/// A weight beyond the range: a copy of it in fp16 would be, too, and so however it is rounded.
void weights(const Evidence& e, const Cause& cause, std::vector<Remedy>& list) {
  if (cause.format == "fp16" && find(cause, "beyond_fp32") == nullptr) list.push_back(use_bf16());
  const double rate = cause.step && e.step(*cause.step) != nullptr ? e.step(*cause.step)->learning_rate.value_or(0.0) : 0.0;
  const Format format = parse_format(cause.format).value_or(Format::fp32);
  const Fact* size = find(cause, "greatest_magnitude");
  if (!(rate > 0.0) || size == nullptr || !size->value || !std::isfinite(*size->value)) return;
  list.push_back(config(4, fmt::format("a lower learning rate: at {} an update makes a weight of {}, which {} does not hold; it changes the training", amount(rate), amount(*size->value), name(format)),
                        fmt::format("train.lr={:.3g}", 0.5 * rate * limit(format) / *size->value), "Hugging Face: learning_rate; PyTorch: lr of the optimizer", ""));
}

}  // namespace

Remedy use_bf16_pure() {
  return config(3, "train in bf16_pure: fp32's range; 8 times coarser steps than fp16; needs compute capability 8.0", "run.modes=bf16_pure",
                "PyTorch: model.bfloat16() instead of model.half(); DeepSpeed: \"bf16\": {\"enabled\": true}", "bf16");
}

void of_optimizer_state(const Evidence& e, const Cause& cause, std::vector<Remedy>& list) {
  if (cause.kind == Kind::update_overflowed && find(cause, "state") == nullptr) return weights(e, cause, list);
  moments(e, cause, list);
  if (cause.kind == Kind::second_moment_below_range) bounding_epsilon(cause, list);
}

}  // namespace ulpscope::reports
