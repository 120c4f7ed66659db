// What the forward pass loses at either end of a format.
#include <fmt/format.h>

#include <algorithm>

#include "reports/analysis/diagnosis/words.h"
#include "reports/analysis/prediction_parts.h"

namespace ulpscope::reports {
namespace {

constexpr double worth_a_note = 0.01;

std::int64_t nonzero(const ExponentHistogram& h) {
  std::int64_t sum = 0;
  for (const std::uint64_t count : h.counts) sum += static_cast<std::int64_t>(count);
  return sum;
}

/// Elements whose exponent is below `least`.
std::int64_t below(const ExponentHistogram& h, int least) {
  std::int64_t sum = 0;
  for (std::size_t i = 0; i < h.counts.size(); ++i)
    if (h.first + static_cast<int>(i) < least) sum += static_cast<std::int64_t>(h.counts[i]);
  return sum;
}

std::string kind_of_overflow(const StoredRange& r) {
  switch (r.source) {
    case StoredRange::Source::weight:
      return std::string(name(Kind::weight_too_large));
    case StoredRange::Source::constant:
      return "constant_too_large";
    case StoredRange::Source::batch:
      return "data_too_large";
    case StoredRange::Source::computed:
      break;
  }
  return std::string(name(r.backward ? Kind::gradient_too_large_for_scale : Kind::activation_too_large));
}

/// It holds no more than the numbers of another tensor, of which that was said: it is said there.
bool handed_on(const StoredRange& r, std::vector<Foreseen>& found) {
  if (r.hands_on.empty()) return false;
  const auto from = std::find_if(found.begin(), found.end(), [&](const Foreseen& f) {
    const bool by_another = std::any_of(f.facts.begin(), f.facts.end(), [&](const Fact& fact) { return fact.key == "handed_on" && fact.text.starts_with(r.hands_on + " "); });
    return f.phase == "forward" && f.kind == kind_of_overflow(r) && (f.tensor == r.hands_on || by_another);
  });
  if (from == found.end()) return false;
  from->facts.push_back(fact("handed_on", "handed on by", fmt::format("{} ({})", r.tensor, r.operation)));
  return true;
}

std::string what_comes_of_it(Gravity gravity) {
  if (gravity == Gravity::fatal) return "it reaches the loss or a gradient";
  return gravity == Gravity::damage ? "it leaves other numbers behind" : "no infinity and no NaN of it reaches the loss, a gradient or a running statistic";
}

void tell_aftermath(const Aftermath& after, const std::string& mode, Foreseen& f) {
  f.gravity = after.gravity;
  f.what += after.what;
  if (after.what.empty() && after.gravity > Gravity::damage) f.what += "; what is infinite is left out or replaced before the loss";
  f.facts.push_back(fact("aftermath", "what comes of it", fmt::format("the same step was made in {}: {}", mode, what_comes_of_it(after.gravity))));
}

}  // namespace

bool overflows(const StoredRange& r, double scale) { return greatest_at(r, scale) >= limit(r.format); }

Foreseen about(const StoredRange& r) {
  Foreseen f;
  f.node = r.node;
  f.order = r.order;
  f.operation = r.operation;
  f.phase = r.backward || r.beside_loss ? "backward" : "forward";
  f.tensor = r.tensor;
  f.format = name(r.format);
  f.constant = r.source == StoredRange::Source::constant;
  return f;
}

void foresee_overflows(const PredictionInput& input, std::vector<Foreseen>& found) {
  const auto aftermath = [&](const std::string& tensor) -> const Aftermath* {
    if (!input.followed) return nullptr;
    const auto at = input.followed->tensors.find(tensor);
    return at == input.followed->tensors.end() ? nullptr : &at->second;
  };
  for (Foreseen& f : found)   // sums inside an operation and the like: of the checks
    if (const Aftermath* after = aftermath(f.tensor); after != nullptr && f.overflow && f.gravity == Gravity::fatal && f.phase == "forward") tell_aftermath(*after, input.mode, f);
  for (const StoredRange& r : input.ranges) {
    if (r.backward || r.explained || !overflows(r, 1.0)) continue;
    const Aftermath* const after = r.feeds_loss ? aftermath(r.tensor) : nullptr;
    if (after != nullptr && after->masked) continue;   // what masks are for
    if (handed_on(r, found)) continue;
    Foreseen f = about(r);
    f.kind = kind_of_overflow(r);
    f.gravity = r.feeds_loss ? Gravity::fatal : Gravity::contained;
    f.overflow = true;
    f.what = fmt::format("{} has {} in fp32{}{}", r.tensor, held_against_limit(r.greatest, r.format),
                         r.feeds_loss ? "; no loss scale changes that" : "; the loss is not computed from it",
                         r.source == StoredRange::Source::batch ? ", a factor on the data does (of features: data.scale)" : "");
    f.facts.push_back(fact("greatest_magnitude", "magnitude", r.greatest, held_against_limit(r.greatest, r.format),
                           Provenance::computed));
    f.facts.push_back(fact("times_limit", "x the limit", r.greatest / limit(r.format),
                           fmt::format("{:.4g}", r.greatest / limit(r.format)), Provenance::projected));
    if (after != nullptr) tell_aftermath(*after, input.mode, f);
    if (r.feeds_loss && after == nullptr && input.followed) {
      f.gravity = Gravity::note;
      f.overflow = false;
      f.what += fmt::format("; in the same step made in {} it is finite, for what is computed before it differs there", input.mode);
    }
    found.push_back(std::move(f));
  }
}

void foresee_what_happened(const PredictionInput& input, std::vector<Foreseen>& found) {
  if (!input.followed) return;
  for (const RehearsedFault& fault : input.followed->faults) {
    const Cause& cause = fault.cause;
    const bool known = std::any_of(found.begin(), found.end(), [&](const Foreseen& f) { return f.gravity == Gravity::fatal && (f.tensor == cause.tensor || (!f.node.empty() && f.node == cause.node)); });
    if (known) continue;
    Foreseen f{.kind = std::string(name(cause.kind)), .gravity = Gravity::fatal, .node = cause.node, .operation = cause.operation, .phase = cause.phase, .tensor = cause.tensor, .format = cause.format};
    f.what = fmt::format("the same step was made in {}: {}", input.mode, cause.what);
    f.facts = cause.facts;
    f.order = fault.order;
    f.overflow = true;
    found.push_back(std::move(f));
  }
}

void foresee_flushes(const PredictionInput& input, std::vector<Foreseen>& found) {
  for (const StoredRange& r : input.ranges) {
    if (r.backward || r.source == StoredRange::Source::constant || info(r.format).flush_threshold < 1e-40) continue;
    const std::int64_t all = nonzero(r.histogram),
                       lost = below(r.histogram, exponent_of(info(r.format).flush_threshold));
    if (all == 0 || static_cast<double>(lost) <= worth_a_note * static_cast<double>(all)) continue;
    Foreseen f = about(r);
    f.kind = name(Kind::activation_below_range);
    f.what = fmt::format("{} of the non-zero elements of {} become zero in {}",
                         percent(static_cast<double>(lost) / static_cast<double>(all)), r.tensor, name(r.format));
    // Nothing is left of it, and what reads it computes with zeros: beside other terms of a sum that may be nothing.
    if (lost == all && r.feeds_loss && !r.added && r.source == StoredRange::Source::computed && r.operation != "scale_loss") {
      f.gravity = Gravity::damage;
      f.what += fmt::format(" (the greatest is {}, the end of the range {}): what follows computes with zeros in their place", amount(r.greatest),
                            amount(info(r.format).flush_threshold));
    }
    f.facts.push_back(fact("flushed_share", "flushed", static_cast<double>(lost) / static_cast<double>(all),
                           percent(static_cast<double>(lost) / static_cast<double>(all)), Provenance::projected));
    found.push_back(std::move(f));
  }
}

}  // namespace ulpscope::reports
