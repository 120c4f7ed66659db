// Sums and means whose elements fit while their sum, or the count that divides it, does not.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/diagnosis/causes.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::reports {
namespace {

/// Number and format: what one element adds to the sum, and where that is known from.
struct Share {
  Number each{};
  std::string from{};
  Provenance provenance = Provenance::computed;
};

bool sums_its_inputs(const PlanNode& node) {
  const std::string& op = node.record.operation;
  return op == "sum" || op == "mean" || op == "sum_to" || op == "sum_channels" || op == "masked_mean";
}

Share share_of(const Suspect& s, std::int64_t n) {
  const PlanNode& node = s.node();
  const Stat* x = s.input(0);
  // Of several sums the mean of all elements tells nothing of the greatest, which was counted before it was rounded.
  const bool several = s.root.stat != nullptr && s.root.stat->elements > 1;
  if (sums_its_inputs(node) && x != nullptr && x->mean && !(several && s.root.how == Root::How::rounding))
    return {std::fabs(*x->mean), "mean of its elements", Provenance::computed};
  // A loss: what fp32 makes of the same positions.
  if (s.evidence.fp32 != nullptr && is_mean(node)) {
    const PlanNode* twin = s.evidence.fp32->plan().node(node.record.name);
    for (const ObservedStep& step : s.evidence.fp32->observed()) {
      if (twin == nullptr || twin->outputs.empty() || sum_format(*twin) != Format::fp32) break;
      const Stat* stat = step.stat(twin->outputs.front());
      if (stat != nullptr && stat->bad() == 0 && stat->greatest > 0.0)
        return {stat->greatest, "of the fp32 run", Provenance::computed};
    }
  }
  // The sum itself is kept in fp32, and rounded when it is done.
  const Stat* inner = node.inner ? s.step.stat(*node.inner, s.root.micro_batch) : nullptr;
  if (inner != nullptr && attribute_format(node, "accumulate") == Format::fp32 && inner->greatest > 0.0)
    return {inner->greatest / static_cast<double>(n), "sum / elements", Provenance::computed};
  // One overflow on the way to the end: the greatest partial sum is the whole.
  if (s.root.inner != nullptr && s.root.inner->overflowed == 1 && s.root.inner->greatest > 0.0)
    return {s.root.inner->greatest / static_cast<double>(n), "greatest partial sum / elements", Provenance::inferred};
  if (s.root.how == Root::How::rounding && !is_mean(node))
    return {s.root.stat->greatest / static_cast<double>(n), "sum / elements", Provenance::computed};
  return {};
}

Known divisor(const Suspect& s, Cause& cause, std::int64_t n, Format format) {
  cause.kind = Kind::divisor_overflowed;
  cause.what = fmt::format("{}: the count {} is infinite in {}, and so is the sum: the mean is NaN or inf",
                           s.node().record.name, n, name(format));
  cause.facts.push_back(fact("count", "count", static_cast<double>(n),
                             held_against_limit(static_cast<double>(n), format), Provenance::computed));
  return Known::yes;
}

/// A scaled gradient, summed in fp32, that does not fit when it is stored: a lower scale mends it (one below 1, too), whatever the length of the sum.
bool too_large_for_scale(const Suspect& s) {
  return s.carries_scale() && s.evidence.scales() && s.root.how == Root::How::rounding && s.root.stat != nullptr;
}

}  // namespace

Known reduction_cause(const Suspect& s, Cause& cause) {
  const PlanNode& node = s.node();
  const std::string& op = node.record.operation;
  const bool sums = is_reduction(node) || op == "embedding_backward" || op.ends_with("_backward_weights") ||
                    op.ends_with("_backward_weight") || op == "accumulate";
  if (!sums) return Known::no;
  const std::int64_t n = reduced_elements(node);
  const Format narrow = sum_format(node);
  const Format format = narrow != Format::fp32 ? narrow : s.output_format();
  if (n <= 1 || format == Format::fp32) return Known::no;
  const Share share = share_of(s, n);
  const Stat* x = s.input(0);
  const bool counts_too = is_mean(node) && attribute_format(node, "scalar") != Format::fp32 &&
                          static_cast<double>(n) >= limit(attribute_format(node, "scalar"));
  if (counts_too && (!share.each || *share.each * static_cast<double>(n) < limit(format)))
    return divisor(s, cause, n, attribute_format(node, "scalar"));
  const bool each_fits = !sums_its_inputs(node) || x == nullptr || x->greatest < limit(format) / 2;
  if (!each_fits) return Known::no;  // one element alone is too large: that is no matter of length
  if (s.root.how == Root::How::arithmetic && narrow == Format::fp32) return Known::no;
  if (narrow == Format::fp32 && too_large_for_scale(s)) return Known::no;
  cause.kind = Kind::reduction_too_long;
  if (share.each && *share.each > 0.0) {
    const double sum = *share.each * static_cast<double>(n);
    const double fit = longest_that_fits(*share.each, format);
    if (sum >= limit(format)) {
      cause.what =
          fmt::format("{}: the sum over {} elements is {}, more than {} holds; one element is only {}. {} of them fit",
                      node.record.name, n, amount(sum), name(format), amount(*share.each), amount(fit));
    } else {  // rounded up on the way
      cause.what = fmt::format(
          "{}: the sum over {} elements is {}, and partial sums kept in {} round upwards on the way until one is "
          "infinite; one element is only {}",
          node.record.name, n, amount(sum), name(format), amount(*share.each));
    }
    cause.facts.push_back(fact("sum", "sum", sum, held_against_limit(sum, format), share.provenance));
    cause.facts.push_back(fact("each", "each element", *share.each,
                               fmt::format("{} ({})", amount(*share.each), share.from), share.provenance));
    cause.facts.push_back(
        fact("break_even", "break-even", fit,
             fmt::format("{} elements: {} / {}", amount(fit), amount(limit(format)), amount(*share.each)),
             Provenance::computed));
  } else {
    cause.what = fmt::format("{}: the sum over {} elements leaves {}{}; what one element adds was not observed",
                             node.record.name, n, name(format),
                             s.root.inner != nullptr ? fmt::format(" (greatest partial sum before it was rounded: {})",
                                                                   amount(s.root.inner->greatest))
                                                     : "");
  }
  cause.facts.push_back(fact("elements", "elements", static_cast<double>(n),
                             narrow == Format::fp32 ? fmt::format("{}, summed in fp32, stored in {}", n, name(format)) : fmt::format("{}, summed in {}", n, name(format)),
                             Provenance::computed));
  if (counts_too)
    cause.facts.push_back(fact("count", "count", static_cast<double>(n),
                               "the count is infinite in " + std::string(name(format)) + ", too",
                               Provenance::computed));
  return Known::yes;
}

}  // namespace ulpscope::reports
