// Why a mode is not faster: only what the numbers of the recording carry.
#include <fmt/format.h>

#include <algorithm>

#include "reports/analysis/time_parts.h"

namespace ulpscope::reports::time_parts {
namespace {

std::string percent(double share) { return fmt::format("{:.3g} %", 100.0 * share); }

Number category_seconds(const ModeTime& mode, bool (*which)(TimeCategory)) {
  Number sum;
  for (const CategoryTime& c : mode.categories) {
    if (!which(c.category)) continue;
    if (c.untimed > 0 || !c.seconds.value) return std::nullopt;
    sum = sum.value_or(0.0) + *c.seconds.value;
  }
  return sum;
}

/// Rows of the operands and the result lie 16 bytes apart only if their length is a multiple of this.
std::int64_t alignment(const std::string& format) { return format == "tf32" ? 4 : format == "fp16" || format == "bf16" ? 8 : 1; }

/// The least convenient row length of a matrix product; 0 if all suit.
std::int64_t odd_row(const NodeRecord& node) {
  const std::int64_t step = alignment(node.compute_format);
  for (const std::vector<Signature>* list : {&node.inputs, &node.outputs})
    for (const Signature& s : *list)
      if (s.shape.size() >= 2 && s.shape.back() % step != 0) return s.shape.back();
  return 0;
}

void add_shapes(ModeTime& mode, const Plan& plan) {
  std::int64_t products = 0, odd = 0;
  const NodeRecord* greatest = nullptr;
  for (const NodeRecord& node : plan.nodes) {
    if (time_category(node.operation) != TimeCategory::matrix_products || !narrower(node.compute_format)) continue;
    ++products;
    if (odd_row(node) == 0) continue;
    ++odd;
    if (greatest == nullptr || node.flops.value_or(0) > greatest->flops.value_or(0)) greatest = &node;
  }
  if (greatest == nullptr) return;
  mode.reasons.push_back({"shapes",
                          fmt::format("{} of {} matrix products in a narrower format have rows that are no multiple of {} elements long ({}: {}): tensor cores may run such shapes slower; only a measurement can tell",
                                      odd, products, alignment(greatest->compute_format), greatest->name, odd_row(*greatest)),
                          Provenance::computed});
}

void add_measured(ModeTime& mode, const ModeTime& fp32) {
  const Number products = category_seconds(mode, is_product), in_fp32 = category_seconds(fp32, is_product);
  if (products && in_fp32 && *products > 0.0 && *in_fp32 / *products < worthwhile_speed_up)
    mode.reasons.push_back({"products_no_faster", fmt::format("products take {:.3g} ms a step, {:.3g} ms in fp32: they are no faster themselves", 1e3 * *products, 1e3 * *in_fp32), mode.nodes_sum.provenance});
  const double saved = products && in_fp32 ? *in_fp32 - *products : 0.0;
  if (mode.ledger_extra.value && saved > 0.0 && *mode.ledger_extra.value >= 0.5 * saved)
    mode.reasons.push_back({"costs", fmt::format("casts, loss scaling and the check take {}{:.3g} ms a step more than in fp32; products save {:.3g} ms", mode.ledger_at_least ? "at least " : "",
                                                 1e3 * *mode.ledger_extra.value, 1e3 * saved),
                            Provenance::computed});
  if (!mode.device && mode.between.value && mode.between_share.value_or(0.0) >= long_between)
    mode.reasons.push_back({"between", fmt::format("{} of the step lies between nodes: no format makes that shorter", percent(*mode.between_share)), mode.between.provenance});
}

/// Not faster, and the GPU waits for launches in fp32 already: what would be saved is not what the step waits for.
void add_advice(ModeTime& mode, const ModeTime& fp32) {
  const Number& speed = mode.bound.speed.value;
  const double busy = fp32.device ? fp32.device->busy.value.value_or(1.0) : 1.0;   // unknown: no advice
  if (!speed || *speed >= worthwhile_speed_up || busy >= launch_bound_below || mode.run.mode == "tf32") return;
  mode.reasons.push_back({"no_speed_reason", fmt::format("stay with fp32 or tf32, there is no reason of speed: fp32 itself keeps the GPU busy for {} of its step, and a narrower format shortens that part alone", percent(busy)), Provenance::computed});
}

void add_device(ModeTime& mode) {
  if (mode.device && mode.device->busy.value && *mode.device->busy.value < launch_bound_below)
    mode.reasons.push_back({"launch_bound", fmt::format("the GPU is busy for {} of the step, with {:.4g} kernels of {:.3g} µs on average: it waits for launches", percent(*mode.device->busy.value),
                                                        mode.device->kernels_per_step.value.value_or(0.0), 1e6 * mode.device->kernel_seconds.value.value_or(0.0)),
                            Provenance::computed});
  if (mode.condition && mode.condition->slowed.value.value_or(0.0) >= often_slowed)
    mode.reasons.push_back({"throttled", fmt::format("the GPU's clock was held down in {} of the samples of the {}: {}", percent(*mode.condition->slowed.value), mode.condition->phase == "timing" ? "timing phase" : "training", mode.condition->why),
                            mode.condition->slowed.provenance});
  if (mode.run.device_kind == "cpu" || !mode.bound.factor.value || *mode.bound.factor.value >= worthwhile_speed_up) return;
  mode.reasons.push_back({"no_faster_units", fmt::format("products in this mode have no higher peak than in fp32: {}", mode.bound.factor_from), Provenance::computed});
}

}  // namespace

void add_reasons(ModeTime& mode, const Plan& plan, const RunResult& result, const ModeTime* reference) {
  if (mode.run.mode == "fp32") return;
  if (mode.emulated)
    mode.reasons.push_back({"emulated", "this processor carries the mode out in software: its times are emulated and say nothing of a GPU", Provenance::emulated});
  const Number& bound = mode.bound.ideal.value ? mode.bound.ideal.value : mode.bound.free.value;
  if (bound && *bound < small_bound)
    mode.reasons.push_back({"small_share", fmt::format("products that this mode makes narrower are {} of the fp32 step: even {} they leave it at most {:.3g} times as fast", percent(*mode.bound.lower.value),
                                                       mode.bound.ideal.value ? fmt::format("{:.3g} times as fast", *mode.bound.factor.value) : "in no time", *bound),
                            Provenance::computed});
  if (!mode.emulated && reference != nullptr) add_measured(mode, *reference);
  add_device(mode);
  if (!mode.emulated && reference != nullptr && mode.invalid.empty() && reference->invalid.empty()) add_advice(mode, *reference);
  if (result.skipped && result.steps > 0) {
    const double share = static_cast<double>(*result.skipped) / static_cast<double>(result.steps);
    if (share >= many_skips)
      mode.reasons.push_back({"skipped_steps", fmt::format("{} of {} steps were skipped: {} of the time came to nothing", *result.skipped, result.steps, percent(share)), Provenance::counted});
  }
  add_shapes(mode, plan);
}

}  // namespace ulpscope::reports::time_parts
