#include "reports/analysis/diagnosis/first_fault.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <set>

#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

constexpr std::size_t longest_chain = 8;

/// Elements that were not finite before the rounding: what an operation can have been handed. Those that overflow when they are rounded are
/// made by it.
std::int64_t handed(const Stat& stat) { return stat.nan + stat.infinite(); }

bool one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return word == w; });
}

/// Whether what is not finite in input `place` can make a result so. exp(-inf) and 1 / inf are 0, and a bounded function of an infinity is
/// its bound.
bool can_hand_on(const PlanNode& node, std::size_t place, const Stat& read, const Stat* divided) {
  const std::string& op = node.record.operation;
  if (node.record.phase != Phase::forward || read.nan > 0) return true;
  if (one_of(op, {"sigmoid", "tanh", "reciprocal"})) return false;
  // Of which sign those are that overflowed was not counted.
  if (op == "exp" || op == "relu") return read.positive_infinite + read.overflowed > 0;
  if ((op == "div" || op == "expand") && place == 1) return divided == nullptr || divided->bad() > 0;
  return true;
}

/// Of an operation's float inputs in one micro-batch.
struct InputState {
  bool all_finite = true;  ///< as far as known
  bool all_known = true;
};

InputState inputs_of(const Evidence& evidence, const ObservedStep& step, const PlanNode& node,
                     std::int64_t micro_batch) {
  InputState state;
  const auto stat_of = [&](std::size_t i) { return i < node.inputs.size() && node.inputs[i] ? step.stat(*node.inputs[i], micro_batch) : nullptr; };
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    if (node.inputs[i] && !is_float(evidence.plan().format(*node.inputs[i]))) continue;
    const Stat* stat = stat_of(i);
    if (stat == nullptr)
      state.all_known = false;
    else if (stat->bad() > 0 && can_hand_on(node, i, *stat, stat_of(0)))
      state.all_finite = false;
  }
  return state;
}

void add_sources(const Evidence& evidence, const ObservedStep& step, std::vector<Root>& roots) {
  for (const auto& [id, stat] : step.all) {
    if (!evidence.plan().is_source(id) || stat.nan + stat.infinite() == 0) continue;
    if (evidence.plan().readers(id).empty()) continue;  // nothing reads it
    roots.push_back({Root::How::source, nullptr, id, 0, &stat, nullptr, true});
  }
}

// An update writes nothing when the step's gradients are not finite: its result is then what it was.
bool ineffective(const Evidence& evidence, const ObservedStep& step, const PlanNode& node) {
  if (!is_optimizer(node) && node.record.operation != "commit_buffer") return false;
  const StepRecord* record = evidence.step(step.step);
  return record != nullptr && record->skipped;
}

void add_node(const Evidence& evidence, const ObservedStep& step, const PlanNode& node, std::int64_t micro_batch,
              std::set<NodeId>& seen, std::vector<Root>& roots) {
  if (seen.contains(node.record.id) || ineffective(evidence, step, node)) return;
  const InputState inputs = inputs_of(evidence, step, node, micro_batch);
  if (node.inner) {
    const Stat* inner = step.stat(*node.inner, micro_batch);
    if (inner != nullptr && inner->overflowed > 0) {
      const TensorId shown_in = node.outputs.empty() ? *node.inner : node.outputs.front();
      roots.push_back(
          {Root::How::inner, &node, shown_in, micro_batch, step.stat(shown_in, micro_batch), inner, inputs.all_known});
      seen.insert(node.record.id);
      return;
    }
  }
  for (const TensorId output : node.outputs) {
    const Stat* stat = step.stat(output, micro_batch);
    if (stat == nullptr || stat->bad() == 0) continue;
    const bool rounding = stat->overflowed > 0;
    if (!rounding && !inputs.all_finite) continue;
    roots.push_back({rounding ? Root::How::rounding : Root::How::arithmetic, &node, output, micro_batch, stat, nullptr,
                     inputs.all_known});
    seen.insert(node.record.id);
    return;
  }
}

}  // namespace

std::vector<Root> find_roots(const Evidence& evidence, const ObservedStep& step) {
  std::vector<Root> roots;
  add_sources(evidence, step, roots);
  std::set<NodeId> seen;
  const auto pass = [&](std::int64_t micro_batch, bool updates) {
    for (const PlanNode& node : evidence.plan().nodes())
      if ((node.record.phase == Phase::update) == updates) add_node(evidence, step, node, micro_batch, seen, roots);
  };
  for (std::int64_t m = 0; m < step.micro_batches; ++m) pass(m, false);
  pass(step.micro_batches - 1, true);
  return roots;
}

