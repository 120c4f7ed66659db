// Norms over rows whose sums are kept in fp32, and are infinite there: the rehearsal, which makes the same sums, tells.
#include <fmt/format.h>

#include <algorithm>

#include "engine/graph/operator.h"
#include "profiler/predict/checks.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::profiler {
namespace {

using engine::Node;
using engine::NodeId;
using reports::amount;
using reports::fact;
using reports::Foreseen;
using reports::Gravity;
using reports::Provenance;

/// The reciprocal root of each row; null: no norm over rows, or not kept.
const RoundingCounts* roots(const PlanFacts& facts, const Node& node) {
  const std::size_t side = node.op->name == "rms_norm" ? 1 : node.op->name == "layer_norm" ? 2 : 0;
  return side == 0 || node.outputs.size() <= side ? nullptr : facts.range(node.outputs[side]);
}

}  // namespace

void check_wide_norms(const PlanFacts& facts, FoundFaults& found) {
  const std::string overflowed(name(reports::Kind::norm_overflowed));
  for (std::int32_t n = 0; n < facts.graph().node_count(); ++n) {
    const Node& node = facts.graph().node(NodeId{n});
    if (node.phase != engine::Phase::forward || node.arithmetic.accumulate != Format::fp32) continue;
    const RoundingCounts *const rows = roots(facts, node), *const in = rows == nullptr ? nullptr : facts.range(node.inputs.front());
    // The root of a mean square is infinite, and its reciprocal 0, for an infinite sum alone.
    if (in == nullptr || rows->zero == 0 || finite_elements(*in) < in->elements) continue;
    const bool told = std::any_of(found.begin(), found.end(), [&](const Foreseen& f) { return f.kind == overflowed && f.node == node.name && f.gravity != Gravity::note; });
    if (told) continue;
    std::erase_if(found, [&](const Foreseen& f) { return f.kind == overflowed && f.node == node.name; });  // that it may be
    const bool squares = node.op->name == "rms_norm";
    const double square = in->greatest_magnitude * in->greatest_magnitude;
    Foreseen f = foreseen_at(facts, NodeId{n}, overflowed, facts.feeds_loss(node.outputs.front()) ? Gravity::damage : Gravity::contained);
    f.format = "fp32";
    f.overflow = true;
    f.what = fmt::format("the sum of {} squares{} of {} of {} is infinite in fp32, as it was in the step in fp32 (inputs are up to {}, the square of which is {}): the norm divides by it "
                         "and leaves {} in silence",
                         facts.graph().value(node.inputs.front()).shape[-1], squares ? "" : ", less the mean,", rows->zero, reports::counted(rows->elements, "row"),
                         amount(in->greatest_magnitude), amount(square), squares ? "0" : "its bias");
    f.facts.push_back(fact("rows", "infinite sums", static_cast<double>(rows->zero), fmt::format("{} of {}", rows->zero, rows->elements), Provenance::projected));
    f.facts.push_back(fact("square", squares ? "greatest square" : "greatest square, mean included", square, amount(square), Provenance::projected));
    found.push_back(std::move(f));
  }
}

}  // namespace ulpscope::profiler
