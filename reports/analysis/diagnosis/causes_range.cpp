// Values that are too large for the format they are stored in, and divisions by zero.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

/// A value this many times as large as in all earlier observed steps is a sudden one.
constexpr double sudden = 100.0;

/// Elements that this operation made not finite.
std::int64_t here(const Suspect& s) {
  return s.root.how == Root::How::rounding ? s.root.stat->overflowed : s.root.stat->bad();
}

/// Data that are suddenly far larger than in the steps observed before.
void add_sudden_data(const Suspect& s, Cause& cause) {
  for (const auto& [id, stat] : s.step.all) {
    const TensorRecord* record = s.evidence.plan().tensor(id);
    if (record == nullptr || record->node || record->role != TensorRole::input || stat.greatest <= 0.0) continue;
    double before = 0.0;
    std::int64_t seen = -1;
    for (const ObservedStep& earlier : s.evidence.observed()) {
      if (earlier.step >= s.step.step) break;
      if (const Stat* was = earlier.stat(id)) {
        before = std::max(before, was->greatest);
        seen = earlier.step;
      }
    }
    if (seen < 0 || before <= 0.0 || stat.greatest < sudden * before) continue;
    cause.what += fmt::format("; the batch is the odd one: {} holds {}, {} times what it held in step {}", record->name,
                              amount(stat.greatest), amount(stat.greatest / before), shown(seen));
    cause.facts.push_back(fact("sudden_data", "sudden data", stat.greatest / before,
                               fmt::format("{}: {} before, {} in step {}", record->name, amount(before),
                                           amount(stat.greatest), shown(s.step.step))));
    return;
  }
}

void add_bf16(const Suspect& s, Cause& cause) {
  if (s.output_format() != Format::fp16 || s.root.how != Root::How::rounding) return;
  const bool fits = s.root.stat->greatest < limit(Format::bf16);
  cause.facts.push_back(fact("bf16", "in bf16", s.root.stat->greatest,
                             fits ? "it fits: bf16 has fp32's range" : "it does not fit either", Provenance::computed));
}

/// What the operation read, where its result is more than fp32 holds: its size before that was not recorded.
std::string beyond_fp32(const Suspect& s, Cause& cause) {
  std::string reads;
  for (std::size_t i = 0; i < s.node().inputs.size(); ++i)
    if (const Stat* stat = s.input(i); stat != nullptr && stat->greatest > 0.0)
      reads += fmt::format("{}{}", reads.empty() ? "" : " and ", amount(stat->greatest));
  cause.facts.push_back(fact("beyond_fp32", "beyond fp32", "no format here has a wider range"));
  return fmt::format("more than fp32 holds{}", reads.empty() ? "" : ", from inputs up to " + reads + " in magnitude");
}

/// Whether inputs of this size can make a result that fp32 does not hold. If they cannot, size is not what made it
/// infinite.
bool can_leave_fp32(const Suspect& s) {
  const std::string& op = s.node().record.operation;
  double size = 1.0, count = 1.0;
  for (std::size_t i = 0; i < s.node().inputs.size(); ++i) {
    const Stat* stat = s.input(i);
    if (stat == nullptr) continue;
    size = std::max(size, stat->greatest);
    count = std::max(count, static_cast<double>(stat->elements));
    if (op == "div" && i == 1 && stat->least > 0.0) size = std::max(size, 1.0 / stat->least);
  }
  if (op == "exp") return size >= 88.0;
  if (op == "scale") size = std::max(size, std::fabs(number(s.node(), "factor").value_or(HUGE_VAL)));
  return 3.0 * std::log2(size) + std::log2(count) >= 127.0;
}