std::string Chain::reaches() const {
  std::string text;
  const auto add = [&](bool is, const char* what) {
    if (is) text += fmt::format("{}{}", text.empty() ? "" : ", ", what);
  };
  add(loss, "the loss");
  add(gradient, "the gradients of weights");
  add(weights, "weights");
  add(buffers, "running statistics");
  if (zeroed_in != nullptr && !loss)
    text += fmt::format("{}{} of the results of {} as exact zeros (a finite number / inf): no NaN, no inf", text.empty() ? "" : ", ",
                        zeroed, zeroed_in->record.name);
  return text;
}

namespace {

/// A forward division whose divisor is the tensor, or its root.
bool divides_by(const PlanNode& node, TensorId tensor) {
  const std::string& op = node.record.operation;
  const std::size_t divisor = op == "div" || op == "expand" ? 1 : 0;
  if (divisor == 0 && op != "rsqrt" && op != "reciprocal") return false;
  return node.record.phase == Phase::forward && !node.outputs.empty() && node.inputs.size() > divisor &&
         node.inputs[divisor] == tensor;
}

/// Hands on a part of what it reads: what is not finite may lie in the other.
bool takes_a_part(const PlanNode& node) {
  const std::string& op = node.record.operation;
  return op == "select" || op == "split" || op == "embedding";
}

/// Whether what is not finite in the tensor can make the result so. A derivative that is 1 or 0 only asks on which side of a bound its
/// operand lies: what is infinite behind it came with the gradient.
bool hands_on(const ObservedStep& step, const PlanNode& node, TensorId tensor, std::int64_t micro_batch) {
  const std::string& op = node.record.operation;
  if (op == "clamp_backward" || op == "relu_backward") return node.inputs.size() < 2 || node.inputs[0] != tensor || node.inputs[1] == tensor;
  const Stat* read = step.stat(tensor, micro_batch);
  if (read == nullptr || read->bad() == 0) return true;
  const Stat* first = node.inputs.empty() || !node.inputs.front() ? nullptr : step.stat(*node.inputs.front(), micro_batch);
  for (std::size_t i = 0; i < node.inputs.size(); ++i)
    if (node.inputs[i] == tensor && can_hand_on(node, i, *read, first)) return true;
  return false;
}

/// All that a forward operation makes was observed, and what of it is not finite is its own; of functions of one element, less than they read.
bool swallows(const ObservedStep& step, const PlanNode& node, std::int64_t micro_batch) {
  const std::string& op = node.record.operation;
  if (node.record.phase == Phase::forward && (op == "relu" || op == "exp" || op == "silu" || op.starts_with("gelu") || op == "clamp")) {
    const Stat* read = node.inputs.empty() || !node.inputs.front() ? nullptr : step.stat(*node.inputs.front(), micro_batch);
    const Stat* made = node.outputs.empty() ? nullptr : step.stat(node.outputs.front(), micro_batch);
    if (read != nullptr && made != nullptr && handed(*made) < read->bad()) return true;
  }
  return node.record.phase == Phase::forward && !node.outputs.empty() && std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId output) {
    const Stat* stat = step.stat(output, micro_batch);
    return stat != nullptr && handed(*stat) == 0;
  });
}

}  // namespace

