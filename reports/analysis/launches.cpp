#include "reports/analysis/launches.h"

#include "reports/hardware/support.h"

namespace ulpscope::reports {

std::vector<PlannedLaunch> planned_launches(const time_parts::Plan& plan) {
  std::vector<PlannedLaunch> launches;
  for (const NodeRecord& node : plan.nodes) {
    if (plan.lead_of.at(node.id) != node.id || plan.view(node.id)) continue;
    PlannedLaunch launch{.lead = node.id, .name = node.name, .operation = node.operation, .category = time_category(node.operation), .phase = node.phase, .format = "fp32"};
    for (const std::size_t i : plan.launches.at(node.id)) {
      const NodeRecord& member = plan.nodes[i];
      if (!member.flops) launch.complete = false;
      const double flops = static_cast<double>(member.flops.value_or(0));
      if (is_product(time_category(member.operation))) {
        launch.product_flops += flops;
        launch.format = member.compute_format;
        launch.category = time_category(member.operation);
      } else {
        launch.other_flops += flops;
      }
    }
    const Count bytes = plan.bytes(node.id);
    if (!bytes) launch.complete = false;
    launch.bytes = static_cast<double>(bytes.value_or(0));
    launches.push_back(std::move(launch));
  }
  return launches;
}

std::optional<Work> work_on(const PlannedLaunch& launch, const Gpu& gpu) {
  Work work{.product_flops = launch.product_flops, .other_flops = launch.other_flops, .bytes = launch.bytes};
  if (launch.product_flops <= 0.0) return work;
  const ModeSupport support = product_support(gpu, launch.format);
  switch (support.support) {
    case Support::emulated:
    case Support::absent:
    case Support::unknown: return std::nullopt;
    case Support::native:
    case Support::no_gain:
    case Support::no_effect: break;
  }
  if (!support.peak) return std::nullopt;
  work.product_peak = support.peak;
  work.rate = support.rate;
  const bool as_fp32 = support.rate == Rate::fp32 || support.support == Support::no_gain;
  work.product = launch.category == TimeCategory::attention     ? WorkClass::attention
                 : launch.category == TimeCategory::convolution ? WorkClass::convolution
                 : as_fp32                                      ? WorkClass::fp32_products
                                                                : WorkClass::matrix_units;
  return work;
}

}  // namespace ulpscope::reports
