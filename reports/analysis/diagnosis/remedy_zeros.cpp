// What to change where a divisor or the argument of a logarithm or a root is zero, or negative: mathematics that is never so, an epsilon that
// the format holds, or the format itself.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/remedy_parts.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

/// Nothing met the zeros: what was computed with them is finite.
bool is_silent(const Cause& cause) { return cause.gravity != Gravity::fatal && cause.gravity != Gravity::normal; }

/// The operation that met the zero or the negative number.
const PlanNode* met_by(const Evidence& e, const Cause& cause) {
  const Fact* fact = find(cause, "met_by");
  return e.plan().node(fact != nullptr ? fact->text : cause.node);
}

/// Of what its argument was made within a few operations, where that is one of these.
std::string made_of(const Evidence& e, const PlanNode& node, const std::vector<std::string>& operations) {
  const PlanNode* at = &node;
  for (int i = 0; i < 5; ++i) {
    if (at->inputs.empty() || !at->inputs.front()) break;
    at = e.plan().producer(e.plan().uncast(*at->inputs.front()));
    if (at == nullptr) break;
    if (std::find(operations.begin(), operations.end(), at->record.operation) != operations.end()) return at->record.operation;
  }
  return "";
}

/// A logarithm of what has one by another way.
void logarithm(const Evidence& e, const PlanNode& node, std::vector<Remedy>& list) {
  const std::string of = made_of(e, node, {"softmax", "sigmoid", "exp"});
  if (of == "softmax")
    list.push_back(config(0, "take the logarithm inside: log_softmax(x) = x - logsumexp(x) makes no zero on the way", "",
                          "PyTorch: torch.log_softmax(x, dim=-1) instead of torch.log(torch.softmax(x, dim=-1)), or cross_entropy on the raw scores",
                          "log_softmax"));
  if (of == "sigmoid")
    list.push_back(config(0, "take the logarithm inside: logsigmoid(x) makes no zero on the way", "",
                          "PyTorch: torch.nn.functional.logsigmoid(x), or binary_cross_entropy_with_logits instead of a sigmoid and its logarithm", "log_softmax"));
  if (of == "exp")
    list.push_back(config(0, "take the logarithm without the exponentials: logsumexp(x) takes the greatest out first", "",
                          "PyTorch: torch.logsumexp(x, dim=-1) instead of torch.log(torch.exp(x).sum(-1)); log(exp(x)) is x", "log_softmax"));
}

/// In which format what met the zero was kept.
Format kept_in(const Evidence& e, const Cause& cause, const PlanNode* node) {
  Format format = parse_format(cause.format).value_or(Format::fp32);
  if (node == nullptr || is_16bit(format)) return format;
  for (const auto& input : node->inputs)
    for (const TensorId id : {input.value_or(TensorId{}), input ? e.plan().uncast(*input) : TensorId{}})
      if (input && is_16bit(e.plan().format(id))) format = e.plan().format(id);
  return format;
}

/// Larger by hundreds than what is lost.
const char* epsilon_for(Format format) {
  return format == Format::fp16 ? "1e-4 (fp16 makes 0 of 2.98e-8 and less, and below 6.1e-5 it loses digits)"
         : format == Format::bf16 ? "1e-5 (beside numbers of the size of 1 bf16 adds nothing below 2e-3: then max(y, eps) instead of y + eps)"
                                  : "1e-6";
}

void epsilon(const PlanNode* node, Format format, std::vector<Remedy>& list) {
  const std::string op = node == nullptr ? "" : node->record.operation;
  const char* const settings = op == "log"                           ? "PyTorch: torch.log(x.clamp(min=eps)), or log1p(x) where x stands beside a 1"
                               : op.find("sqrt") != std::string::npos ? "PyTorch: torch.sqrt(x + eps), or x.clamp(min=eps).sqrt(): the slope of a root is infinite at 0"
                                                                      : "PyTorch: x / y.clamp(min=eps), or (y + eps); F.normalize(eps=...); Hugging Face: layer_norm_eps or "
                                                                        "rms_norm_eps in the model's config; DeepSpeed has no setting for it";
  list.push_back(config(1, fmt::format("an epsilon beside the zero that the format holds, {}: changes the result", epsilon_for(format)), "", settings, "epsilon"));
}