Chain follow(const Evidence& evidence, const ObservedStep& step, const Root& root) {
  const PlanView& plan = evidence.plan();
  Chain chain;
  std::deque<TensorId> open;
  std::set<TensorId> seen;
  std::map<TensorId, TensorId> came_from;
  std::optional<TensorId> end;
  const auto visit = [&](TensorId id, std::optional<TensorId> from) {
    if (!seen.insert(id).second) return;
    open.push_back(id);
    if (from) came_from.emplace(id, *from);
    const TensorRecord* record = plan.tensor(id);
    const PlanNode* made_by = plan.producer(id);
    if (plan.loss() == id) chain.loss = true;
    if (made_by != nullptr &&
        (made_by->record.operation == "unscale_check" || made_by->record.operation == "global_norm"))
      chain.gradient = true;
    if (made_by != nullptr && is_optimizer(*made_by) && made_by->outputs.front() == id) chain.weights = true;
    if (record != nullptr && made_by != nullptr && record->role == TensorRole::buffer) chain.buffers = true;
    const bool goal = plan.loss() == id || (made_by != nullptr && made_by->record.operation == "unscale_check");
    if (goal && !end) end = id;
  };
  if (root.node == nullptr)
    visit(root.tensor, std::nullopt);
  else
    for (const TensorId output : root.node->outputs) {
      const Stat* stat = step.stat(output, root.micro_batch);
      if (stat == nullptr || stat->bad() > 0) visit(output, std::nullopt);
    }
  if (root.node != nullptr && root.how == Root::How::inner && swallows(step, *root.node, root.micro_batch)) chain.swallowed_in.push_back(root.node);
  TensorId last = root.tensor;
  while (!open.empty()) {
    const TensorId id = open.front();
    open.pop_front();
    last = id;
    for (const std::size_t reader : plan.readers(id)) {
      const PlanNode& node = plan.nodes()[reader];
      if (ineffective(evidence, step, node)) continue;
      const bool passes = hands_on(step, node, id, root.micro_batch);
      const Stat* read = step.stat(id, root.micro_batch);
      if (read != nullptr && read->bad() > 0 && !takes_a_part(node) && swallows(step, node, root.micro_batch)) chain.swallowed_in.push_back(&node);
      if (chain.zeroed_in == nullptr && divides_by(node, id) && plan.feeds_loss(node)) {
        const Stat* result = step.stat(node.outputs.front(), root.micro_batch);
        if (result != nullptr && result->bad() == 0 && result->stored_zero() > 0) {
          chain.zeroed_in = &node;
          chain.zeroed = result->stored_zero();
        }
      }
      for (const TensorId output : node.outputs) {
        const Stat* stat = step.stat(output, root.micro_batch);
        if (stat == nullptr && chain.unseen_in == nullptr && node.record.phase == Phase::forward && is_float(plan.format(output)) && plan.feeds_loss(node)) chain.unseen_in = &node;
        if (passes && (stat == nullptr || handed(*stat) > 0)) visit(output, id);
      }
    }
  }
  // What was not observed is followed on suspicion; the step's own record knows better.
  const StepRecord* record = evidence.step(step.step);
  if (record != nullptr && record->loss && std::isfinite(*record->loss) && chain.loss &&
      step.stat(*plan.loss()) == nullptr)
    chain.loss = false;
  if (record != nullptr && record->finite) chain.gradient = false;
  chain.passed = std::move(seen);
  std::vector<TensorId> way;
  for (TensorId id = end.value_or(last);;) {
    way.push_back(id);
    const auto from = came_from.find(id);
    if (from == came_from.end()) break;
    id = from->second;
  }
  std::reverse(way.begin(), way.end());
  for (const TensorId id : way) {
    const PlanNode* made_by = plan.producer(id);
    std::string title = made_by != nullptr ? made_by->record.name : plan.title(id);
    if (step.stat(id, root.micro_batch) == nullptr) title += " (not observed)";
    chain.nodes.push_back(std::move(title));
  }
  if (chain.nodes.size() > longest_chain) {
    const std::size_t left = chain.nodes.size() - longest_chain;
    chain.nodes.erase(chain.nodes.begin() + longest_chain / 2, chain.nodes.end() - longest_chain / 2);
    chain.nodes.insert(chain.nodes.begin() + longest_chain / 2, fmt::format("({} more)", left));
  }
  return chain;
}

std::vector<Operand> operands_of(const Evidence& evidence, const ObservedStep& step, const PlanNode& node,
                                 std::int64_t micro_batch) {
  std::vector<Operand> list;
  for (std::size_t i = 0; i < node.inputs.size(); ++i) {
    Operand operand;
    if (i < node.record.inputs.size()) operand.format = node.record.inputs[i].format;
    if (!node.inputs[i]) {
      operand.tensor = "(which one is not recorded)";
      list.push_back(std::move(operand));
      continue;
    }
    operand.tensor = evidence.plan().title(*node.inputs[i]);
    if (const Stat* stat = step.stat(*node.inputs[i], micro_batch)) {
      operand.observed = true;
      operand.elements = stat->elements;
      operand.not_finite = stat->bad();
      // As it is read: what was counted is of before its rounding.
      operand.greatest_magnitude = stat->overflowed > 0 ? stat->greatest : rounded_to(stat->greatest, evidence.plan().format(*node.inputs[i]));
    }
    list.push_back(std::move(operand));
  }
  return list;
}

const PlanNode* next_of(const PlanView& plan, TensorId tensor, const std::vector<std::string>& operations, int depth) {
  for (const std::size_t reader : plan.readers(tensor)) {
    const PlanNode& node = plan.nodes()[reader];
    const std::string& op = node.record.operation;
    if (node.record.phase != Phase::forward) continue;
    if (std::find(operations.begin(), operations.end(), op) != operations.end()) return &node;
    const bool passes = is_view_or_cast(node) || op == "add" || op == "sub" || op == "scale" || op == "mul" ||
                        op == "div" || op == "where" || op == "masked_fill" || op == "causal_mask" || op == "split" ||
                        op == "cat" || op == "select" || op == "dropout";
    if (depth <= 0 || !passes) continue;
    for (const TensorId output : node.outputs)
      if (const PlanNode* found = next_of(plan, output, operations, depth - 1)) return found;
  }
  return nullptr;
}

}  // namespace ulpscope::reports
