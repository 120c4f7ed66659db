// To results that are too large for their format, and to masks.
#include <fmt/format.h>

#include "reports/analysis/diagnosis/remedy_parts.h"

namespace ulpscope::reports {
namespace {

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
  if (auto smaller = scale_data(e, cause)) list.push_back(std::move(*smaller));
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
  if (const Fact* rate = find(cause, "learning_rate"); rate != nullptr) list.push_back(lower_rate(*rate));
  if (cause.format == "fp16" && find(cause, "beyond_fp32") == nullptr) list.push_back(use_bf16());
  if (cause.phase == "backward") return;
  list.push_back({.cost = 4,
                  .change = fmt::format("clamp {} to the largest finite number: changes the result", cause.node),
                  .settings = "PyTorch: torch.clamp(x, max=torch.finfo(x.dtype).max)",
                  .mend = "clamp"});
}

/// A running average has no operation that could be kept in fp32: the buffer itself is what is narrow.
void running_average(const Cause& cause, std::vector<Remedy>& list) {
  list.push_back({.cost = 1,
                  .change = "keep running statistics in fp32, as the mixed modes do with every buffer",
                  .ulpscope = cause.format == "bf16" ? "run.modes=bf16" : "run.modes=fp16",
                  .settings = "PyTorch: after model.half() call .float() on every batch norm; apex: keep_batchnorm_fp32=True",
                  .mend = "master_weights"});
  if (cause.format == "fp16") list.push_back(use_bf16());
  list.push_back({.cost = 4,
                  .change = "make what goes into the norm smaller, by a factor: the norm divides it out again, and the variance falls by its square"});
}

}  // namespace

void of_activation(const Evidence& e, const Cause& cause, std::vector<Remedy>& list) {
  cause.operation == "ema" ? running_average(cause, list) : activation(e, cause, list);
}

void of_mask(const Evidence& e, const Cause& cause, std::vector<Remedy>& list) {
  const bool fills = cause.operation == "masked_fill" || cause.operation == "causal_mask";
  list.push_back({.cost = 0,
                  .change = fills ? "fill with the format's lowest number, and leave out rows that mask everything"
                                  : "use a boolean mask, and leave out rows that mask everything",
                  .settings = fmt::format("PyTorch: scores.masked_fill(~mask, torch.finfo(scores.dtype).min) instead of {}, or attn_mask of dtype bool in "
                                          "scaled_dot_product_attention",
                                          fills ? "the constant" : "an addition"),
                  .mend = "boolean_mask"});
  if (cause.format == "fp32") return;
  Remedy wide = keep_fp32(e, cause, "add the mask in fp32 (scores to fp32 before the addition, as softmax does anyway)");
  wide.cost = 1;
  wide.settings = "PyTorch: softmax(scores.float() + mask, dim=-1)";
  list.push_back(std::move(wide));
}

}  // namespace ulpscope::reports
