// Sums that swallow what is added to them: inside an operation, and over the micro-batches of a step.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

constexpr double much_missing = 0.01;      ///< of the sum
constexpr double much_swallowed = 0.10;    ///< of the additions, where what is missing is not known
constexpr double little_swallowed = 0.01;  ///< not worth a word
constexpr std::int64_t most_accumulators = 3;  ///< that are told apart: one setting is behind them all

/// What the sums came to and what they should have come to, by the means of what went in and out.
struct Totals {
  double got = 0.0, expected = 0.0;  ///< each result, on average
  double missing() const { return expected == 0.0 ? 0.0 : 1.0 - got / expected; }
};

/// The norm of all gradients, and what it is by their rms.
std::optional<Totals> norms(const ObservedStep& step, const PlanNode& node, const Stat& out) {
  double squares = 0.0;
  for (const auto& input : node.inputs) {
    const Stat* stat = input ? step.stat(*input) : nullptr;
    if (stat == nullptr || !stat->rms || stat->bad() > 0) return std::nullopt;
    squares += *stat->rms * *stat->rms * static_cast<double>(stat->elements);
  }
  return out.bad() > 0 ? std::nullopt : std::optional(Totals{*out.mean, std::sqrt(squares)});
}

std::string missing_words(const Totals& sums) {
  return sums.missing() < 0.0 ? fmt::format("{} too much", percent(-sums.missing())) : fmt::format("{} is missing", percent(sums.missing()));
}

std::optional<Totals> totals(const ObservedStep& step, const PlanNode& node) {
  const Stat* out = node.outputs.empty() ? nullptr : step.stat(node.outputs.front());
  if (out == nullptr || !out->mean || out->elements == 0) return std::nullopt;
  if (node.record.operation == "global_norm") return norms(step, node, *out);
  const Stat* in = nullptr;  // what is added: the float input with most elements
  for (const auto& input : node.inputs)
    if (const Stat* stat = input ? step.stat(*input) : nullptr;
        stat != nullptr && stat->mean && (in == nullptr || stat->elements > in->elements))
      in = stat;
  if (in == nullptr || in->bad() + out->bad() > 0) return std::nullopt;
  const double n = static_cast<double>(in->elements);
  if (node.record.operation == "rms_norm") {
    const Stat* reciprocal = node.outputs.size() > 1 ? step.stat(node.outputs[1]) : nullptr;
    if (reciprocal == nullptr || !reciprocal->mean || *reciprocal->mean <= 0.0 || !in->rms) return std::nullopt;
    // Of rows that are not alike, the means say nothing about one of them.
    if (reciprocal->greatest > 1.25 * reciprocal->least) return std::nullopt;
    const double row = n / static_cast<double>(reciprocal->elements);
    return Totals{row / (*reciprocal->mean * *reciprocal->mean), row * *in->rms * *in->rms};
  }
  const std::string& op = node.record.operation;
  if (op != "sum" && op != "mean" && op != "sum_to" && op != "sum_channels" && op != "embedding_backward") return std::nullopt;
  // Where addends of both signs cancel, a share of their sum says nothing.
  if (in->rms && std::fabs(*in->mean) < 0.1 * *in->rms) return std::nullopt;
  if (op == "mean") return Totals{*out->mean, *in->mean};
  return Totals{*out->mean, *in->mean * n / static_cast<double>(out->elements)};
}

/// What sums of the backward pass are divided by to be those of gradients: the loss scale, unless some of what was added had lost it already.
struct LossScale {
  double value = 1.0;
  const char* words = "";  ///< behind a number that was divided, or that could not be
  double take_out(double x) const { return x / value; }
};

LossScale loss_scale(const Evidence& e, const ObservedStep& step, const PlanNode& node) {
  if (node.record.phase != Phase::backward || !e.scales()) return {};
  const double scale = e.scale(step.step);
  if (e.setting("unscale") == "early" || !(scale > 0.0) || !std::isfinite(scale)) return {1.0, ", as added up: scaled by the loss scale, at least in part"};
  return {scale, ", the loss scale taken out"};
}

