#include "reports/analysis/diagnosis/swallowed.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

constexpr int way_to_root = 16;       ///< operations
constexpr double tail_ends = 104.0;   ///< exp(-x) is 0 in fp32 beyond it
constexpr double bend = 2.0;          ///< beyond it silu and gelu have one direction on the negative side
/// Differences from fp32 that are rounding: of a result's rms, or of the loss, 8 units of fp16's last digit.
constexpr double alike = 0x1p-8;

/// What infinite elements of a tensor are without rounding: of the infinity's sign, from lo to hi in magnitude; lo below 0: perhaps of the other.
struct Range {
  double lo = -HUGE_VAL, hi = HUGE_VAL;

  Range times(double least, double greatest) const { return {lo * (lo < 0.0 ? greatest : least), hi * greatest}; }
  Range joined(const Range& other) const { return {std::min(lo, other.lo), std::max(hi, other.hi)}; }
};

bool one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return word == w; });
}

/// Where the operation is a function of each element alone that has a limit: its value. Nothing for others.
std::optional<double> value_at(const PlanNode& node, double x) {
  const std::string& op = node.record.operation;
  const bool end = std::isinf(x);
  if (op == "tanh") return std::tanh(x);
  if (op == "sigmoid") return 1.0 / (1.0 + std::exp(-x));
  if (op == "exp") return std::exp(x);
  if (op == "relu") return std::max(x, 0.0);
  if (op == "clamp") return std::min(std::max(x, number(node, "min").value_or(-HUGE_VAL)), number(node, "max").value_or(HUGE_VAL));
  if (op == "silu") return end ? std::max(x, 0.0) : x / (1.0 + std::exp(-x));
  if (op == "gelu" || op == "gelu_tanh") return end ? std::max(x, 0.0) : 0.5 * x * std::erfc(-x / std::sqrt(2.0));
  if (op == "rsqrt") return 1.0 / std::sqrt(x);
  if (op == "reciprocal") return 1.0 / x;
  if (op == "bce_with_logits") return std::log1p(std::exp(-std::fabs(x)));
  return std::nullopt;
}

/// Hands on elements, or leaves them out: a finite result has none of those that are not.
bool picks(const PlanNode& node) {
  return one_of(node.record.operation, {"where", "masked_fill", "causal_mask", "select", "split", "embedding", "masked_mean"});
}

/// Of the step's shadow, or of the fp32 run with the same seed.
std::optional<double> loss_in_fp32(const Evidence& e, std::int64_t step) {
  if (const Number shadow = e.shadow_loss(step)) return *shadow;
  const bool same_seed = e.fp32 != nullptr && e.fp32->run().seed == e.run().seed;
  const StepRecord* twin = same_seed ? e.fp32->step(step) : nullptr;
  return twin != nullptr ? twin->loss : std::nullopt;
}

class Judge {
 public:
  Judge(const Evidence& e, const ObservedStep& step, const Root& root) : e_(e), step_(step), root_(root) {}

  Fate of(const PlanNode& node, Chain& chain) {
    if (picks(node)) return Fate::same;
    Fate worst = Fate::same;
    for (std::size_t i = 0; i < node.inputs.size(); ++i) {
      const Stat* read = stat(node.inputs[i]);
      if (read == nullptr || read->bad() == 0) continue;
      const Range range = range_of(*node.inputs[i], way_to_root);
      worst = std::max(worst, of_input(node, i, *read, range, chain));
    }
    return worst;
  }

  /// Whether fp32, in a shadow of this step or in its own run, has the same there, and comes to the same loss: a difference that is nothing
  /// beside the rest here may be made large behind it.
  bool as_in_fp32(const PlanNode& node) const {
    return !node.outputs.empty() && like_loss() && std::all_of(node.outputs.begin(), node.outputs.end(), [&](TensorId output) { return like_shadow(output) || like_twin(node, output); });
  }

 private:
  const Stat* stat(const std::optional<TensorId>& id) const { return id ? step_.stat(*id, root_.micro_batch) : nullptr; }