void forward(const Suspect& s, Cause& cause) {
  const PlanView& plan = s.evidence.plan();
  const PlanNode& node = s.node();
  const bool cast = node.record.operation == "cast" && !node.inputs.empty() && node.inputs.front();
  const TensorRecord* source = cast ? plan.tensor(plan.uncast(*node.inputs.front())) : nullptr;
  const bool weight = source != nullptr && !source->node &&
                      (source->role == TensorRole::weight || source->role == TensorRole::master_weight);
  cause.kind = weight ? Kind::weight_too_large : Kind::activation_too_large;
  const std::string size = s.root.how == Root::How::rounding
                               ? held_against_limit(s.root.stat->greatest, s.output_format())
                               : beyond_fp32(s, cause);
  cause.what = fmt::format("{} ({}, {}): {} of {} {} not fit {}: {}", node.record.name, node.record.operation,
                           name(node.record.phase), here(s), counted(s.root.stat->elements, "element"),
                           here(s) == 1 ? "does" : "do", name(s.output_format()), size);
  if (source != nullptr && !source->node && !weight)
    cause.what += fmt::format("; {} comes in that large", source->name);
  if (node.record.operation == "add" && s.input(0) != nullptr && s.input(1) != nullptr)
    cause.what += fmt::format("; operands of {} and {} in magnitude: each fits, their sum does not", amount(s.input(0)->greatest),
                              amount(s.input(1)->greatest));
  const auto scaled = [&](const auto& input) { return input && plan.carries_scale(*input); };
  if (node.record.phase == Phase::backward && std::none_of(node.inputs.begin(), node.inputs.end(), scaled))
    cause.what += "; a gradient is multiplied by it, and it is computed from results of the forward pass alone";
  if (s.evidence.scales()) cause.what += ". The loss scale has no part in it: lowering it cannot help";
  tell_average(s, cause);
  add_sudden_data(s, cause);
  add_bf16(s, cause);
  if (is_product(node) && s.input(0) != nullptr && s.input(1) != nullptr &&
      s.evidence.plan().tensor(*node.inputs[1]) != nullptr) {
    const auto& shape = node.record.inputs.front().shape;
    if (node.record.operation == "matmul" && !shape.empty())
      cause.facts.push_back(fact(
          "operand_limit", "limit on operands", std::sqrt(limit(s.output_format()) / static_cast<double>(shape.back())),
          fmt::format("two equal operands of length {} may reach {} each", shape.back(),
                      amount(std::sqrt(limit(s.output_format()) / static_cast<double>(shape.back())))),
          Provenance::computed));
  }
}

void backward(const Suspect& s, Cause& cause) {
  const double scale = s.evidence.scale(s.step.step);
  cause.kind = Kind::gradient_too_large_for_scale;
  const double unscaled = s.root.stat->greatest / scale;
  cause.what =
      fmt::format("{} ({}, {}): {} of {} {} not fit {}: {}", s.node().record.name, s.node().record.operation,
                  name(s.node().record.phase), here(s), counted(s.root.stat->elements, "element"),
                  here(s) == 1 ? "does" : "do", name(s.output_format()),
                  s.root.how == Root::How::rounding ? held_against_limit(s.root.stat->greatest, s.output_format())
                                                    : beyond_fp32(s, cause));
  if (!s.evidence.scales()) {
    cause.what += ". The run does not scale its loss: the gradient itself is that large";
  } else {
    cause.what += fmt::format(", at a loss scale of {}", scale_amount(scale));
    cause.facts.push_back(fact("loss_scale", "loss scale", scale, scale_amount(scale)));
    if (s.root.how == Root::How::rounding) {
      cause.what += fmt::format("; unscaled it is {}", amount(unscaled));
      cause.facts.push_back(fact("unscaled_gradient", "unscaled", unscaled, amount(unscaled), Provenance::computed));
    }
  }
  add_bf16(s, cause);
}

struct Constant {
  std::string words{};             ///< "1e-08 of eps"; empty: there is none
  const PlanNode* in = nullptr;    ///< the operation that reads it as a zero
};

/// The constant upstream of a divisor that was rounded to zero.
Constant flushed_constant(const Suspect& s, TensorId tensor, const PlanNode& reader, int depth) {
  const PlanNode* made_by = s.evidence.plan().producer(tensor);
  if (made_by == nullptr || depth <= 0) return {};
  const Stat* out = made_by->outputs.empty() ? nullptr : s.step.stat(made_by->outputs.front(), s.root.micro_batch);
  if (made_by->record.operation == "cast" && out != nullptr && out->flushed > 0 && !made_by->inputs.empty() &&
      made_by->inputs.front() && s.evidence.plan().is_source(s.evidence.plan().uncast(*made_by->inputs.front())))
    return {fmt::format("{} of {}", amount(out->least), s.evidence.plan().title(s.evidence.plan().uncast(*made_by->inputs.front()))), &reader};
  for (const auto& input : made_by->inputs)
    if (input)
      if (Constant found = flushed_constant(s, *input, is_view_or_cast(*made_by) ? reader : *made_by, depth - 1); found.in != nullptr) return found;
  return {};
}

/// What was rounded to zero when it was made, on the way through a cast, a view or a factor to the tensor; none if the zeros came otherwise.
std::optional<TensorId> flushed_in(const Suspect& s, TensorId tensor) {
  for (int depth = 0; depth < 8; ++depth) {
    const PlanNode* made_by = s.evidence.plan().producer(tensor);
    const Stat* stat = s.step.stat(tensor, s.root.micro_batch);
    if (made_by == nullptr || stat == nullptr || stat->stored_zero() == 0) return std::nullopt;
    if (stat->flushed > 0) return tensor;
    const std::string& op = made_by->record.operation;
    if ((!is_view_or_cast(*made_by) && op != "scale" && op != "sqrt") || made_by->inputs.empty() || !made_by->inputs.front()) return std::nullopt;
    tensor = *made_by->inputs.front();
  }
  return std::nullopt;
}