/// A norm for clipping, and neither it nor the right one is above what is clipped: only the number is wrong.
bool clips_nothing(const PlanNode& node, const std::optional<Totals>& norms) {
  if (node.record.operation != "global_norm" || !norms) return false;
  const double most = number(node, "max_norm").value_or(0.0);
  return !(most > 0.0 && std::max(norms->got, norms->expected) > most);
}

/// Sums of which rounding makes too much or too little although (nearly) every addend changes them.
void rounded_badly(const Evidence& e, const ObservedStep& step, const PlanNode& node, const Stat& inner, std::vector<Cause>& causes) {
  const Format format = attribute_format(node, "accumulate"), count = attribute_format(node, "scalar");
  // Addends that vanished, sums that overflowed and counts that do not fit are other matters, and norms have their epsilons.
  const bool other = is_norm(node) || inner.overflowed > 0 || (inner.flushed > 0 && inner.error_greatest.value_or(0.0) >= much_missing) ||
                     (is_mean(node) && count != Format::fp32 && static_cast<double>(reduced_elements(node)) >= limit(count));
  if (format == Format::fp32 || other) return;
  const std::optional<Totals> sums = totals(step, node);
  if (!sums || std::fabs(sums->missing()) < much_missing) return;
  const LossScale scale = loss_scale(e, step, node);
  const auto known = std::find_if(causes.begin(), causes.end(), [&](const Cause& c) {
    return c.node == node.record.name && (c.kind == Kind::sum_stuck || c.gravity <= Gravity::damage);
  });
  if (known != causes.end()) {
    const bool rounded = known->kind == Kind::sum_stuck && std::none_of(known->facts.begin(), known->facts.end(), [](const Fact& f) { return f.key == "swallowed"; });
    known->steps_seen += rounded && known->step != step.step ? 1 : 0;   // others count their own
    return;
  }
  Cause cause;
  cause.kind = Kind::sum_stuck;
  cause.gravity = clips_nothing(node, sums) ? Gravity::note : Gravity::damage;
  cause.step = step.step;
  cause.node = node.record.name;
  cause.operation = node.record.operation;
  cause.phase = std::string(name(node.record.phase));
  cause.format = name(format);
  if (!node.outputs.empty()) cause.tensor = e.plan().title(node.outputs.front());
  const double expected = scale.take_out(sums->expected);
  cause.what = fmt::format("{}: a sum kept in {} is rounded with every addition; its results come to {} on average, {} would be right{}: {}. {} of {} additions changed nothing at all",
                           node.record.name, name(format), amount(scale.take_out(sums->got)), amount(expected), scale.words, missing_words(*sums), inner.lost,
                           inner.elements);
  cause.facts.push_back(fact("expected", "sum without rounding", expected, fmt::format("{} (from the means of what was added)", amount(expected)), Provenance::computed));
  cause.facts.push_back(fact("missing", "missing", sums->missing(), missing_words(*sums), Provenance::computed));
  causes.push_back(std::move(cause));
}

