#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "engine/graph/operator.h"
#include "engine/passes/rewrites.h"
#include "kernels/error.h"
#include "kernels/formats/format.h"
#include "profiler/mend/candidate.h"

namespace ulpscope::profiler {
namespace {

using engine::Rewrite;
using reports::Cause;
using reports::Kind;

/// Of a rescaled result, what is left free below the limit.
constexpr double fill_at_most = 0.75;

/// One kind of rewrite for all the nodes that ask for it.
class Proposal {
 public:
  Proposal(const Ground& ground, Rewrite::Kind kind) : ground_(ground), kind_(kind) {}

  /// number: rescale: its factor; clamp: its limit. wanted: the diagnosis speaks of it, so that a refusal is worth telling.
  void add(const Fault& fault, const std::string& node, double number, bool wanted) {
    Rewrite rewrite{.kind = kind_, .nodes = node, .where = {}};
    (kind_ == Rewrite::Kind::clamp ? rewrite.limit : rewrite.factor) = number;
    try {
      engine::rewrite(ground_.model(), {rewrite}, true);
    } catch (const Error& error) {
      if (wanted) {
        refused_.emplace_back(error.what());
        add_faults(refused_for_, {fault});
      }
      return;
    }
    add_faults(targets_, {fault});
    const bool there = std::any_of(rewrites_.begin(), rewrites_.end(), [&](const Rewrite& r) { return r.nodes == node; });
    if (!there) rewrites_.push_back(std::move(rewrite));
  }

  void finish(int cost, const std::string& change, const std::string& settings, std::vector<Candidate>& list) const {
    if (rewrites_.empty() && refused_.empty()) return;
    Candidate c{.kind = engine::name(kind_), .cost = cost, .settings = settings, .targets = rewrites_.empty() ? refused_for_ : targets_};
    std::vector<std::string> nodes;
    for (const Rewrite& r : rewrites_) {
      nodes.push_back(r.nodes);
      c.ulpscope += fmt::format("{}[[rewrite]] kind = \"{}\", nodes = \"{}\"{}", c.ulpscope.empty() ? "" : "; ", engine::name(kind_), r.nodes,
                                kind_ == Rewrite::Kind::rescale ? fmt::format(", factor = {:g}", r.factor)
                                : kind_ == Rewrite::Kind::clamp ? fmt::format(", limit = {:.9g}", r.limit) : "");
    }
    if (rewrites_.empty()) {
      c.change = fmt::format("{}", fmt::format(fmt::runtime(change), "these nodes"));
      c.impossible = fmt::format("the graph does not allow it: {}", refused_.front());
    } else {
      c.change = fmt::format(fmt::runtime(change), fmt::join(nodes, ", "));
      c.apply = [rewrites = rewrites_](Experiment& e) { e.train.rewrites.insert(e.train.rewrites.end(), rewrites.begin(), rewrites.end()); };
    }
    add_candidate(list, std::move(c));
  }

 private:
  const Ground& ground_;
  Rewrite::Kind kind_;
  std::vector<Rewrite> rewrites_;
  std::vector<Fault> targets_, refused_for_;
  std::vector<std::string> refused_;
};

/// The power of two that brings the greatest magnitude below the limit; nothing if it is not known.
std::optional<double> factor_for(const Cause& cause) {
  const reports::Fact* fact = find_fact(cause, "greatest_magnitude");
  const auto format = parse_format(cause.format);
  if (fact == nullptr || !fact->value || !std::isfinite(*fact->value) || !format) return std::nullopt;
  const double k = std::ceil(std::log2(*fact->value / (fill_at_most * info(*format).max_finite)));
  return std::exp2(-std::clamp(k, 1.0, 100.0));
}

const reports::Remedy* remedy(const Cause& cause, std::string_view kind) {
  const auto found = std::find_if(cause.remedies.begin(), cause.remedies.end(), [&](const reports::Remedy& r) { return r.mend == kind; });
  return found == cause.remedies.end() ? nullptr : &*found;
}

}  // namespace

void add_rewrites(const Ground& ground, std::vector<Candidate>& list) {
  Proposal scores(ground, Rewrite::Kind::scale_before_product), masks(ground, Rewrite::Kind::boolean_mask), large(ground, Rewrite::Kind::rescale), clamped(ground, Rewrite::Kind::clamp);
  std::string scores_settings, masks_settings;
  for (const Cause* cause : ground.causes()) {
    const Fault fault = fault_of(*cause);
    for (const std::string& node : ground.model_nodes(cause->node)) {
      const std::string& op = ground.model_node(node)->op->name;
      if (const reports::Remedy* r = remedy(*cause, "scale_before_product"); r != nullptr && op == "matmul") {
        scores.add(fault, node, 0.5, true);
        scores_settings = r->settings;
      }
      if (const reports::Remedy* r = remedy(*cause, "boolean_mask")) {
        masks.add(fault, node, 0.5, true);
        masks_settings = r->settings;
      }
      const auto factor = cause->kind == Kind::activation_too_large && node == cause->node ? factor_for(*cause) : std::nullopt;
      if (factor) large.add(fault, node, *factor, false);
    }
    const auto format = parse_format(cause->format);
    if (const std::string maker = ground.maker(cause->node); cause->kind == Kind::activation_too_large && !maker.empty() && format)
      clamped.add(fault, maker, info(*format).max_finite, false);
  }
  scores.finish(1, "scale before the product: the factor after {} goes to its first operand", scores_settings, list);
  masks.finish(1, "a boolean mask: {} fills what is masked instead of adding to it", masks_settings, list);
  clamped.finish(4, "clamp {} to the largest finite number of its format: changes the result", "PyTorch: torch.clamp(x, min=-m, max=m), m = torch.finfo(x.dtype).max", list);
  large.finish(1, "compute {} times a power of two; what reads it gives it back: exact, but for what becomes subnormal", "PyTorch: (x * 2**-k) @ w, and * 2**k after the next linear operation", list);
}

}  // namespace ulpscope::profiler
