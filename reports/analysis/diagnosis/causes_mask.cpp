// Masks before a softmax: constants that do not fit, and finite ones that a score pushes over the edge. A row that
// keeps a finite score is safe, and nothing is said of it.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

constexpr int way_to_softmax = 8;
/// A mask is near the edge of a format: within a factor of 4 of its largest finite number.
constexpr double near_edge = 4.0;

struct Rows {
  bool known = false;
  std::int64_t without_score = 0;
  std::int64_t all = 0;
};

Rows rows_of(const Suspect& s, const PlanNode& softmax) {
  if (softmax.outputs.empty()) return {};
  const Stat* stat = s.step.stat(softmax.outputs.front(), s.root.micro_batch);
  const TensorRecord* record = s.evidence.plan().tensor(softmax.outputs.front());
  if (stat == nullptr || record == nullptr || record->shape.empty() || record->shape.back() <= 0) return {};
  return {true, stat->nan / record->shape.back(), stat->elements / record->shape.back()};
}

/// How many rows this fault can leave without a score: where a mask is broadcast, one element of it stands for many.
std::int64_t at_most(const Suspect& s, const PlanNode& softmax, std::int64_t elements) {
  const TensorRecord* result = s.evidence.plan().tensor(softmax.outputs.front());
  const TensorRecord* here = s.evidence.plan().tensor(s.root.tensor);
  if (result == nullptr || here == nullptr || result->shape.empty() || result->shape.back() <= 0) return 0;
  const std::int64_t times = std::max<std::int64_t>(
      1, ulpscope::reports::elements(result->shape) / std::max<std::int64_t>(1, ulpscope::reports::elements(here->shape)));
  return elements * times / result->shape.back();
}

std::string share_words(std::int64_t most) {
  return fmt::format(" (this alone makes {} of them)", most == 0 ? "none" : fmt::format("at most {}", most));
}

void add_rows(const Suspect& s, const Rows& rows, const PlanNode& softmax, std::int64_t elements, Cause& cause) {
  if (!rows.known) {
    cause.what += fmt::format("; whether a row of {} keeps a finite score was not observed", softmax.record.name);
    return;
  }
  const std::int64_t most = at_most(s, softmax, elements);
  cause.what += fmt::format("; rows with no finite score: {} of {}{}; NaN begins in {} of those rows", rows.without_score,
                            rows.all, most < rows.without_score ? share_words(most) : "", softmax.record.name);
  if (most < rows.without_score)
    cause.facts.push_back(fact("rows_by_this", "rows by this alone", static_cast<double>(most), fmt::format("at most {} of them", most), Provenance::computed));
  cause.facts.push_back(fact("rows_without_score", "rows with no finite score", static_cast<double>(rows.without_score),
                             fmt::format("{} of {} in {}", rows.without_score, rows.all, softmax.record.name)));
}

bool negative(const Stat* stat) {
  return stat != nullptr && ((stat->mean && *stat->mean < 0.0) || stat->negative_infinite > 0);
}

/// Greatest magnitude as it is stored: what overflowed is infinite, the rest ends at the format's largest finite.
double stored(const Suspect& s, std::size_t input) {
  const Stat& stat = *s.input(input);
  return std::min(stat.greatest, info(s.evidence.plan().format(*s.node().inputs[input])).max_finite);
}

/// The constant that a cast or a fill writes; nothing if the node is neither.
std::optional<double> constant_of(const Suspect& s) {
  const std::string& op = s.node().record.operation;
  if (op == "masked_fill" || op == "causal_mask") {
    const Number value = number(s.node(), "value");
    const bool negative_value = value && *value < 0.0;
    if (op == "causal_mask" && !value) return -HUGE_VAL;
    return negative_value ? value : std::nullopt;
  }
  if (op != "cast" || s.node().inputs.empty() || !s.node().inputs.front()) return std::nullopt;
  const TensorId source = s.evidence.plan().uncast(*s.node().inputs.front());
  const TensorRecord* record = s.evidence.plan().tensor(source);
  if (!s.evidence.plan().is_source(source) || record == nullptr || record->role != TensorRole::input ||
      !negative(s.input(0)))
    return std::nullopt;
  return -s.input(0)->greatest;
}

constexpr double seen = 0.1;       ///< of a score: a tenth more or less is a tenth of its share
constexpr double vanishes = 104.0;  ///< exp(-104) is 0 in fp32

/// What a sum of scores and a mask of zeros and one large negative number does to rows that are masked throughout.
struct Swallowing {
  double mask = 0.0, step = 0.0;  ///< the mask's magnitude, and what lies between two numbers of the format there
  double spread = 0.0;            ///< standard deviation of the scores
  std::int64_t rows = 0, all = 0;
};

