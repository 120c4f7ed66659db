#include "profiler/cli/savings_text.h"

#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "profiler/cli/text.h"

namespace ulpscope::profiler {
namespace {

std::string bytes(std::int64_t count) { return bytes_text(static_cast<double>(count)); }

/// "block0 to block5"; two names are listed.
std::string names(const std::vector<std::string>& segments) {
  if (segments.size() == 1) return segments.front();
  return fmt::format("{} {} {}", segments.front(), segments.size() == 2 ? "and" : "to", segments.back());
}

std::string checkpointing(const engine::StepPlan& plan) {
  const engine::MemorySavings& s = plan.savings;
  if (s.segments.empty()) {
    return "  Checkpointing: nothing is computed again; the backward pass reads nothing from inside the blocks.";
  }
  double step = -s.flops;   // without what is computed again
  for (const engine::Node& node : plan.graph.nodes()) step += engine::node_flops(plan.graph, node);
  const engine::PlannedBytes with = engine::planned_bytes(plan);
  return fmt::format("  Checkpointing of {}: {} nodes are computed again in the backward pass, {} more ({:.1f} % of the step). "
                     "It keeps {} for backward instead of {}; the peak is {} instead of {}.",
                     names(s.segments), s.repeated, scaled_words(s.flops, "FLOP"), 100.0 * s.flops / step, bytes(with.kept),
                     bytes(s.without_checkpointing.kept), bytes(with.peak), bytes(s.without_checkpointing.peak));
}

std::string weight_copies(const engine::MemorySavings& s) {
  const bool recast = s.weight_copies == engine::WeightCopies::recast;
  return fmt::format("  16-bit copies of weights: {}. Peak {} if kept, {} if cast again.",
                     recast ? fmt::format("cast again before each use ({} more casts)", s.recast)
                            : "kept from the forward pass until the backward pass has read them",
                     bytes(s.with_keep.peak), bytes(s.with_recast.peak));
}

}  // namespace

std::string savings_text(const engine::StepPlan& plan) {
  std::string text;
  if (plan.savings.asked) text += wrapped(checkpointing(plan), "  ") + "\n";
  if (plan.savings.has_weight_copies) text += wrapped(weight_copies(plan.savings), "  ") + "\n";
  return text;
}

}  // namespace ulpscope::profiler
