// A diagnosis for people, in the order in which it is asked: normal or fatal, where and why, what it rests on, what to
// change, head-room and what will go next.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/sums.h"
#include "reports/export/layout.h"
#include "reports/export/numbers.h"
#include "reports/export/text.h"
#include "reports/export/write_window.h"

namespace ulpscope::reports {
namespace {

constexpr std::size_t most_layers = 12;
constexpr std::size_t most_causes = 6;
constexpr std::size_t label_width = 14;

void item(std::ostream& out, std::string_view label, const std::string& text) {
  if (!text.empty()) out << wrap(printable(text), "  " + pad_right(label, label_width));
}

std::string magnitude(double value) { return std::isfinite(value) ? fmt::format("{:.6g}", value) : number_text(value); }

std::string where(const Cause& cause) {
  std::string text;
  if (!cause.node.empty()) text = fmt::format("{} ({}, {})", cause.node, cause.operation, cause.phase);
  if (!cause.tensor.empty() && cause.tensor != cause.node)
    text += fmt::format("{}{}", text.empty() ? "" : ", in ", cause.tensor);
  if (!cause.format.empty() && !text.empty()) text += ", " + cause.format;
  if (cause.step) text += fmt::format("{}step {}", text.empty() ? "" : ", ", *cause.step + 1);
  if (cause.steps_seen > 1) text += fmt::format(" and {} more", cause.steps_seen - 1);
  if (cause.others > 0) text += fmt::format("; {} more like it in that step", cause.others);
  return text;
}

std::string operand_text(const Operand& o) {
  std::string text = fmt::format("{} {}", o.tensor, o.format);
  if (!o.observed) return text + " (not observed)";
  if (o.greatest_magnitude) text += fmt::format(" up to {} in magnitude", magnitude(*o.greatest_magnitude));
  if (o.not_finite.value_or(0) > 0) text += fmt::format(", {} of {} not finite", *o.not_finite, o.elements.value_or(0));
  return text;
}

void remedy_lines(const Cause& cause, std::ostream& out) {
  std::string label = "change";
  int number = 0;
  for (const Remedy& remedy : cause.remedies) {
    item(out, label, fmt::format("{}. {}", ++number, remedy.change));
    if (!remedy.ulpscope.empty()) item(out, "", fmt::format("   here: {}", remedy.ulpscope));
    if (!remedy.settings.empty()) item(out, "", fmt::format("   {}", remedy.settings));
    item(out, "", fmt::format("   [{}]", remedy.status));
    label.clear();
  }
}

void cause_lines(const Cause& cause, std::size_t number, std::ostream& out) {
  out << '\n' << printable(fmt::format("  {}. {}, {}", number, name(cause.kind), name(cause.gravity))) << '\n';
  item(out, "why", cause.what);
  item(out, "where", where(cause));
  std::vector<std::string> operands;
  for (const Operand& operand : cause.operands) operands.push_back(operand_text(operand));
  item(out, "reads", fmt::format("{}", fmt::join(operands, "; ")));
  if (cause.chain.size() > 1) item(out, "chain", fmt::format("{}", fmt::join(cause.chain, " > ")));
  item(out, "reaches", cause.reaches);
  for (const Fact& fact : cause.facts) {
    const bool wide = columns(fact.label) >= label_width;
    item(out, wide ? "" : fact.label,
         fmt::format("{}{} [{}]", wide ? fact.label + ": " : "", fact.text, name(fact.provenance)));
  }
  remedy_lines(cause, out);
}

std::string bits(const Number& value, const Number& change, bool not_finite) {
  if (not_finite) return "not finite";
  if (!value) return "-";
  std::string text = fmt::format("{:.2f}", *value);
  if (change && std::fabs(*change) >= 0.005) text += fmt::format(" ({:+.2f})", *change);
  return text;
}

std::string share(const Number& value, const Number& change) {
  if (!value) return "-";
  std::string text = fmt::format("{:.3g} %", 100.0 * *value);
  if (change && std::fabs(*change) >= 5e-4) text += fmt::format(" ({:+.2g})", 100.0 * *change);
  return text;
}

void room_table(const RunDiagnosis& run, std::ostream& out) {
  if (run.layers.empty()) return;
  out << "\n  head-room: bits from the greatest magnitude to the limit, in the last\n"
         "  observed step (in brackets: how that moved since the first) [computed]\n";
  out << "  " << pad_right("layer", 23) << pad_right("format", 6) << pad_left("forward", 16) << pad_left("backward", 16)
      << pad_left("lost below", 16) << '\n';
  for (std::size_t i = 0; i < run.layers.size() && i < most_layers; ++i) {
    const LayerRoom& l = run.layers[i];
    out << "  " << pad_right(shorten(printable(l.layer), 22), 23) << pad_right(shorten(l.format, 5), 6)
        << ' ' << pad_left(bits(l.above_forward, l.above_forward_change, l.forward_not_finite), 15)
        << ' ' << pad_left(bits(l.above_backward, l.above_backward_change, l.backward_not_finite), 15)
        << ' ' << pad_left(share(l.flushed, l.flushed_change), 16) << '\n';
  }
  if (run.layers.size() > most_layers)
    out << fmt::format("  {} more with more room: --json\n", run.layers.size() - most_layers);
}

void watch_lines(const RunDiagnosis& run, std::ostream& out) {
  std::string label = "watch";
  for (const Watched& w : run.watch) {
    std::string text = fmt::format("{} {}: up to {} in magnitude, {:.2f} bits below the limit [counted]", w.tensor, w.format,
                                   magnitude(w.greatest_magnitude.value_or(NAN)), w.room.value_or(NAN));
    if (w.leaves)
      text += fmt::format("; grows by {:.3g} bits a step, leaves the range at about step {} [projected]",
                          w.growth.value_or(NAN), *w.leaves + 1);
    item(out, label, text);
    label.clear();
  }
}

std::string observed_text(const RunDiagnosis& run) {
  if (run.observed.empty()) return "none";
  std::vector<std::int64_t> shown;
  for (std::size_t i = 0; i < run.observed.size() && i < 8; ++i) shown.push_back(run.observed[i] + 1);
  std::string text =
      fmt::format("step{} {}{} of {} [counted]", run.observed.size() == 1 ? "" : "s", fmt::join(shown, ", "),
                  run.observed.size() > 8 ? fmt::format(", ... ({} in all)", run.observed.size()) : "", run.steps);
  if (run.not_materialised.value_or(0) > 0)
    text += fmt::format(
        "; {} of the plan {} not materialised ({} in registers of a fused kernel; counted there)",
        *run.not_materialised == 1 ? "1 result" : fmt::format("{} results", *run.not_materialised),
        *run.not_materialised == 1 ? "is" : "are", *run.not_materialised == 1 ? "it passes" : "they pass");
  return text;
}

void healthy_lines(const RunDiagnosis& run, bool full, std::ostream& out) {
  for (const Cause& cause : run.causes)
    if (cause.gravity == Gravity::note) item(out, "note", fmt::format("{}: {}", name(cause.kind), cause.what));
  for (const std::string& note : run.notes) item(out, "note", note);
  std::size_t number = 0;
  for (const Cause& cause : run.causes)
    if (full || cause.gravity == Gravity::contained)
      if (++number <= most_causes) cause_lines(cause, number, out);
  if (number > most_causes) out << fmt::format("\n  {} more: --json\n", number - most_causes);
  if (!full) return watch_lines(run, out);
  item(out, "observed", observed_text(run));
  room_table(run, out);
  if (run.window) write_window(*run.window, out);
  watch_lines(run, out);
}

void run_lines(const RunDiagnosis& run, bool full, std::ostream& out) {
  const std::string head = fmt::format("{} seed {}: ", printable(run.run.mode), run.run.seed);
  out << wrapped(head + printable(run.verdict), "  ") << '\n';
  std::string reasons = fmt::format("{}", fmt::join(run.reasons, "; "));
  if (!reasons.empty()) item(out, run.skipped > 0 ? "skips" : "scale", reasons);
  for (const std::string& knob : run.run.non_standard)
    item(out, "non-standard", knob.starts_with("inject") ? knob + " (there steps count from 0, here from 1)" : knob);
  if (const std::string sums = sums_remark(run.run); !sums.empty()) item(out, "sums", sums);
  if (run.outcome != Outcome::fatal && run.outcome != Outcome::damaged) return healthy_lines(run, full, out);
  item(out, "observed", observed_text(run));
  std::size_t number = 0;
  for (const Cause& cause : run.causes) {
    if (++number <= most_causes) cause_lines(cause, number, out);
  }
  if (number > most_causes) out << fmt::format("\n  {} more: --json\n", number - most_causes);
  room_table(run, out);
  if (run.window) write_window(*run.window, out);
  watch_lines(run, out);
  for (const std::string& note : run.notes) item(out, "note", note);
}

}  // namespace

void TextExporter::write(const Diagnosis& diagnosis, std::ostream& out) const {
  bool first = true;
  for (const RunDiagnosis& run : diagnosis.runs) {
    if (!first) out << '\n';
    first = false;
    run_lines(run, diagnosis.full, out);
  }
}

}  // namespace ulpscope::reports