std::optional<Swallowing> swallowing(const Evidence& e, const ObservedStep& step, const PlanNode& add, std::size_t place) {
  const PlanNode* softmax = next_of(e.plan(), add.outputs.front(), {"softmax"}, way_to_softmax);
  const Stat *mask = step.stat(*add.inputs[place]), *scores = step.stat(*add.inputs[1 - place]), *sum = step.stat(add.outputs.front());
  const Stat* shares = softmax == nullptr || softmax->outputs.empty() ? nullptr : step.stat(softmax->outputs.front());
  const TensorRecord* record = shares == nullptr ? nullptr : e.plan().tensor(softmax->outputs.front());
  if (mask == nullptr || scores == nullptr || sum == nullptr || record == nullptr || record->shape.empty() || record->shape.back() <= 0) return std::nullopt;
  if (mask->bad() + scores->bad() + sum->bad() + shares->bad() > 0 || mask->zero == mask->elements || !negative(mask) || !scores->mean || !scores->rms) return std::nullopt;
  if (mask->least != mask->greatest || mask->greatest < vanishes + 2.0 * scores->greatest) return std::nullopt;
  const Format format = e.plan().format(add.outputs.front());
  Swallowing s{.mask = rounded_to(mask->greatest, format), .spread = std::sqrt(std::max(0.0, *scores->rms * *scores->rms - *scores->mean * *scores->mean))};
  s.step = 2.0 * half_ulp_above(s.mask, format);
  if (s.step < seen || s.spread < seen || 2.0 * half_ulp_above(s.mask, Format::fp32) >= seen) return std::nullopt;
  // Masked beside a score that is not, a share is 0; in a row without one it is not.
  const std::int64_t masked = (mask->elements - mask->zero) * (shares->elements / mask->elements), length = record->shape.back();
  s.rows = std::max<std::int64_t>(0, masked - shares->stored_zero()) / length;
  s.all = shares->elements / length;
  return s.rows > 0 ? std::optional(s) : std::nullopt;
}

void swallowed_scores(const Evidence& e, const ObservedStep& step, const PlanNode& add, std::vector<Cause>& causes) {
  const bool sums = add.record.operation == "add" && add.record.phase == Phase::forward && add.inputs.size() == 2 && add.inputs[0] && add.inputs[1] && !add.outputs.empty();
  if (!sums || !is_16bit(e.plan().format(add.outputs.front()))) return;
  std::optional<Swallowing> s = swallowing(e, step, add, 0);
  if (!s) s = swallowing(e, step, add, 1);
  if (!s) return;
  const auto known = std::find_if(causes.begin(), causes.end(), [&](const Cause& c) { return c.kind == Kind::mask_sum && c.node == add.record.name; });
  if (known != causes.end()) {
    known->steps_seen += known->step == step.step ? 0 : 1;
    return;
  }
  Cause cause;
  cause.kind = Kind::mask_sum;
  cause.gravity = Gravity::damage;
  cause.step = step.step;
  cause.node = add.record.name;
  cause.operation = add.record.operation;
  cause.phase = std::string(name(add.record.phase));
  cause.tensor = e.plan().title(add.outputs.front());
  cause.format = name(e.plan().format(add.outputs.front()));
  cause.what = fmt::format("the mask of -{} swallows scores in {}: in {} numbers of that size are {} apart, and the scores, which spread by {} (standard deviation), are lost in "
                           "the sum. {} of {} {} masked throughout: their shares are equal there, or nearly so, and in fp32, where the step is {}, they are those of the scores",
                           amount(s->mask), add.record.name, cause.format, amount(s->step), amount(s->spread), s->rows, counted(s->all, "row"), s->rows == 1 ? "is" : "are",
                           amount(2.0 * half_ulp_above(s->mask, Format::fp32)));
  cause.reaches = "what follows, as finite numbers that are wrong";
  cause.operands = operands_of(e, step, add, 0);
  cause.facts.push_back(fact("mask", "mask", -s->mask, amount(-s->mask)));
  cause.facts.push_back(fact("step", "step of the format there", s->step, amount(s->step), Provenance::computed));
  cause.facts.push_back(fact("spread", "spread of the scores", s->spread, amount(s->spread), Provenance::computed));
  cause.facts.push_back(fact("rows_masked", "rows masked throughout", static_cast<double>(s->rows),
                             fmt::format("{} of {}, by the shares that are not 0 though they are masked", s->rows, s->all), Provenance::inferred));
  causes.push_back(std::move(cause));
}

}  // namespace