/// The fault is where the value vanished, not where its zero is met.
void below_range(const Suspect& s, TensorId tensor, const std::string& doing, Cause& cause) {
  const PlanNode& flusher = *s.evidence.plan().producer(tensor);
  const Stat& stat = *s.step.stat(tensor, s.root.micro_batch);
  const Format format = s.evidence.plan().format(tensor);
  cause.kind = Kind::activation_below_range;
  cause.what =
      fmt::format("{} ({}, {}): {} of {} {} rounded to zero in {} (the least was {}, and {} is the end of its range); "
                  "{} then {}",
                  flusher.record.name, flusher.record.operation, name(flusher.record.phase), stat.flushed,
                  counted(stat.elements, "element"), stat.flushed == 1 ? "was" : "were", name(format),
                  amount(stat.least), amount(info(format).flush_threshold), s.node().record.name, doing);
  cause.facts.push_back(fact("flushed", "rounded to zero", static_cast<double>(stat.flushed),
                             fmt::format("{} of {}", stat.flushed, counted(stat.elements, "element"))));
  cause.node = flusher.record.name;
  cause.operation = flusher.record.operation;
  cause.phase = std::string(name(flusher.record.phase));
  cause.tensor = s.evidence.plan().title(tensor);
  cause.format = name(format);
  cause.operands = operands_of(s.evidence, s.step, flusher, s.root.micro_batch);
  cause.chain.insert(cause.chain.begin(), flusher.record.name);
}

}  // namespace

Known divisor_cause(const Suspect& s, Cause& cause) {
  const std::string& op = s.node().record.operation;
  const bool divides = op == "div" || (op == "expand" && s.node().inputs.size() > 1);
  const bool root = op == "sqrt_backward" || op == "rsqrt";
  const std::size_t place = divides ? 1 : 0;
  if (s.root.how != Root::How::arithmetic || (!divides && !root && op != "log")) return Known::no;
  const Stat* divisor = s.input(place);
  if (divisor == nullptr || divisor->stored_zero() == 0) return Known::no;
  const std::string of = s.evidence.plan().title(*s.node().inputs[place]);
  const std::string doing = divides ? "divides by zero"
                            : root  ? "divides by a root that is zero"
                                    : "takes the logarithm of zero";
  cause.facts.push_back(fact("met_by", "met by", s.node().record.name));
  cause.facts.push_back(fact("zeros", "zeros in " + of, static_cast<double>(divisor->stored_zero()),
                             fmt::format("{} of {}", divisor->stored_zero(), divisor->elements)));
  if (const Constant constant = flushed_constant(s, *s.node().inputs[place], s.node(), 6); constant.in != nullptr) {
    cause.kind = Kind::epsilon_vanished;
    cause.what = fmt::format("{} {}: the epsilon {} is 0 in its format", s.node().record.name, doing, constant.words);
    if (constant.in != &s.node()) {
      cause.what += fmt::format(", where {} ({}) reads it", constant.in->record.name, constant.in->record.operation);
      cause.facts.push_back(fact("vanished_in", "vanished in", constant.in->record.name));
    }
  } else if (const std::optional<TensorId> flushed = flushed_in(s, *s.node().inputs[place])) {
    below_range(s, *flushed, doing, cause);
  } else if (divisor->flushed > 0) {
    cause.kind = Kind::activation_below_range;
    cause.what = fmt::format("{} {}: {} of {} were rounded to zero in {}", s.node().record.name, doing,
                             divisor->flushed, counted(divisor->elements, "element"), of);
  } else {
    cause.kind = Kind::zero_divisor;
    cause.what = fmt::format("{} {}: {} of {} of {} {} 0", s.node().record.name, doing, divisor->stored_zero(),
                             counted(divisor->elements, "element"), of, divisor->stored_zero() == 1 ? "is" : "are");
    tell_cancelled(s, *s.node().inputs[place], cause);
    if (s.evidence.scales() && s.node().record.phase == Phase::backward)
      cause.what += ". The loss scale has no part in it: lowering it cannot help";
  }
  return Known::yes;
}

Known range_cause(const Suspect& s, Cause& cause) {
  if (s.root.stat == nullptr || s.root.how == Root::How::inner) return Known::no;
  // From finite inputs a NaN comes of 0 / 0, inf - inf and the like inside: not of size.
  if (s.root.how == Root::How::arithmetic && (s.root.stat->nan > 0 || !s.root.inputs_known)) return Known::no;
  if (s.node().record.phase == Phase::update) return Known::no;
  if (s.root.how == Root::How::arithmetic && !can_leave_fp32(s)) return Known::no;
  (s.carries_scale() ? backward : forward)(s, cause);
  return Known::yes;
}

}  // namespace ulpscope::reports