/// The nodes between the difference and what it is computed from, in fp32.
void operands_in_fp32(const Evidence& e, const Cause& cause, std::vector<Remedy>& list) {
  const Fact* maker = find(cause, "made_by");
  const PlanNode* node = maker == nullptr ? nullptr : e.plan().node(maker->text);
  if (node == nullptr) return;
  std::vector<std::string> names{node->record.name};
  std::vector<const PlanNode*> open{node};
  for (std::size_t i = 0; i < open.size() && names.size() < 8; ++i)
    for (const auto& input : open[i]->inputs) {
      const PlanNode* made_by = input ? e.plan().producer(e.plan().uncast(*input)) : nullptr;
      if (made_by == nullptr || made_by->record.phase != Phase::forward || is_product(*made_by) || is_norm(*made_by)) continue;
      if (std::find(names.begin(), names.end(), made_by->record.name) != names.end()) continue;
      names.push_back(made_by->record.name);
      open.push_back(made_by);
    }
  std::reverse(names.begin(), names.end());
  Remedy wide = keep_fp32(e, cause, "compute the difference, and what it is made of, in fp32");
  wide.ulpscope = fmt::format("train.keep_fp32={}", fmt::join(names, ","));
  list.push_back(std::move(wide));
}

/// The step of the run beside it in fp32 is not finite either.
bool fails_in_fp32(const Evidence& e, const Cause& cause) {
  const StepRecord* twin = e.fp32 != nullptr && cause.step ? e.fp32->step(*cause.step) : nullptr;
  return twin != nullptr && (!twin->finite || (twin->loss && !std::isfinite(*twin->loss)));
}

/// A difference of numbers that cancel.
void cancelled(const Evidence& e, const Cause& cause, const PlanNode* node, std::vector<Remedy>& list) {
  if (find(cause, "variance") != nullptr)
    list.push_back(config(0, "compute the variance about the mean, E[(x - E[x])^2]: a sum of squares is never negative", "",
                          "PyTorch: torch.var(x, dim, correction=0), or layer_norm, group_norm and batch_norm, which do so, instead of (x * x).mean(dim) - x.mean(dim) ** 2",
                          "variance"));
  if (find(cause, "cancellation") != nullptr && is_16bit(kept_in(e, cause, node))) operands_in_fp32(e, cause, list);
}

void negative(const Evidence& e, const Cause& cause, const PlanNode* node, std::vector<Remedy>& list) {
  const bool logs = node != nullptr && node->record.operation == "log";
  cancelled(e, cause, node, list);
  list.push_back(config(4,
                        fmt::format("keep what {} reads from below 0{}: changes the result, and hides where the negative numbers come from", node != nullptr ? node->record.name : "it",
                                    logs ? ", by an epsilon" : ""),
                        "", logs ? "PyTorch: torch.log(x.clamp(min=eps)); log1p, logsigmoid or log_softmax where x is 1 + y, a sigmoid or a softmax"
                                 : "PyTorch: x.clamp(min=0).sqrt() (in the backward pass its slope is infinite at 0: clamp(min=eps)), or x.abs().sqrt()",
                        "epsilon"));
}

}  // namespace

void of_zeros(const Evidence& e, const Cause& cause, std::vector<Remedy>& list) {
  const PlanNode* node = met_by(e, cause);
  if (cause.kind == Kind::outside_domain) return negative(e, cause, node, list);
  if (cause.operation == "cast" && find(cause, "met_by") == nullptr) {  // a weight, or a constant
    const PlanNode* cast = e.plan().node(cause.node);
    const TensorRecord* source = cast == nullptr || cast->inputs.empty() || !cast->inputs.front() ? nullptr : e.plan().tensor(e.plan().uncast(*cast->inputs.front()));
    const bool weight = source == nullptr || source->role == TensorRole::weight || source->role == TensorRole::master_weight;
    list.push_back(keep_fp32(e, cause, fmt::format("keep the operations that read {} in fp32", weight ? "this weight" : source->name).c_str()));
    if (cause.format == "fp16") list.push_back(use_bf16());
    return;
  }
  if (cause.operation == "attention" || cause.operation == "cross_entropy" || cause.operation == "masked_mean") {
    list.push_back(config(0, "leave out batches (or sequences) in which every position is ignored or masked", "",
                          "PyTorch: skip the batch if (labels != -100).sum() == 0, or attention_mask.sum(1).min() == 0", "data"));
    return;
  }
  const Format format = kept_in(e, cause, node);
  const bool vanished = cause.kind == Kind::activation_below_range;
  const bool silent = vanished && is_silent(cause) && cause.phase == "forward";
  if (!silent) {
    if (node != nullptr && node->record.operation == "log") logarithm(e, *node, list);
    epsilon(node, format, list);
  }
  cancelled(e, cause, node, list);
  if (is_16bit(format) && find(cause, "cancellation") == nullptr && !fails_in_fp32(e, cause)) list.push_back(keep_fp32(e, cause));
  if (format == Format::fp16 && vanished) list.push_back(use_bf16());
}

}  // namespace ulpscope::reports
