#include "reports/analysis/diagnosis/rehearsed.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <set>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/gravity.h"
#include "reports/analysis/diagnosis/swallowed.h"

namespace ulpscope::reports {
namespace {

Evidence evidence_of(const RehearsedStep& step) { return {step.run, PlanView(step.nodes, step.tensors, step.edges), step.step, step.statistics}; }

/// A fault and what came of it.
struct Fault {
  Root root{};
  Chain chain{};
  Aftermath after{};
  Cause cause{};
  bool told = false;   ///< with an earlier one
  bool reaches() const { return chain.loss || chain.gradient || chain.weights; }
};

Fault fault_of(const Evidence& e, const StepStory& story, const ObservedStep& step, const Root& root) {
  Fault f{.root = root, .chain = follow(e, step, root)};
  judge_swallowed(e, step, root, f.chain);
  const Suspect suspect{e, step, root, f.chain, story};
  std::optional<Cause> cause = cause_of(suspect);
  f.after.masked = !cause;
  if (!cause) {
    f.after.gravity = Gravity::note;
    return f;
  }
  if (!f.reaches()) {
    f.after.gravity = grade(suspect, *cause);
    Cause words;
    tell_swallowed(suspect, words);
    f.after.what = words.what;
  }
  f.cause = std::move(*cause);
  return f;
}

/// What is computed from what the forward pass made of the infinities.
std::set<TensorId> behind(const Evidence& e, const Chain& chain) {
  std::vector<TensorId> open;
  for (const PlanNode* node : chain.swallowed_in) open.insert(open.end(), node->outputs.begin(), node->outputs.end());
  std::set<TensorId> found;
  while (!open.empty()) {
    const TensorId id = open.back();
    open.pop_back();
    if (!found.insert(id).second) continue;
    for (const std::size_t reader : e.plan().readers(id)) {
      const auto& outputs = e.plan().nodes()[reader].outputs;
      open.insert(open.end(), outputs.begin(), outputs.end());
    }
  }
  return found;
}

/// A later operation fails on the number that an infinity became: it is the infinity that is fatal.
void tell_what_fails(const Evidence& e, std::vector<Fault>& faults) {
  for (std::size_t i = 0; i < faults.size(); ++i) {
    Fault& first = faults[i];
    if (first.reaches() || first.after.masked || first.chain.swallowed_in.empty()) continue;
    const std::set<TensorId> computed = behind(e, first.chain);
    const auto fails = std::find_if(faults.begin() + static_cast<std::ptrdiff_t>(i) + 1, faults.end(), [&](const Fault& later) {
      if (!later.reaches() || later.root.node == nullptr || later.root.micro_batch != first.root.micro_batch) return false;
      if (later.root.how != Root::How::arithmetic && first.chain.fate == Fate::same) return false;   // a size of its own
      const auto& inputs = later.root.node->inputs;
      return std::any_of(inputs.begin(), inputs.end(), [&](const auto& input) { return input && computed.contains(*input); });
    });
    if (fails == faults.end()) continue;
    const NodeRecord& node = fails->root.node->record;
    first.after.gravity = Gravity::fatal;
    fails->told = true;
    first.after.what += fmt::format("; {} ({}, {}) then fails on what is made of it", node.name, node.operation, name(node.phase));
  }
}

void keep_gravest(std::map<std::string, Aftermath>& all, const std::string& tensor, const Aftermath& after) {
  const auto [at, is_new] = all.emplace(tensor, after);
  if (!is_new && after.gravity < at->second.gravity) at->second = after;
}

}  // namespace

Followed follow_rehearsed(const RehearsedStep& rehearsed, const RehearsedStep* fp32) {
  Evidence e = evidence_of(rehearsed);
  const auto twin = fp32 != nullptr ? std::make_unique<Evidence>(evidence_of(*fp32)) : nullptr;
  e.fp32 = twin.get();
  Followed all;
  if (e.observed().empty()) return all;
  const ObservedStep& step = e.observed().front();
  const StepStory story = tell_steps(e);
  const auto scaled = [&](TensorId id) { return e.plan().carries_scale(id); };
  std::vector<Fault> faults;
  for (const Root& root : find_roots(e, step))
    if (!scaled(root.tensor) || root.how == Root::How::arithmetic) faults.push_back(fault_of(e, story, step, root));
  tell_what_fails(e, faults);
  bool forward_reached = false;   // the backward pass of a loss that is not finite is no fault of its own
  for (Fault& f : faults) {
    const bool forward = f.root.node == nullptr || f.root.node->record.phase == Phase::forward;
    if (f.reaches() && !f.told && !f.after.masked && (forward || !forward_reached))
      all.faults.push_back({std::move(f.cause), f.root.node == nullptr ? -1 : f.root.node->record.position});
    forward_reached = forward_reached || (forward && f.reaches());
    if (scaled(f.root.tensor)) continue;
    f.chain.passed.insert(f.root.tensor);
    for (const TensorId id : f.chain.passed)
      if (const TensorRecord* record = e.plan().tensor(id); record != nullptr && !scaled(id)) keep_gravest(all.tensors, record->name, f.after);
  }
  return all;
}

}  // namespace ulpscope::reports
