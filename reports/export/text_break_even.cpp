// Modes against fp32 at several batches, for people.
#include <fmt/format.h>

#include "reports/export/layout.h"
#include "reports/export/numbers.h"
#include "reports/export/text.h"

namespace ulpscope::reports {

void TextExporter::write(const BreakEven& result, std::ostream& out) const {
  out << wrap(printable(fmt::format("{} on {}", result.experiment, result.device)), "");
  out << '\n' << "   batch  mode       fp32's step   this mode's    speed      noise  against fp32\n";
  for (const BreakEvenMode& mode : result.modes)
    for (const BreakEvenPoint& p : mode.points)
      out << pad_left(fmt::format("{}", p.batch), 8) << "  " << pad_right(shorten(printable(mode.mode), 10), 10) << pad_left(p.reference.value ? seconds_text(*p.reference.value) : "unknown", 12)
          << pad_left(p.seconds.value ? seconds_text(*p.seconds.value) : "unknown", 14) << pad_left(p.speed.value ? fmt::format("{:.2f} x", *p.speed.value) : "unknown", 9)
          << pad_left(p.noise ? seconds_text(*p.noise) : "-", 11) << "  " << name(p.verdict) << '\n';
  out << '\n';
  for (const BreakEvenMode& mode : result.modes)
    out << wrap(fmt::format("{}: {}{}.", printable(mode.mode), printable(mode.text), !mode.crossings.empty() ? " [inferred]" : ""), "");
  for (const std::string& note : result.notes) out << wrap(printable(note) + ".", "  ");
  out << '\n' << wrap("Batch: examples of a step. Faster or slower: the medians differ by more than twice the noise. Between two batches the difference is taken to change in a straight line.", "");
}

}  // namespace ulpscope::reports