void inner_sum(const Evidence& e, const ObservedStep& step, const PlanNode& node, std::vector<Cause>& causes) {
  const Stat* inner = node.inner ? step.stat(*node.inner) : nullptr;
  if (inner == nullptr || inner->elements == 0 || inner->lost == 0) return;
  const double share = static_cast<double>(inner->lost) / static_cast<double>(inner->elements);
  if (share < little_swallowed || attribute_format(node, "accumulate") == Format::fp32) return;
  const auto known = std::find_if(causes.begin(), causes.end(), [&](const Cause& c) {
    return c.kind == Kind::sum_stuck && c.node == node.record.name;
  });
  if (known != causes.end()) {
    ++known->steps_seen;
    return;
  }
  const auto sums = totals(step, node);
  const LossScale scale = loss_scale(e, step, node);
  const Format format = attribute_format(node, "accumulate");
  // An addend that changes nothing is at most half an ulp of the sum it meets.
  const Stat* results = node.outputs.empty() ? nullptr : step.stat(node.outputs.back());
  const double each = results != nullptr && results->elements > 0
                          ? static_cast<double>(inner->lost) / static_cast<double>(results->elements)
                          : static_cast<double>(inner->lost);
  const double at_most = each * info(format).unit_roundoff;
  const bool much =
      sums ? std::fabs(sums->missing()) >= much_missing : share >= much_swallowed && at_most >= much_missing;
  Cause cause;
  cause.kind = Kind::sum_stuck;
  cause.gravity = much && !clips_nothing(node, sums) ? Gravity::damage : Gravity::note;
  cause.step = step.step;
  cause.node = node.record.name;
  cause.operation = node.record.operation;
  cause.phase = std::string(name(node.record.phase));
  cause.format = name(format);
  if (!node.outputs.empty()) cause.tensor = e.plan().title(node.outputs.front());
  cause.what = fmt::format("{}: a sum kept in {} swallowed {} of {} additions ({})", node.record.name, name(format),
                           inner->lost, inner->elements, percent(share));
  if (const Stat* out = node.outputs.empty() ? nullptr : step.stat(node.outputs.front());
      out != nullptr && sums && node.record.operation != "rms_norm") {
    cause.what += fmt::format("; its results come to {} on average, {} would be right{}: {} is missing", amount(scale.take_out(sums->got)),
                              amount(scale.take_out(sums->expected)), scale.words, percent(sums->missing()));
    const double greatest = scale.take_out(out->greatest);
    cause.facts.push_back(fact("stuck_at", "greatest result", greatest,
                               fmt::format("{} of {}{}", amount(greatest), counted(out->elements, "result"), scale.words)));
  }
  cause.facts.push_back(fact("swallowed", "additions that changed nothing", static_cast<double>(inner->lost),
                             fmt::format("{} of {}", inner->lost, inner->elements)));
  if (!sums && at_most < 1.0)
    cause.facts.push_back(fact("missing_at_most", "missing at most", at_most,
                               fmt::format("{} of a sum: each swallowed addend is at most half an ulp of it",
                                           percent(at_most)),
                               Provenance::computed));
  if (sums) {
    const double expected = scale.take_out(sums->expected);
    cause.facts.push_back(fact("expected", "sum without rounding", expected,
                               fmt::format("{} (from the means of what was added{})", amount(expected), scale.words),
                               Provenance::computed));
    cause.facts.push_back(fact("missing", "missing", sums->missing(), percent(sums->missing()), Provenance::computed));
  }
  causes.push_back(std::move(cause));
}

/// What became of the addends of a gradient accumulator, micro-batch by micro-batch.
struct Accumulated {
  std::int64_t addends = 0;    ///< elements that were not zero
  std::int64_t swallowed = 0;  ///< of them: they changed nothing
  std::int64_t elements = 0;   ///< of the sum
  std::optional<std::int64_t> first{};  ///< addends before the first that was swallowed
  bool all_from_there = true;  ///< everything after it was swallowed
  double got = 0.0, expected = 0.0;  ///< means of the elements of the sum
  double size = 0.0;           ///< what the mean would be, were all addends of one sign
};

/// None if a micro-batch was not observed or is not finite.
std::optional<Accumulated> accumulated(const ObservedStep& step, const PlanNode& node) {
  Accumulated a;
  const Stat* before = nullptr;
  for (std::int64_t m = 0; m < std::ssize(step.by_micro_batch); ++m) {
    const auto& rows = step.by_micro_batch[static_cast<std::size_t>(m)];
    const auto found = rows.find(node.outputs.front());
    const auto added = rows.find(*node.inputs.front());
    if (found == rows.end() || added == rows.end()) return std::nullopt;
    const Stat &sum = found->second, &addend = added->second;
    if (!sum.mean || !addend.mean || addend.bad() > 0 || sum.bad() > 0) return std::nullopt;
    const std::int64_t something = addend.elements - addend.stored_zero();
    std::int64_t lost = sum.lost;
    // Files without these counts: before it is rounded the sum holds the addend; the same sum again means that rounding took it away.
    const bool same = before != nullptr && something > 0 && *sum.mean == *before->mean && sum.greatest == before->greatest;
    if (same && lost == 0) lost = something;
    if (lost > 0 && !a.first) a.first = same && sum.lost == 0 ? m - 1 : m;
    if (a.first && lost < something) a.all_from_there = false;
    a.addends += something;
    a.swallowed += lost;
    a.elements = sum.elements;
    a.expected += *addend.mean;
    a.size += addend.rms.value_or(std::fabs(*addend.mean));
    // What is stored, but for the last rounding: all that came before, and of the addend what was not swallowed.
    const double share = something > 0 ? static_cast<double>(lost) / static_cast<double>(something) : 0.0;
    a.got = *sum.mean - share * *addend.mean;
    before = &sum;
  }
  return a;
}

