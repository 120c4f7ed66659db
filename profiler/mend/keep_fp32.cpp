#include "profiler/mend/keep_fp32.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>

#include "engine/graph/operator.h"
#include "kernels/error.h"
#include "profiler/mend/smallest_set.h"

namespace ulpscope::profiler {
namespace {

using reports::Kind;
using reports::MendStatus;
using Nodes = std::vector<std::string>;

/// Sets that are grown before a smallest one is looked for.
constexpr int most_growths = 32;

bool of_format(Kind kind) {
  switch (kind) {
    case Kind::activation_too_large:
    case Kind::activation_below_range:
    case Kind::weight_too_large:
    case Kind::gradient_too_large_for_scale:
    case Kind::gradient_below_range:
    case Kind::mask_constant_out_of_range:
    case Kind::mask_sum:
    case Kind::reduction_too_long:
    case Kind::epsilon_vanished:
    case Kind::zero_divisor:
    case Kind::outside_domain:
    case Kind::variance_lost:
    case Kind::exact_zero_loss:
    case Kind::unknown: return true;
    // A cause from outside is found out by trying.
    case Kind::weights_poisoned:
    case Kind::data_not_finite: return true;
    default: return false;
  }
}

/// True if there is one that was not there.
bool add_nodes(Nodes& to, const Nodes& more) {
  const std::size_t before = to.size();
  for (const std::string& node : more)
    if (std::find(to.begin(), to.end(), node) == to.end()) to.push_back(node);
  return to.size() > before;
}

class Search {
 public:
  Search(const Ground& ground, const TryNodes& attempt) : ground_(ground), attempt_(attempt), targets_(keep_targets(ground)), before_(faults_of(ground.found())) {}

  KeepFp32 run(const std::function<std::string()>& why_no_more) {
    KeepFp32 result;
    result.targets = targets_;
    Nodes nodes = suspects();
    result.nodes = nodes;
    if (nodes.empty()) {
      result.why = "no node of the model has to do with the fault: there is nothing to keep in fp32";
      return result;
    }
    bool watched = false;
    for (int growth = 0;; ++growth) {
      const Judged* judged = judge_nodes(nodes);
      result.nodes = nodes;
      result.runs = runs_;
      if (judged == nullptr) {
        result.why = why_no_more();
        return result;
      }
      if (judged->judgement.status == MendStatus::verified) break;
      Nodes more = judged->trial ? at(judged->judgement.instead, judged->trial->step) : partners(nodes);
      if (judged->trial) add_nodes(more, at(faults_of(judged->trial->diagnosis), judged->trial->step));
      bool grown = growth < most_growths && add_nodes(nodes, more);
      if (!grown && !watched) {
        watched = true;
        grown = add_nodes(nodes, on_watch());
      }
      if (grown) continue;
      result.status = judged->trial ? MendStatus::refuted : MendStatus::not_tried;
      result.why = judged->judgement.why;
      result.judgement = judged->judgement;
      result.trial = judged->trial;
      return result;
    }
    shrink(nodes, result, why_no_more);
    return result;
  }

 private:
  struct Judged {
    std::optional<Trial> trial;   ///< none: the plan refuses it
    Judgement judgement;
  };

  const Judged* judge_nodes(const Nodes& nodes) {
    if (const auto found = known_.find(nodes); found != known_.end()) return &found->second;
    std::optional<Trial> trial;
    try {
      trial = attempt_(nodes);
    } catch (const Error& error) {
      const Judgement refused{.status = MendStatus::refuted, .why = fmt::format("it cannot be run: {}", error.what())};
      return &known_.emplace(nodes, Judged{std::nullopt, refused}).first->second;
    }
    if (!trial) return nullptr;
    ++runs_;
    Judgement judgement = judge(targets_, before_, trial->diagnosis);
    return &known_.emplace(nodes, Judged{std::move(*trial), std::move(judgement)}).first->second;
  }