  Fate of_input(const PlanNode& node, std::size_t place, const Stat& read, const Range& range, Chain& chain) {
    const std::string& op = node.record.operation;
    const double most = info(e_.plan().format(*node.inputs[place])).max_finite, others = std::min(read.greatest_kept.value_or(most), most);
    if ((op == "div" || op == "expand") && place == 1) return of_division(node, range);
    if (op == "softmax" || op == "cross_entropy") return of_exponentials(node, range, others);
    if (op == "max_pool1d" || op == "max_pool2d") return range.lo >= others ? Fate::same : Fate::unknown;
    if (!value_at(node, 0.0)) return Fate::unknown;
    const bool either = read.overflowed > 0;   // which sign it has is not counted
    std::optional<Fate> all;
    for (const double sign : {1.0, -1.0}) {
      if (!either && (sign > 0.0 ? read.positive_infinite : read.negative_infinite) == 0) continue;
      const std::optional<Fate> fate = of_function(node, sign, range, chain);
      if (fate) all = !all || *all == *fate ? *fate : Fate::unknown;
    }
    return all.value_or(Fate::unknown);
  }

  /// None: the function hands the infinity on.
  std::optional<Fate> of_function(const PlanNode& node, double sign, const Range& range, Chain& chain) {
    const Format format = e_.plan().format(node.outputs.front());
    const double made = *value_at(node, sign * HUGE_VAL);
    if (!std::isfinite(made)) return std::nullopt;
    const std::string& op = node.record.operation;
    const bool bends = sign < 0.0 && (op == "silu" || op.starts_with("gelu"));
    const auto stored = [&](double magnitude) { return rounded_to(*value_at(node, sign * magnitude), format); };
    if (!(bends && range.lo < bend) && range.lo > -HUGE_VAL && stored(range.lo) == rounded_to(made, format)) return Fate::same;
    if (!std::isfinite(range.hi) || stored(range.hi) == rounded_to(made, format)) return Fate::unknown;
    chain.made = made;
    chain.would = *value_at(node, sign * range.hi);
    chain.value = sign * range.hi;
    return Fate::differs;
  }

  /// A finite number / inf is 0.
  Fate of_division(const PlanNode& node, const Range& range) const {
    const Stat* divided = stat(node.inputs.front());
    if (divided == nullptr || divided->bad() > 0) return Fate::unknown;
    const double end = info(e_.plan().format(node.outputs.front())).flush_threshold;
    if (range.lo > 0.0 && divided->greatest / range.lo <= end) return Fate::same;
    return divided->stored_zero() == 0 && divided->least / range.hi > end ? Fate::differs : Fate::unknown;
  }

  /// The share of a score that is -inf is 0.
  Fate of_exponentials(const PlanNode& node, const Range& range, double others) const {
    if (range.lo - others >= tail_ends) return Fate::same;
    const auto& shape = node.record.inputs.front().shape;
    const double row = shape.empty() ? 1.0 : static_cast<double>(std::max<std::int64_t>(shape.back(), 1));
    const double share = std::exp(-(range.hi + others)) / row;
    return share > (node.record.operation == "softmax" ? info(e_.plan().format(node.outputs.front())).flush_threshold : 0x1p-20) ? Fate::differs : Fate::unknown;
  }

  Range of_root() const {
    const PlanNode& node = *root_.node;
    if (one_of(node.record.operation, {"masked_fill", "causal_mask"})) {
      const double filled = std::fabs(number(node, "value").value_or(HUGE_VAL));
      return {filled, filled};
    }
    if (root_.how == Root::How::rounding) return root_.stat->nan + root_.stat->infinite() > 0 ? Range{} : Range{limit(e_.plan().format(root_.tensor)), root_.stat->greatest};
    if (root_.how == Root::How::inner) {
      const Stat* x = node.inputs.empty() ? nullptr : stat(node.inputs.front());
      const bool mean = node.record.operation == "mean", sum = node.record.operation.starts_with("sum");
      if (x == nullptr || x->bad() > 0 || (!mean && !sum)) return {};
      const double most = x->greatest * (sum ? static_cast<double>(reduced_elements(node)) : 1.0);
      return {-most, most};
    }
    if (root_.stat == nullptr || root_.stat->nan > 0) return {};
    const std::string& op = node.record.operation;
    const bool divides = op == "div" || op == "expand", at_zero = divides || one_of(op, {"log", "rsqrt", "reciprocal"});
    const std::size_t place = divides && node.inputs.size() > 1 ? 1 : 0;
    const Stat* met = at_zero && place < node.inputs.size() ? stat(node.inputs[place]) : nullptr;
    if (met != nullptr && met->stored_zero() > 0) return exactly_zero(*node.inputs[place]) ? Range{HUGE_VAL, HUGE_VAL} : Range{};
    return {info(Format::fp32).max_finite, HUGE_VAL};
  }