void silent_mask_causes(const Evidence& e, std::vector<Cause>& causes) {
  for (const ObservedStep& step : e.observed())
    for (const PlanNode& node : e.plan().nodes()) swallowed_scores(e, step, node, causes);
}

void tell_mask_rows_apart(std::vector<Cause>& causes) {
  const auto of = [](Cause& cause, const char* key) -> Fact* {
    const auto found = std::find_if(cause.facts.begin(), cause.facts.end(), [&](const Fact& f) { return f.key == key; });
    return found == cause.facts.end() ? nullptr : &*found;
  };
  for (Cause& cause : causes) {
    Fact* const share = of(cause, "rows_by_this");
    const Fact* const all = of(cause, "rows_without_score");
    if (share == nullptr || all == nullptr || cause.others > 0) continue;
    double left = all->value.value_or(0.0);
    for (Cause& other : causes) {
      const Fact* const rows = of(other, "rows_without_score");
      if (&other != &cause && rows != nullptr && other.step == cause.step && rows->text == all->text)
        left -= other.others > 0 || of(other, "rows_by_this") == nullptr ? left : of(other, "rows_by_this")->value.value_or(0.0);
    }
    if (left < *share->value || *share->value >= *all->value || *share->value == 0.0) continue;
    const auto rows = static_cast<std::int64_t>(*share->value);
    const std::string words = share_words(rows);
    if (const std::size_t at = cause.what.find(words); at != std::string::npos)
      cause.what.replace(at, words.size(), fmt::format(" ({} of them by this, the rest by what else is told of)", rows));
    share->text = fmt::format("{} of {}: what else leaves rows without a score makes at most {}", rows, amount(*all->value), amount(*all->value - *share->value));
  }
}

Known mask_cause(const Suspect& s, Cause& cause) {
  const PlanView& plan = s.evidence.plan();
  if (s.node().record.phase != Phase::forward) return Known::no;
  const PlanNode* softmax = next_of(plan, s.root.tensor, {"softmax"}, way_to_softmax);
  if (softmax == nullptr) return Known::no;
  const Rows rows = rows_of(s, *softmax);
  const std::string& op = s.node().record.operation;
  if (const auto constant = constant_of(s)) {
    if (rows.known && rows.without_score == 0) return Known::contained;
    cause.kind = Kind::mask_constant_out_of_range;
    cause.what = std::isinf(*constant) ? fmt::format("{} masks with -inf", s.node().record.name)
                                       : fmt::format("the mask constant {} does not fit {} and becomes -inf in {}",
                                                     amount(*constant), name(s.output_format()), s.node().record.name);
    add_rows(s, rows, *softmax, s.root.stat->bad(), cause);
    return Known::yes;
  }
  if (op != "add" && op != "sub") return Known::no;
  const double edge = info(s.output_format()).max_finite / near_edge;
  const auto pulls_down = [&](std::size_t i) {   // a mask that is subtracted is positive
    const Stat* stat = s.input(i);
    return op == "sub" && i == 1 ? stat != nullptr && ((stat->mean && *stat->mean > 0.0) || stat->positive_infinite > 0) : negative(stat);
  };
  std::optional<std::size_t> mask;
  for (std::size_t i = 0; i < 2; ++i) {
    if (s.input(i) == nullptr || stored(s, i) < edge || !pulls_down(i)) continue;
    if (!mask || stored(s, i) > stored(s, *mask)) mask = i;
  }
  if (!mask) return Known::no;
  const Stat* other = s.input(1 - *mask);
  const double least = -stored(s, *mask);
  if (rows.known && rows.without_score == 0) return Known::contained;
  cause.kind = Kind::mask_sum;
  const bool two = other != nullptr && stored(s, 1 - *mask) >= edge && pulls_down(1 - *mask);
  if (two)
    cause.what = fmt::format("two masks are added: {} + {} leaves {} and becomes -inf in {}", amount(least),
                             amount(-stored(s, 1 - *mask)), name(s.output_format()), s.node().record.name);
  else if (s.root.how == Root::How::rounding)
    cause.what = fmt::format("a mask of {} and a score add up to {} in {}: {} rounds that to -inf", amount(least),
                             amount(-s.root.stat->greatest), s.node().record.name, name(s.output_format()));
  else
    cause.what = fmt::format("a mask of {} and a score add up to -inf in {}", amount(least), s.node().record.name);
  cause.facts.push_back(fact("mask", "mask", least,
                             fmt::format("{} ({} ends at {})", amount(least), name(s.output_format()),
                                         amount(-info(s.output_format()).max_finite))));
  add_rows(s, rows, *softmax, s.root.how == Root::How::rounding ? s.root.stat->overflowed : s.root.stat->bad(), cause);
  return Known::yes;
}

}  // namespace ulpscope::reports
