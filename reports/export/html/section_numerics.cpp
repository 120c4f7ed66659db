// 5. Numerics, and 6. what overflowed.
#include <fmt/format.h>

#include <algorithm>

#include "reports/analysis/imported.h"
#include "reports/export/html/markup.h"
#include "reports/export/numbers.h"

namespace ulpscope::reports::html {

namespace {

std::string nothing_observed(const Report& report) {
  const bool others = std::all_of(report.runs.begin(), report.runs.end(), [](const ReportRun& run) { return imported(run.run).has_value(); });
  return others ? "No statistics of tensors are on record: what was imported has none." : "No step was observed: run with observe.every above 0.";
}

}  // namespace

std::string numerics_html(const Report& report) {
  std::string out = section_begin("numerics", "Numerics", "How far every layer is from the edges of its format.");
  const NumericsSection& numerics = report.numerics;
  if (numerics.maps.empty() && numerics.histograms.empty())
    return out + element("p", nothing_observed(report), "none") + std::string(section_end);
  if (!numerics.maps.empty()) {
    std::vector<std::string> notes;
    for (const NumericsMap& map : numerics.maps) {
      const std::string& label = report.runs[map.run].label;
      if (!map.reading.empty()) notes.push_back(fmt::format("{}: {}", label, map.reading));
      if (map.more_layers > 0) notes.push_back(fmt::format("{}: {} more layers are farther from trouble and not drawn", label, map.more_layers));
    }
    out += chart("map", "Layers by step", "Each cell is the worst tensor of a layer in the steps of a column. A cross: values that were not finite. Empty: nothing of the kind was counted.",
                 "<label>run <select id=\"map-run\"></select></label><label>shown <select id=\"map-metric\"></select></label>");
    out += list(notes, "notes");
  }
  if (!numerics.histograms.empty())
    out += chart("histogram", "One tensor's values", "Elements by binary exponent, before rounding into the tensor's format; below, what each format can hold: normal (dark) and subnormal (light) numbers.",
                 "<label>tensor <select id=\"histogram-tensor\"></select></label>");
  else
    out += element("p", "No histogram was recorded.", "none");
  return out + std::string(section_end);
}

namespace {

std::string kind_words(Kind kind) {
  std::string words(name(kind));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

std::string events_table(const Report& report, std::size_t begin, std::size_t end) {
  Table table("Steps whose gradients were not finite", {"run", "step", "operation", "tensor", "cause", "mend", "loss scale", "step was"});
  for (std::size_t i = begin; i < end; ++i) {
    const OverflowEvent& event = report.overflows.events[i];
    const OverflowCause* cause = event.cause ? &report.overflows.causes[*event.cause] : nullptr;
    std::string where = event.node.empty() ? (event.tensor.empty() ? "unknown" : "none") : fmt::format("{} {}", event.operation, event.node);
    std::string why = event.node.empty() ? (!event.tensor.empty() ? "it was read so" : event.observed ? "observed, and no operation stands out" : "this step was not observed") : event.phase;
    std::string tensor = event.tensor;
    std::string beside;
    if (!event.tensor.empty()) {
      beside = fmt::format("{}, {} not finite", event.format, event.not_finite ? fmt::format("{}", *event.not_finite) : "some");
      if (event.greatest_magnitude) beside += fmt::format(", greatest {}", number_text(*event.greatest_magnitude, 4));
    }
    table.row({report.runs[event.run].label, number_cell(fmt::format("{}", event.step + 1)), Cell(where, why, false), Cell(tensor, beside, false),
               cause != nullptr ? Cell(kind_words(cause->cause.kind), std::string(name(cause->cause.gravity)), false) : Cell("unknown"),
               cause != nullptr && !cause->stamp.empty() ? Cell(cause->stamp, cause->change, false) : Cell(""),
               number_cell(event.loss_scale ? scale_text(*event.loss_scale) : "none"), event.skipped ? "skipped" : "applied"});
  }
  return table.text();
}

std::string cause_html(const Report& report, const OverflowCause& told) {
  const Cause& cause = told.cause;
  std::string out = "<article class=\"card cause\"><header>";
  out += element("span", name(cause.gravity), fmt::format("badge {}", name(cause.gravity)));
  out += element("strong", kind_words(cause.kind));
  if (!cause.node.empty()) out += element("code", cause.node);
  out += element("span", fmt::format("{}{}", report.runs[told.run].label, cause.step ? fmt::format(", step {}", *cause.step + 1) : ""), "quiet");
  out += "</header>" + element("p", cause.what);
  if (!cause.reaches.empty()) out += element("p", "Reaches " + cause.reaches + ".", "quiet");
  std::vector<std::string> facts;
  for (const Fact& fact : cause.facts) facts.push_back(fmt::format("{}: {} [{}]", fact.label, fact.text, name(fact.provenance)));
  if (!facts.empty()) out += details("What it rests on", list(facts));
  Table remedies("What to change", {"change", "setting", "mend"});
  for (const Remedy& remedy : cause.remedies) remedies.row({remedy.change, remedy.ulpscope.empty() ? Cell(remedy.settings) : Cell(remedy.ulpscope, remedy.settings, false), remedy.status});
  if (!remedies.empty()) out += remedies.text();
  return out + "</article>\n";
}

}  // namespace

std::string overflows_html(const Report& report) {
  std::string out = section_begin("overflows", "Overflows and their causes", "");
  std::vector<std::string> notes;
  for (std::size_t i = 0; i < report.overflows.total.size(); ++i) {
    const auto shown = std::count_if(report.overflows.events.begin(), report.overflows.events.end(), [&](const OverflowEvent& e) { return e.run == i; });
    if (report.overflows.total[i] > shown) notes.push_back(fmt::format("{}: the first {} of {} are listed", report.runs[i].label, shown, report.overflows.total[i]));
  }
  constexpr std::size_t listed = 20;  // the others on demand
  const std::size_t events = report.overflows.events.size();
  if (events == 0)
    out += element("p", no_overflow_words(report.runs), "none");
  else
    out += events_table(report, 0, std::min(listed, events));
  if (events > listed) out += details(fmt::format("{} more", events - listed), events_table(report, listed, events));
  out += list(notes, "notes");
  if (report.overflows.causes.empty()) {
    out += element("p", "The diagnosis found no cause of harm in what was observed.", "none");
  } else {
    constexpr std::size_t at_once = 12;
    std::string more;
    for (std::size_t i = 0; i < report.overflows.causes.size(); ++i) (i < at_once ? out : more) += cause_html(report, report.overflows.causes[i]);
    if (!more.empty()) out += details(fmt::format("{} more", report.overflows.causes.size() - at_once), more);
  }
  return out + std::string(section_end);
}

}  // namespace ulpscope::reports::html
