// What is done in the wrong order, by the plan alone.
#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "kernels/scaling/loss_scaler.h"
#include "profiler/predict/checks.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::profiler {

void check_order(const PlanFacts& facts, FoundFaults& found) {
  if (!engine::scales_loss(facts.mode(), facts.config())) return;
  const auto scale = static_cast<double>(scaling::initial_state(facts.config().scaler).scale);
  if (scale == 1.0) return;
  for (std::int32_t n = facts.graph().node_count() - 1; n >= 0; --n) {
    const engine::Node& node = facts.graph().node(engine::NodeId{n});
    if (node.op->name != "accumulate" || !node.attributes.flag_or("early_unscale", false) || facts.plan().micro_batches < 2) continue;
    reports::Foreseen f = foreseen_at(facts, engine::NodeId{n}, kind(reports::Kind::unscaled_early), reports::Gravity::damage);
    f.what = fmt::format("one of {} micro-batches is unscaled before it is added to the others: the others weigh as much more as the loss scale, {} at the start",
                         facts.plan().micro_batches, reports::scale_amount(scale));
    f.facts.push_back(reports::fact("ratio", "ratio of the norms", scale, reports::scale_amount(scale), reports::Provenance::computed));
    found.push_back(std::move(f));
    return;   // all parameters are alike in this
  }
}

}  // namespace ulpscope::profiler