  /// Zeros that no rounding made: they come in, or a bound or a mask put them there.
  bool exactly_zero(TensorId tensor) const {
    for (int i = 0; i < way_to_root; ++i) {
      const Stat* seen = stat(tensor);
      const PlanNode* made_by = e_.plan().producer(tensor);
      if (seen == nullptr || seen->flushed > 0) return false;
      if (made_by == nullptr) return true;
      const std::string& op = made_by->record.operation;
      if (one_of(op, {"relu", "clamp", "where", "masked_fill"})) return true;
      if ((!is_view_or_cast(*made_by) && op != "scale" && op != "sqrt") || made_by->inputs.empty() || !made_by->inputs.front()) return false;
      tensor = *made_by->inputs.front();
    }
    return false;
  }

  Range range_of(TensorId tensor, int depth) const {
    if (tensor == root_.tensor) return of_root();
    const PlanNode* node = e_.plan().producer(tensor);
    const Stat* here = stat(tensor);
    if (node == nullptr || here == nullptr || depth == 0) return {};
    std::optional<std::size_t> from;
    for (std::size_t i = 0; i < node->inputs.size(); ++i) {
      const Stat* read = stat(node->inputs[i]);
      if (read == nullptr && node->inputs[i] && is_float(e_.plan().format(*node->inputs[i]))) return {};
      if (read == nullptr || read->bad() == 0) continue;
      if (from) return {};
      from = i;
    }
    if (!from) return {};
    const Range passed = through(*node, *from, range_of(*node->inputs[*from], depth - 1));
    return here->overflowed > 0 ? passed.joined({limit(e_.plan().format(tensor)), here->greatest}) : passed;
  }

  /// What an operation that hands an infinity on makes of the value itself.
  Range through(const PlanNode& node, std::size_t from, const Range& r) const {
    const std::string& op = node.record.operation;
    if (is_view_or_cast(node) || picks(node) || one_of(op, {"cat", "relu", "clamp"}) || (op == "expand" && node.inputs.size() == 1)) return r;
    if (op == "scale") {
      const double factor = std::fabs(number(node, "factor").value_or(NAN));
      return std::isfinite(factor) ? r.times(factor, factor) : Range{};
    }
    const Stat* other = node.inputs.size() == 2 ? stat(node.inputs[1 - from]) : nullptr;
    if (other == nullptr || other->bad() > 0) return {};
    if (op == "add" || op == "sub") return {r.lo - other->greatest, r.hi + other->greatest};
    if (other->stored_zero() > 0 || !(other->least > 0.0)) return {};
    if (op == "mul") return r.times(other->least, other->greatest);
    if ((op == "div" || op == "expand") && from == 0) return r.times(1.0 / other->greatest, 1.0 / other->least);
    return {};
  }

  bool like_loss() const {
    const StepRecord* here = e_.step(step_.step);
    const std::optional<double> loss = loss_in_fp32(e_, step_.step);
    if (here == nullptr || !here->loss || !loss) return true;   // nothing is known against it
    return std::fabs(*here->loss - *loss) <= alike * std::max(std::fabs(*loss), std::fabs(*here->loss));
  }

  /// By the difference of the whole tensor: no element can have more of it.
  bool like_shadow(TensorId output) const {
    const Stat* here = stat(output);
    return here != nullptr && here->shadow_error && std::sqrt(static_cast<double>(here->elements)) * *here->shadow_error <= alike;
  }

  /// By mean and mean square of the same step, as if one element alone had all of their difference.
  bool like_twin(const PlanNode& node, TensorId output) const {
    const ObservedStep* step = e_.fp32 != nullptr && e_.fp32->run().seed == e_.run().seed ? e_.fp32->observed_step(step_.step) : nullptr;
    const PlanNode* twin = step != nullptr ? e_.fp32->plan().node(node.record.name) : nullptr;
    const auto place = static_cast<std::size_t>(std::find(node.outputs.begin(), node.outputs.end(), output) - node.outputs.begin());
    const Stat* there = twin != nullptr && place < twin->outputs.size() ? step->stat(twin->outputs[place], root_.micro_batch) : nullptr;
    const Stat* here = stat(output);
    // Rows that add up to 1 whatever is in them: their mean tells nothing.
    if (node.record.operation == "softmax" || here == nullptr || there == nullptr || !here->mean || !there->mean || !here->rms || !there->rms) return false;
    const auto n = static_cast<double>(here->elements);
    const double rms = *there->rms;
    return here->elements == there->elements && there->bad() == 0 && n * std::fabs(*here->mean - *there->mean) <= alike * rms &&
           n * std::fabs(*here->rms * *here->rms - rms * rms) <= 2.0 * alike * rms * rms;
  }

