// Policies on recorded ranges, for people.
#include <fmt/format.h>

#include <algorithm>

#include "reports/analysis/diagnosis/words.h"
#include "reports/export/layout.h"
#include "reports/export/numbers.h"
#include "reports/export/text.h"

namespace ulpscope::reports {
namespace {

constexpr std::size_t name_width = 26;

std::string scale_words(const Number& scale) { return scale ? scale_power(*scale) : "-"; }

void row(const PolicyReplay& p, std::ostream& out) {
  const std::string range = fmt::format("{} .. {}", scale_words(p.least), scale_words(p.greatest));
  const std::string skips = p.known() ? std::to_string(p.skips) : p.skips == 0 ? "?" : fmt::format("{}+?", p.skips);
  out << "  " << pad_right(shorten(printable(p.name), name_width - 1), name_width) << pad_left(skips, 6) << pad_left(p.known() ? std::to_string(p.searching) : "?", 8)
      << pad_left(p.known() ? scale_words(p.settled) : "?", 11) << pad_left(range, 19)
      << pad_left(p.known() ? fmt::format("{:.3g} %", 100.0 * *p.wasted()) : "?", 8) << '\n';
}

void remarks(const PolicyReplay& p, std::ostream& out) {
  std::string text = p.policy;
  if (p.gave_up) text += fmt::format("; ends the training in step {}: an overflow at its lowest scale", *p.gave_up + 1);
  if (p.last && p.settled && *p.last != *p.settled) text += fmt::format("; {} after the last step", scale_words(p.last));
  if (p.inferred > 0) text += fmt::format("; {} inferred", counted(p.inferred, "step"));
  if (p.unknown > 0) text += fmt::format("; {} unknown", counted(p.unknown, "step"));
  if (text != p.name) out << wrap(printable(text), "  " + pad_right(shorten(printable(p.name), name_width - 1), name_width));
}

}  // namespace

void TextExporter::write(const ScaleReplay& replay, std::ostream& out) const {
  bool first = true;
  for (const RunScaleReplay& run : replay.runs) {
    if (!first) out << '\n';
    first = false;
    out << wrapped(printable(fmt::format("{} seed {}: {} of recorded ranges under other policies [projected: the trajectory is held]", run.run.mode, run.run.seed, counted(run.steps, "step"))), "  ") << '\n';
    out << "  " << pad_right("policy", name_width) << pad_left("skips", 6) << pad_left("search", 8) << pad_left("settles at", 11) << pad_left("scales", 19) << pad_left("wasted", 8) << '\n';
    row(run.recorded, out);
    for (const PolicyReplay& policy : run.policies) row(policy, out);
    out << '\n';
    remarks(run.recorded, out);
    for (const PolicyReplay& policy : run.policies) remarks(policy, out);
    for (const std::string& note : run.notes) out << wrap(printable(note), "  note: ");
  }
}

}  // namespace ulpscope::reports
