#include "profiler/experiment/savings_record.h"

#include <nlohmann/json.hpp>

namespace ulpscope::profiler {

nlohmann::json savings_json(const engine::StepPlan& plan) {
  const engine::MemorySavings& s = plan.savings;
  const engine::PlannedBytes with = engine::planned_bytes(plan);
  nlohmann::json all = nlohmann::json::object();
  if (!s.segments.empty()) {
    all["checkpointing"] = {{"segments", s.segments},
                            {"nodes_again", s.repeated},
                            {"flops_again", s.flops},
                            {"peak_bytes", with.peak},
                            {"peak_bytes_without", s.without_checkpointing.peak},
                            {"kept_bytes", with.kept},
                            {"kept_bytes_without", s.without_checkpointing.kept}};
  }
  if (s.has_weight_copies) {
    all["weight_copies"] = {{"chosen", s.weight_copies == engine::WeightCopies::recast ? "recast" : "keep"},
                            {"casts_again", s.recast},
                            {"peak_bytes_keep", s.with_keep.peak},
                            {"peak_bytes_recast", s.with_recast.peak},
                            {"kept_bytes_keep", s.with_keep.kept},
                            {"kept_bytes_recast", s.with_recast.kept}};
  }
  return all;
}

}  // namespace ulpscope::profiler