void accumulator(const Evidence& e, const ObservedStep& step, const PlanNode& node, std::vector<Cause>& causes) {
  if (step.micro_batches < 2 || node.outputs.empty() || node.inputs.empty() || !node.inputs.front()) return;
  const std::optional<Accumulated> sum = accumulated(step, node);
  if (!sum || !sum->first || sum->addends == 0) return;
  const Format in = e.plan().format(node.outputs.front());
  const double share = static_cast<double>(sum->swallowed) / static_cast<double>(sum->addends);
  // Where addends of both signs cancel, a share of their sum says nothing; each that is swallowed is at most half an ulp of it.
  const bool means_say = std::fabs(sum->expected) >= 0.1 * sum->size;
  const double missing = means_say ? 1.0 - sum->got / sum->expected : 0.0;
  const double at_most = static_cast<double>(sum->swallowed) / static_cast<double>(std::max<std::int64_t>(sum->elements, 1)) * info(in).unit_roundoff;
  const bool much = (means_say && std::fabs(missing) >= much_missing) || (share >= much_swallowed && at_most >= much_missing);
  if (!much && (share < little_swallowed || !is_16bit(in))) return;
  const auto known = std::find_if(causes.begin(), causes.end(), [&](const Cause& c) {
    return c.kind == Kind::sum_stuck && c.node == node.record.name;
  });
  if (known != causes.end()) {
    ++known->steps_seen;
    return;
  }
  const std::string format = node.record.outputs.empty() ? "" : node.record.outputs.front().format;
  Cause cause;
  cause.kind = Kind::sum_stuck;
  cause.gravity = much ? Gravity::damage : Gravity::note;
  cause.step = step.step;
  cause.node = node.record.name;
  cause.operation = node.record.operation;
  cause.phase = std::string(name(node.record.phase));
  cause.tensor = e.plan().title(node.outputs.front());
  cause.format = format;
  const std::string swallowed = fmt::format("{} of {}", sum->swallowed, sum->addends);
  const LossScale scale = loss_scale(e, step, node);
  const double got = scale.take_out(sum->got), expected = scale.take_out(sum->expected);
  const std::string of_what = fmt::format("{}{}", sum->elements == 1 ? "of its one element" : fmt::format("mean of its {} elements", sum->elements), scale.words);
  cause.what = fmt::format("{}: gradients of {} micro-batches are summed in {}; after {} addends ", node.record.name,
                           step.micro_batches, format, *sum->first);
  if (sum->all_from_there)
    cause.what += fmt::format("the sum stands at {} ({}) and swallows the rest ({})", amount(got), of_what, swallowed);
  else
    cause.what += fmt::format("elements of the sum begin to stand still: {} additions that are not 0 ({}) changed nothing",
                              swallowed, percent(share));
  if (means_say && sum->all_from_there)
    cause.what += fmt::format(": {} of {} is missing", percent(missing), amount(expected));
  else if (means_say)
    cause.what += fmt::format("; {} of the sum, which would come to {} ({}), is missing", percent(missing), amount(expected), of_what);
  if (sum->all_from_there)
    cause.facts.push_back(fact("stuck_at", "stands at", got, fmt::format("{} after {} addends ({})", amount(got), *sum->first, of_what),
                               Provenance::computed));
  if (means_say) {
    cause.facts.push_back(fact("expected", "sum without rounding", expected, fmt::format("{} ({})", amount(expected), of_what), Provenance::computed));
    cause.facts.push_back(fact("missing", "missing", missing, percent(missing), Provenance::computed));
  } else {
    cause.facts.push_back(fact("missing_at_most", "missing at most", at_most,
                               fmt::format("{} of an element: each swallowed addend is at most half an ulp of it", percent(at_most)),
                               Provenance::computed));
  }
  cause.facts.push_back(fact("swallowed", "addends that changed nothing", static_cast<double>(sum->swallowed), swallowed));
  cause.facts.push_back(fact("swallowed_share", "share of them", share, percent(share)));
  causes.push_back(std::move(cause));
}

