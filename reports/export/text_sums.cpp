// What another generation's sums, or another machine's order of them, change: for people.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "reports/export/layout.h"
#include "reports/export/machines.h"
#include "reports/export/numbers.h"

namespace ulpscope::reports {
namespace {

constexpr std::size_t label_width = 20;
constexpr std::size_t cell_width = 15;  // with the space before it
constexpr std::size_t columns_in_a_block = 4;
constexpr std::size_t seeds_shown = 3;

using Changes = std::vector<const SumsChange*>;

template <class Cell>
void row_of(std::ostream& out, std::string_view label, const Changes& changes, Cell&& cell) {
  std::string line = pad_right(shorten(label, label_width), label_width);
  bool any = false;
  for (const SumsChange* change : changes) {
    const std::string text = cell(*change);
    any |= !text.empty();
    line += pad_left(shorten(text, cell_width - 1), cell_width);
  }
  if (!any) return;
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

std::string difference_cell(const Number& value) { return value ? difference_text(*value) : "unknown"; }
std::string percent_cell(const Number& value) { return !value ? "unknown" : *value == 0.0 ? "0 %" : fmt::format("{:+.2g} %", 100.0 * *value); }
std::string ulps_cell(const Number& ulps) { return !ulps ? "" : *ulps < 1e6 ? number_text(*ulps, 4) : fmt::format("{:.1e}", *ulps); }
std::string step_cell(const std::optional<std::int64_t>& step, const char* none) { return step ? fmt::format("step {}", *step + 1) : none; }

void block(const Changes& changes, std::ostream& out) {
  using C = const SumsChange&;
  row_of(out, "what the sums change", changes, [](C c) { return printable(c.mode); });
  row_of(out, "  against", changes, [](C c) { return printable(c.against); });
  row_of(out, "", changes, [](C c) { return c.tag; });
  row_of(out, "  verdict", changes, [](C c) { return std::string(name(c.judgement.verdict)); });
  row_of(out, "  loss", changes, [](C c) { return difference_cell(c.loss.value); });
  row_of(out, "    95 % from", changes, [](C c) { return c.loss.low ? difference_text(*c.loss.low) : ""; });
  row_of(out, "    to", changes, [](C c) { return c.loss.high ? difference_text(*c.loss.high) : ""; });
  row_of(out, "    fp32 seeds ±", changes, [](C c) { return c.loss.spread ? number_text(*c.loss.spread, 3) : "unknown"; });
  row_of(out, "  gradient norm", changes, [](C c) { return percent_cell(c.gradient_norm.value); });
  row_of(out, "    95 % from", changes, [](C c) { return c.gradient_norm.low ? percent_cell(c.gradient_norm.low) : ""; });
  row_of(out, "    to", changes, [](C c) { return c.gradient_norm.high ? percent_cell(c.gradient_norm.high) : ""; });
  row_of(out, "    in step 1", changes, [](C c) { return percent_cell(c.first_gradient_norm.value); });
  row_of(out, "  steps skipped", changes, [](C c) {
    return c.skipped.value && c.skipped_against.value ? fmt::format("{:.0f} ({:.0f})", *c.skipped.value, *c.skipped_against.value) : std::string("unknown");
  });
  row_of(out, "    one alone from", changes, [](C c) { return step_cell(c.other_skips, ""); });
  row_of(out, "  other bits from", changes, [](C c) { return step_cell(c.differs_from, "none"); });
  row_of(out, "    by ulps", changes, [](C c) { return ulps_cell(c.first_ulps); });
  row_of(out, "    at most", changes, [](C c) { return ulps_cell(c.greatest_ulps); });
}

/// The worst in front.
int rank(const BitsAcross& bits) {
  return bits.verdict == BitsVerdict::more ? 0 : bits.verdict == BitsVerdict::undecided ? 1 : bits.verdict == BitsVerdict::explained ? 2 : 3;
}

}  // namespace

void sums_changes_text(const std::vector<SumsChange>& changes, std::ostream& out) {
  for (std::size_t begin = 0; begin < changes.size(); begin += columns_in_a_block) {
    Changes some;
    for (std::size_t i = begin; i < std::min(begin + columns_in_a_block, changes.size()); ++i) some.push_back(&changes[i]);
    block(some, out);
    out << '\n';
  }
  if (changes.empty()) return;
  for (const SumsChange& change : changes) {
    if (change.judgement.verdict != Verdict::undecided) continue;  // the table has the rest
    out << wrap(printable(fmt::format("{}: {}.", name(change.judgement.verdict), change.judgement.reason)),
                printable(fmt::format("{}{}{} against {}  ", change.tag, change.tag.empty() ? "" : " ", change.mode, change.against)));
  }
  out << wrap("Sums emulated on a processor. It matters where the verdict is better or worse: the loss, by seed, lies beyond one standard deviation between fp32 seeds. Gradient norm: mean "
              "relative difference over the steps that both applied. Bits: of the training loss, in ulps of fp32, all seeds; steps skipped in brackets: of what it is held against.",
              "")
      << '\n';
}

void bits_text(const std::vector<BitsAcross>& all, std::ostream& out) {
  if (all.empty()) return;
  out << "losses, bit for bit\n";
  std::vector<const BitsAcross*> order;
  for (const BitsAcross& bits : all) order.push_back(&bits);
  std::map<std::pair<std::string, std::string>, std::size_t> group;
  for (const BitsAcross& bits : all) group.emplace(std::pair(bits.first, bits.other), group.size());
  std::stable_sort(order.begin(), order.end(), [&](const BitsAcross* a, const BitsAcross* b) {
    return std::pair(group.at({a->first, a->other}), rank(*a)) < std::pair(group.at({b->first, b->other}), rank(*b));
  });
  std::map<std::size_t, std::size_t> shown, seeds;
  for (const BitsAcross& bits : all) ++seeds[group.at({bits.first, bits.other})];
  for (const BitsAcross* bits : order) {
    const std::size_t of = group.at({bits->first, bits->other});
    if (shown[of]++ < seeds_shown) out << wrapped(printable(fmt::format("  {} and {}, seed {}: {}.", bits->first, bits->other, bits->seed, bits->text)), "    ") << '\n';
    if (shown[of] == seeds[of] && seeds[of] > seeds_shown) out << fmt::format("  … and {} more seeds, none worse: --json\n", seeds[of] - seeds_shown);
  }
  out << wrap("Ulps of fp32. Explained: by what another order of the sums can do to first order, by the plan's formats and lengths of sums, rates and gradient norms on record, and no more "
              "than seeds differ (docs/compare.md).",
              "  ")
      << '\n';
}

}  // namespace ulpscope::reports
