// Adam's second moment where the format of the optimizer's state is too narrow for it: it is rounded to zero, and the update is the first
// moment divided by epsilon alone. What meets an epsilon that is zero, too, is a division by zero: causes_optimizer.cpp.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

constexpr double many_elements = 0.01;  ///< of those with a gradient
/// Adam's updates are about the learning rate; beyond this multiple they are another training.
constexpr double large_update = 2.0;

/// Over all weights whose state has one format.
struct Moments {
  const PlanNode* node = nullptr;  ///< that lost most
  std::int64_t most = 0;
  std::int64_t flushed = 0, with_gradient = 0;
  double epsilon = 0.0;    ///< as the update adds it
  double threshold = 0.0;  ///< |g| whose square leaves nothing
  double update = 0.0;     ///< of a weight whose second moment is lost, in learning rates, at most
};

void add(const Evidence& e, const ObservedStep& step, const PlanNode& node, Moments& all) {
  if (node.record.operation != "adamw" || node.outputs.size() < 3 || node.inputs.empty() || !node.inputs.front()) return;
  const Stat *v = step.stat(node.outputs[2]), *gradient = step.stat(*node.inputs.front());
  const Number epsilon = number(node, "epsilon"), beta2 = number(node, "beta2");
  if (v == nullptr || gradient == nullptr || !epsilon || !beta2 || *beta2 >= 1.0 || gradient->bad() > 0) return;
  all.with_gradient += gradient->elements - gradient->zero;
  all.flushed += v->flushed;
  if (v->flushed == 0) return;
  const Format kept = e.plan().format(node.outputs[2]);
  // Pure modes round every operation to the weights' format, other modes none.
  const bool each = node.attributes.value("each_operation", false);
  const double eps = each ? rounded_to(*epsilon, e.plan().format(node.outputs.front())) : *epsilon;
  const double threshold = std::sqrt(info(kept).flush_threshold / (1.0 - *beta2));
  const double typical = std::min({gradient->rms.value_or(gradient->greatest), gradient->greatest, threshold});
  const double update = eps > 0.0 ? typical / eps : 0.0;  // none: a division by zero, which is told elsewhere
  if (all.node == nullptr || update > all.update) {
    all.node = &node;
    all.most = v->flushed;
    all.epsilon = eps;
    all.threshold = threshold;
    all.update = update;
  }
}

}  // namespace

void silent_moment_causes(const Evidence& evidence, std::vector<Cause>& causes) {
  const bool told = std::any_of(causes.begin(), causes.end(), [](const Cause& c) { return c.kind == Kind::epsilon_vanished && c.phase == "update"; });
  if (told) return;
  Cause* known = nullptr;
  for (const ObservedStep& step : evidence.observed()) {
    Moments all;
    for (const PlanNode& node : evidence.plan().nodes()) add(evidence, step, node, all);
    const double share = all.with_gradient > 0 ? static_cast<double>(all.flushed) / static_cast<double>(all.with_gradient) : 0.0;
    if (all.node == nullptr || !(all.update > large_update)) continue;
    if (known != nullptr) {
      ++known->steps_seen;
      continue;
    }
    Cause cause;
    cause.kind = Kind::second_moment_below_range;
    cause.gravity = share >= many_elements ? Gravity::damage : Gravity::note;
    cause.step = step.step;
    cause.node = all.node->record.name;
    cause.operation = all.node->record.operation;
    cause.phase = std::string(name(all.node->record.phase));
    cause.tensor = evidence.plan().title(all.node->outputs[2]);
    cause.format = name(evidence.plan().format(all.node->outputs[2]));
    cause.what = fmt::format("optimizer, not model: the second moment is rounded to zero in {} for {} of {} that have a gradient ({}): |g| below {}. "
                             "Epsilon {} alone divides their updates, which come to about {} times the learning rate in {} instead of one",
                             cause.format, all.flushed, counted(all.with_gradient, "weight"), percent(share), amount(all.threshold), amount(all.epsilon),
                             amount(all.update), cause.node);
    cause.reaches = "the weights, as steps that are too long";
    cause.facts.push_back(fact("v_flushed", "second moments rounded to zero", static_cast<double>(all.flushed), fmt::format("{} of {}", all.flushed, all.with_gradient)));
    cause.facts.push_back(fact("v_threshold", "smallest gradient that counts", all.threshold,
                               fmt::format("{} = sqrt({} / (1 - beta2))", amount(all.threshold), amount(info(evidence.plan().format(all.node->outputs[2])).flush_threshold)),
                               Provenance::computed));
    cause.facts.push_back(fact("epsilon", "epsilon as it is added", all.epsilon, amount(all.epsilon), Provenance::computed));
    cause.facts.push_back(fact("update", "update, in learning rates", all.update, fmt::format("about {}", amount(all.update)), Provenance::computed));
    causes.push_back(std::move(cause));
    known = &causes.back();
  }
}

}  // namespace ulpscope::reports