  const Evidence& e_;
  const ObservedStep& step_;
  const Root& root_;
};

}  // namespace

void judge_swallowed(const Evidence& e, const ObservedStep& step, const Root& root, Chain& chain) {
  if (root.node == nullptr || root.node->record.phase != Phase::forward || chain.loss || chain.gradient || chain.weights) return;
  Judge judge(e, step, root);
  for (const PlanNode* node : chain.swallowed_in) {
    if (!e.plan().feeds_loss(*node) || (root.how == Root::How::inner && node == root.node && is_norm(*node))) continue;
    Chain told;
    Fate fate = root.how == Root::How::inner && node == root.node ? Fate::unknown : judge.of(*node, told);
    if (fate != Fate::same && judge.as_in_fp32(*node)) fate = Fate::same;
    if (fate < chain.fate || (fate == chain.fate && chain.changed_in != nullptr)) continue;
    chain.made.reset();
    if (fate == Fate::differs) {
      chain.made = told.made;
      chain.would = told.would;
      chain.value = told.value;
    }
    chain.fate = fate;
    chain.changed_in = node;
  }
  if (chain.unseen_in != nullptr && chain.fate == Fate::same) {
    chain.fate = Fate::unknown;
    chain.changed_in = nullptr;
  }
  // A divisor that makes the same zero as the value itself harms nothing.
  if (chain.zeroed_in != nullptr && chain.fate == Fate::same) chain.zeroed_in = nullptr;
}

namespace {

std::string beside(const Suspect& s, Cause& cause) {
  const std::int64_t at = s.step.step;
  const StepRecord* here = s.evidence.step(at);
  const std::optional<double> known = loss_in_fp32(s.evidence, at);
  if (here == nullptr || !here->loss || !known) return "";
  const bool shadow = s.evidence.shadow_loss(at).has_value();
  const double fp32 = *known;
  cause.facts.push_back(fact("fp32_loss", "loss in fp32", fp32, fmt::format("{} in step {}, here {}", amount(fp32), shown(at), amount(*here->loss)),
                             shadow ? Provenance::recomputed : Provenance::counted));
  return fmt::format("; the loss of step {} is {}, in fp32 it is {}", shown(at), amount(*here->loss), amount(fp32));
}

}  // namespace

void tell_swallowed(const Suspect& s, Cause& cause) {
  const Chain& chain = s.chain;
  if (chain.fate == Fate::same && chain.changed_in != nullptr && !picks(*chain.changed_in))
    cause.what += fmt::format("; {} ({}) makes the same of it as of the value itself", chain.changed_in->record.name, chain.changed_in->record.operation);
  if (chain.fate == Fate::same) return;
  const PlanNode* node = chain.changed_in != nullptr ? chain.changed_in : chain.unseen_in;
  const std::string who = fmt::format("{} ({})", node->record.name, node->record.operation);
  if (chain.zeroed_in == nullptr) cause.reaches = fmt::format("what is computed from {}, as finite numbers: no NaN, no inf", node->record.name);
  cause.facts.push_back(fact("swallowed_in", "made finite in", who));
  const std::string loss = beside(s, cause);
  if (chain.fate == Fate::differs) {
    if (chain.made) {
      cause.facts.push_back(fact("made", "of the infinity", *chain.made, amount(*chain.made), Provenance::computed));
      cause.facts.push_back(fact("would", "of the value itself", *chain.would, fmt::format("{} of {}", amount(*chain.would), amount(*chain.value)), Provenance::computed));
      cause.what += fmt::format("; {} makes {} of the infinity, and {} of {}, the most that the value comes to without rounding", who, amount(*chain.made), amount(*chain.would), amount(*chain.value));
    } else if (chain.zeroed_in == nullptr) {
      cause.what += fmt::format("; {} makes finite numbers of the infinity that are not those of the value itself", who);
    }
  } else {
    cause.facts.push_back(fact("may_change", "changed", "not known: of the value itself the same may come"));
    cause.what += chain.changed_in != nullptr ? fmt::format("; {} makes finite numbers of it, and whether they are those of the value itself is not known", who)
                                              : fmt::format("; behind {}, which was not observed, it is finite again, and whether as the value itself is not known", who);
    if (loss.empty()) cause.what += ": an fp32 run in the file (run.modes) or a shadow (observe.shadow) would tell more";
  }
  cause.what += loss;
}

}  // namespace ulpscope::reports
