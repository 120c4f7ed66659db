// Amdahl's bound: how much of an fp32 step a mode can make faster at all. The formula stands in time.h.
#include <fmt/format.h>

#include "reports/analysis/time_parts.h"

namespace ulpscope::reports::time_parts {
namespace {

/// Nodes keep their names from mode to mode: what this mode's node of that name multiplies in.
std::map<std::string, std::string> product_formats(const Plan& plan) {
  std::map<std::string, std::string> formats;
  for (const NodeRecord& node : plan.nodes)
    if (is_product(time_category(node.operation))) formats[node.name] = node.compute_format;
  return formats;
}

bool in_16_bits(const std::string& format) { return format == "fp16" || format == "bf16"; }

/// k of the mode's narrowest product format.
void set_factor(SpeedBound& bound, const ModeTime& reference, const std::string& format) {
  const auto& peaks = reference.peaks;
  const std::optional<bool> hardware = peaks ? peaks->on_tensor_cores(format) : std::nullopt;
  if (peaks && !hardware) {
    bound.factor_from = fmt::format("unknown, as it is not known whether this device has hardware for {}", format);
  } else if (peaks && *hardware && !peaks->of(format)) {
    bound.factor_from = fmt::format("unknown, as this device's peak in {} is", format);
  } else if (peaks) {
    // No hardware for the format: it runs at fp32's rate at best.
    bound.factor = figure(ratio(peaks->of(format).value_or(peaks->fp32), peaks->fp32), Provenance::computed);
    bound.factor_from = fmt::format("this device's peak in {} by its peak in fp32{}", format, *hardware ? "" : ": it has no hardware for the format");
  } else if (in_16_bits(format)) {
    bound.factor = figure(2.0, Provenance::computed);
    bound.factor_from = "half the bytes, as the device's peaks are not known";
  } else {
    bound.factor_from = "unknown, as the device's peaks are";
  }
}

}  // namespace

void add_bound(ModeTime& mode, const Plan& plan, const ModeTime* reference) {
  SpeedBound& bound = mode.bound;
  const ModeTime& fp32 = reference != nullptr ? *reference : mode;
  if (reference == nullptr && mode.run.mode != "fp32") return;
  if (mode.run.mode != "fp32") bound.speed = figure(ratio(fp32.step.value, mode.step.value), of_both(fp32.step.provenance, mode.step.provenance));
  const Number base = step_base(fp32);
  if (!base || !fp32.nodes_sum.value) return;
  const std::map<std::string, std::string> formats = product_formats(plan);
  double products = 0.0, lower = 0.0;
  std::string format;
  bool untimed = false;
  for (const NodeTime& row : fp32.nodes) {
    if (!row.node || !is_product(row.category)) continue;
    untimed |= !row.seconds.value;
    products += row.seconds.value.value_or(0.0);
    const auto here = formats.find(row.name);
    if (here == formats.end() || !narrower(here->second)) continue;
    lower += row.seconds.value.value_or(0.0);
    if (format.empty() || in_16_bits(here->second)) format = here->second;
  }
  if (untimed) return;  // a share of which a part is missing is no bound
  bound.products = figure(products / *base, Provenance::computed);
  if (mode.run.mode == "fp32") return;
  if (plan.nodes.empty()) return;
  const double p = lower / *base;
  bound.lower = figure(p, Provenance::computed);
  if (p < 1.0) bound.free = figure(1.0 / (1.0 - p), Provenance::computed);
  if (format.empty()) {
    bound.factor_from = "no product of this mode is in a narrower format";
    return;
  }
  set_factor(bound, fp32, format);
  if (bound.factor.value) bound.ideal = figure(1.0 / (1.0 - p + p / *bound.factor.value), Provenance::computed);
}

}  // namespace ulpscope::reports::time_parts
