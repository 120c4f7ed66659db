// A shape sweep for people.
#include <fmt/format.h>

#include <algorithm>

#include "reports/export/layout.h"
#include "reports/export/numbers.h"
#include "reports/export/text.h"

namespace ulpscope::reports {
namespace {

constexpr std::size_t modes_in_a_block = 4;

/// What is claimed, in one column.
const char* mark(SweepVerdict verdict) {
  switch (verdict) {
    case SweepVerdict::faster:
      return "+";
    case SweepVerdict::slower:
      return "-";
    case SweepVerdict::invalid:
      return "!";
    default:
      return " ";
  }
}

std::string cell(const SweepTime& time) {
  if (!time.seconds.value) return "unknown  ";
  return fmt::format("{} {}", seconds_text(*time.seconds.value), mark(time.verdict));
}

/// "±1.2 %": half the distance of the quartiles ÷ the median.
std::string spread_cell(const SweepTime& time) {
  const Figure& f = time.seconds;
  if (!f.value || !f.low || !f.high || *f.value <= 0.0) return "";
  return fmt::format("±{:.0f} %", 50.0 * (*f.high - *f.low) / *f.value);
}

void table(const Sweep& sweep, std::size_t begin, std::size_t end, std::ostream& out) {
  const auto print = [&out](std::string line) {
    line.erase(line.find_last_not_of(' ') + 1);
    if (!line.empty()) out << line << '\n';
  };
  std::string names = pad_left(name(sweep.dimension), 9) + "  mod 8  64  128  more", kinds(31, ' ');
  for (std::size_t m = begin; m < end; ++m) {
    names += pad_left(shorten(printable(sweep.modes[m].mode), 9), 10) + "  ";
    kinds += pad_left(name(sweep.modes[m].provenance), 10) + "  ";
  }
  print(names);
  print(kinds);
  for (const SweepSize& row : sweep.sizes) {
    std::string line = pad_left(fmt::format("{}{}", row.more == 0 ? "> " : "", row.size), 9) + pad_left(fmt::format("{}", row.mod_8), 7) + pad_left(fmt::format("{}", row.mod_64), 4) +
                       pad_left(fmt::format("{}", row.mod_128), 5) + pad_left(row.more == 0 ? "" : fmt::format("{:+}", row.more), 6);
    for (std::size_t m = begin; m < end; ++m) line += pad_left(cell(row.times[m]), 12);
    print(line);
    if (row.more != 0) continue;
    line = std::string(31, ' ');
    for (std::size_t m = begin; m < end; ++m) line += pad_left(spread_cell(row.times[m]) + "  ", 12);
    print(line);
  }
}

}  // namespace

void TextExporter::write(const Sweep& sweep, std::ostream& out) const {
  const std::string shape = fmt::format("{}[{}, {}] x [{}, {}]", sweep.batch > 1 ? fmt::format("{} times ", sweep.batch) : "", sweep.rows, sweep.inner, sweep.inner, sweep.columns);
  out << wrap(printable(fmt::format("{} ({}) of {}: {}, its {} around {}", sweep.node, sweep.operation, sweep.experiment, shape, name(sweep.dimension), sweep.given)), "");
  out << wrap(printable(fmt::format("on {}{}", sweep.device, sweep.rounds ? fmt::format(", median of {} round{}", *sweep.rounds, *sweep.rounds == 1 ? "" : "s") : "")), "  ");
  for (const SweepMode& mode : sweep.modes) out << wrap(printable(fmt::format("{}: {}, multiplied in {}", mode.mode, mode.formats, mode.compute_format)), "  ");
  for (std::size_t begin = 0; begin < sweep.modes.size(); begin += modes_in_a_block) {
    out << '\n';
    table(sweep, begin, std::min(begin + modes_in_a_block, sweep.modes.size()), out);
  }
  out << '\n';
  for (const std::string& fact : sweep.facts) out << wrap(printable(fact) + " [computed].", "");
  for (std::size_t m = 0; m < sweep.modes.size(); ++m) {
    const SweepMode& mode = sweep.modes[m];
    const auto claims = std::count_if(sweep.claims.begin(), sweep.claims.end(), [&](const Sweep::Claim& c) { return c.mode == mode.mode; });
    const bool open = std::any_of(sweep.sizes.begin(), sweep.sizes.end(), [&](const SweepSize& row) { return row.times[m].verdict == SweepVerdict::undecided; });
    for (const Sweep::Claim& claim : sweep.claims)
      if (claim.mode == mode.mode) out << wrap(fmt::format("{}: {} [{}].", printable(mode.mode), claim.text, name(claim.provenance)), "");
    if (open) out << wrap(fmt::format("{}: {}undecided: no more than twice the noise apart, or not so in nine rounds of ten.", printable(mode.mode), claims > 0 ? "other sizes are " : "all sizes are "), "");
  }
  for (const std::string& note : sweep.notes) out << wrap(printable(note) + ".", "  ");
  out << '\n'
      << wrap("The product alone, its operands where they were before. +: takes less time than the given size, or than its share of it where it is smaller; -: the reverse; !: cannot be true. "
              "Both only above twice the noise of this timing, and in nine rounds of ten.",
              "");
}

}  // namespace ulpscope::reports