  /// The nodes behind these faults of a step; a cast's name has lost its format (fault.h).
  Nodes at(const std::vector<Fault>& faults, const engine::Graph& step) const {
    Nodes nodes;
    for (const Fault& fault : faults)
      for (const char* suffix : {"", ".fp16", ".bf16"}) add_nodes(nodes, ground_.model_nodes(fault.place + suffix, step));
    return nodes;
  }
  /// Attention takes queries, keys and values of one format: whoever makes one of them brings the makers of the others.
  Nodes partners(const Nodes& nodes) const {
    Nodes found;
    for (const engine::Node& node : ground_.model().nodes()) {
      if (node.op->name != "attention") continue;
      Nodes makers{node.name};
      std::set<std::int32_t> seen;
      for (const engine::ValueId input : node.inputs) makers_of(input, makers, seen);
      if (std::any_of(makers.begin(), makers.end(), [&](const std::string& m) { return std::find(nodes.begin(), nodes.end(), m) != nodes.end(); }))
        add_nodes(found, makers);
    }
    return found;
  }
  /// Back to the nearest product. seen: values that this walk has been to, on whatever way.
  void makers_of(engine::ValueId value, Nodes& makers, std::set<std::int32_t>& seen) const {
    if (!seen.insert(value.index).second) return;
    const engine::NodeId id = ground_.model().value(value).producer;
    if (!id) return;
    const engine::Node& node = ground_.model().node(id);
    if (!is_float(ground_.model().value(value).format)) return;
    add_nodes(makers, {node.name});
    if (node.op->product) return;
    for (const engine::ValueId input : node.inputs) makers_of(input, makers, seen);
  }
  /// A difference that cancels, and what a norm divides by, is as exact as what it is made of: they come with it. An epsilon that vanished did so where it is read.
  Nodes suspects() const {
    Nodes nodes = at(targets_, ground_.step());
    for (const reports::Cause* cause : ground_.causes())
      if (const reports::Fact* const in = find_fact(*cause, "vanished_in"); in != nullptr) add_nodes(nodes, ground_.model_nodes(in->text));
    std::set<std::int32_t> seen;
    for (const reports::Cause* cause : ground_.causes()) {
      const bool rounded_before = cause->kind == Kind::variance_lost || (cause->kind == Kind::outside_domain && find_fact(*cause, "cancellation") != nullptr);
      const engine::Node* node = rounded_before ? ground_.model_node(cause->node) : nullptr;
      if (node != nullptr) makers_of(node->inputs.front(), nodes, seen);
    }
    return nodes;
  }
  Nodes on_watch() const {
    Nodes nodes;
    for (const reports::Watched& watched : ground_.found().watch) add_nodes(nodes, ground_.model_nodes(watched.node));
    return nodes;
  }

  void shrink(const Nodes& nodes, KeepFp32& result, const std::function<std::string()>& why_no_more) {
    const SmallestSet smallest = smallest_set(nodes, [&](const Nodes& set) {
      const Judged* judged = judge_nodes(set);
      if (judged == nullptr) return Answer::unknown;
      return judged->judgement.status == MendStatus::verified ? Answer::works : Answer::fails;
    });
    const Judged& best = known_.at(smallest.members);
    result.status = MendStatus::verified;
    result.nodes = smallest.members;
    result.minimal = smallest.minimal;
    result.judgement = best.judgement;
    result.trial = best.trial;
    result.why = best.judgement.why;
    if (!smallest.minimal) result.why += fmt::format("; whether fewer nodes would do is not known: {}", why_no_more());
    for (std::size_t i = 0; i < smallest.members.size(); ++i) {
      const Nodes rest = without(smallest.members, i);
      const auto tried = known_.find(rest);
      if (rest.empty())
        result.without.emplace_back(smallest.members[i], "the fault returns: the unchanged run");
      else if (tried != known_.end())
        result.without.emplace_back(smallest.members[i], tried->second.judgement.why);
    }
    result.runs = runs_;
  }

  const Ground& ground_;
  const TryNodes& attempt_;
  std::vector<Fault> targets_, before_;
  std::map<Nodes, Judged> known_;
  std::int64_t runs_ = 0;
};

}  // namespace

std::vector<Fault> keep_targets(const Ground& ground) {
  std::vector<Fault> targets;
  for (const reports::Cause* cause : ground.causes()) {
    const Fault fault = fault_of(*cause);
    if (of_format(cause->kind) && !beyond_fp32(*cause) && !ground.model_nodes(cause->node.empty() ? cause->tensor : cause->node).empty()) add_faults(targets, {fault});
  }
  return targets;
}

KeepFp32 search_keep_fp32(const Ground& ground, const TryNodes& attempt, const std::function<std::string()>& why_no_more) {
  return Search(ground, attempt).run(why_no_more);
}

}  // namespace ulpscope::profiler