/// Of the accumulators, those that lost the greatest share; the others are counted.
void gather_accumulators(std::vector<Cause>& causes) {
  const auto lost = [](const Cause& c) {
    for (const Fact& f : c.facts)
      if (f.key == "swallowed_share") return f.value.value_or(0.0);
    return 0.0;
  };
  std::vector<Cause> stuck;
  std::erase_if(causes, [&](Cause& c) {
    if (c.kind != Kind::sum_stuck || c.operation != "accumulate") return false;
    stuck.push_back(std::move(c));
    return true;
  });
  std::stable_sort(stuck.begin(), stuck.end(), [&](const Cause& a, const Cause& b) {
    return a.gravity != b.gravity ? a.gravity < b.gravity : lost(a) > lost(b);
  });
  if (const std::int64_t others = std::ssize(stuck) - most_accumulators; others > 0) {
    stuck.resize(static_cast<std::size_t>(most_accumulators));
    stuck.front().others = others;
    stuck.front().what += fmt::format("; {} of other weights likewise", counted(others, "accumulator"));
  }
  for (Cause& cause : stuck) causes.push_back(std::move(cause));
}

}  // namespace

std::string unseen_sums(const Evidence& e) {
  std::vector<std::string> names;
  Format format = Format::fp32;
  for (const PlanNode& node : e.plan().nodes()) {
    const Format kept = attribute_format(node, "accumulate");
    if (kept == Format::fp32 || !node.inner || is_optimizer(node) || is_norm(node)) continue;
    bool counted_in = false, told = false;
    for (const ObservedStep& step : e.observed()) {
      const Stat* inner = step.stat(*node.inner);
      counted_in = counted_in || (inner != nullptr && inner->overflowed == 0);
      told = told || totals(step, node).has_value();
    }
    if (!counted_in || told) continue;
    format = kept;
    names.push_back(fmt::format("{} ({})", node.record.name, node.record.operation));
  }
  if (names.empty()) return "";
  const std::size_t listed = std::min<std::size_t>(names.size(), 4);
  return fmt::format("of the sums kept in {} inside {}{}, additions that change nothing are counted; how far rounding moves the others is not seen "
                     "(their addends' means do not tell): an fp32 run or a shadow (observe.shadow) to compare with does",
                     name(format), fmt::join(names.begin(), names.begin() + static_cast<std::ptrdiff_t>(listed), ", "),
                     names.size() > listed ? fmt::format(" and {} more", names.size() - listed) : "");
}

void silent_sum_causes(const Evidence& evidence, std::vector<Cause>& causes) {
  for (const ObservedStep& step : evidence.observed())
    for (const PlanNode& node : evidence.plan().nodes()) {
      if (node.record.operation == "accumulate") accumulator(evidence, step, node, causes);
      inner_sum(evidence, step, node, causes);
    }
  gather_accumulators(causes);
  for (const ObservedStep& step : evidence.observed())  // what swallows its addends comes before what only rounds them
    for (const PlanNode& node : evidence.plan().nodes())
      if (const Stat* inner = node.inner ? step.stat(*node.inner) : nullptr; inner != nullptr && inner->elements > 0) rounded_badly(evidence, step, node, *inner, causes);
}

}  // namespace ulpscope::reports
