// 2. The modes side by side: the table of `ulpscope compare`, with bars for speed, memory and loss.
#include <fmt/format.h>

#include <algorithm>

#include "reports/export/html/markup.h"
#include "reports/export/numbers.h"
#include "reports/export/write_window.h"

namespace ulpscope::reports::html {
namespace {

constexpr std::size_t most_nodes_across = 12;  // of a mode, machines side by side
constexpr std::size_t wide = 100;  // columns: nothing is cut

bool scaled(FigureStyle style) { return style == FigureStyle::scale; }

Cell cell(const ModeResult& mode, const FigureInfo& info) {
  const Figure& figure = info.get(mode);
  if (!figure.known()) {
    if (scaled(info.style) && mode.loss_scaling == "none") return number_cell("none");
    if (std::string_view(info.key) == "sums_distance" && mode.sums.empty()) return number_cell("plain");
    if (info.style == FigureStyle::difference && mode.judgement.verdict == Verdict::reference) return number_cell("reference");
    return number_cell("unknown");
  }
  std::string text = scaled(info.style) ? range_text(figure, info.style) : cell_text(figure, info.style, wide);
  std::string note;
  const std::string range = range_text(figure, info.style);
  if (info.style == FigureStyle::difference && figure.low && figure.high)
    note = fmt::format("95 %: {} to {}", difference_text(*figure.low), difference_text(*figure.high));
  else if (info.style == FigureStyle::seconds && !range.empty())
    note = range;
  return {text.empty() ? "unknown" : std::move(text), std::move(note)};
}

using Modes = std::vector<const ModeResult*>;

/// Nothing is known of it in any mode, or it is a category that holds nothing.
bool idle(const Modes& modes, const FigureInfo& info) {
  return std::all_of(modes.begin(), modes.end(), [&](const ModeResult* mode) {
    const Figure& figure = info.get(*mode);
    return !figure.known() || (info.style == FigureStyle::bytes && figure.value == 0.0);
  });
}

/// What the numbers of a line are, where they are all the same.
std::string same_provenance(const Modes& modes, const FigureInfo& info) {
  std::string common;
  for (const ModeResult* mode : modes) {
    const Figure& figure = info.get(*mode);
    if (!figure.known()) continue;
    if (!common.empty() && common != name(figure.provenance)) return "";
    common = name(figure.provenance);
  }
  return common;
}

std::string figures_table(const std::string& title, const Modes& modes) {
  std::vector<std::string> head{"figure"};
  for (const ModeResult* mode : modes) head.push_back(mode->tag.empty() ? mode->mode : fmt::format("{} {}", mode->tag, mode->mode));
  Table table(title, head, 1, "wide");
  std::vector<std::string_view> parts;
  for (const FigureInfo& info : comparison_figures())
    if (!idle(modes, info) && std::find(parts.begin(), parts.end(), info.section) == parts.end()) parts.emplace_back(info.section);
  for (const std::string_view part : parts) {
    table.part(part);
    for (const FigureInfo& info : comparison_figures()) {
      if (part != info.section || idle(modes, info)) continue;
      const std::string common = same_provenance(modes, info);
      std::vector<Cell> cells{Cell(info.label, common, false)};
      for (const ModeResult* mode : modes) {
        cells.push_back(cell(*mode, info));
        const Figure& figure = info.get(*mode);
        if (common.empty() && figure.known()) cells.back().note += fmt::format("{}{}", cells.back().note.empty() ? "" : ", ", name(figure.provenance));
      }
      table.row(cells);
    }
  }
  return table.text();
}

/// One table of a few modes; of more a table for each setting, so that it fits a page.
std::string figures_tables(const Report& report) {
  constexpr std::size_t few = 8;
  Modes all;
  for (const ModeResult& mode : report.modes.modes) all.push_back(&mode);
  if (all.size() <= few || report.modes.settings.size() < 2) return figures_table("The modes side by side", all);
  std::string out;
  for (const Setting& setting : report.modes.settings) {
    Modes own;
    for (const ModeResult* mode : all)
      if (mode->tag == setting.tag) own.push_back(mode);
    if (!own.empty()) out += figures_table(fmt::format("The modes of {}, {}", setting.tag, setting.device), own);
  }
  return out;
}

std::string seeds_table(const Report& report) {
  Table table("Every seed", {"run", "status", "final loss", "held-out loss", "steps applied", "skipped", "notes"}, 2);
  for (const ModeResult& mode : report.modes.modes)
    for (const RunResult& run : mode.runs) {
      const auto number = [](const Number& value) { return number_cell(value ? number_text(*value) : "unknown"); };
      const auto count = [](const Count& value) { return number_cell(value ? fmt::format("{}", *value) : "unknown"); };
      std::string notes;
      for (const auto& note : {divergence_note(run), status_note(run)})
        if (note) notes += (notes.empty() ? "" : "; ") + *note;
      table.row({fmt::format("{}{}{}, seed {}", mode.tag, mode.tag.empty() ? "" : " ", mode.mode, run.run.seed), status_text(run), number_cell(final_loss_words(run, [](double x) { return number_text(x); })),
                 number(run.held_out_loss), count(run.applied), count(run.skipped), notes});
    }
  return table.text();
}

}  // namespace

std::string modes_html(const Report& report) {
  std::string out = section_begin("modes", "The modes side by side", "Differences from fp32 are paired by seed. What the numbers of a line are stands below its name, or, where they differ, below each.");
  if (report.modes.settings.size() > 1) {
    Table settings("What was run", {"", "experiment", "device"});
    for (const Setting& setting : report.modes.settings) settings.row({setting.tag, setting.experiment, setting.device});
    out += settings.text();
  }
  out += "<div class=\"cards three\">";
  out += chart("speed", "Speed", "× fp32's, by the median step; more is faster. Pale: emulated, says nothing of hardware.");
  out += chart("peak", "Peak memory", "× fp32's peak; less is smaller.");
  out += chart("distance", "Loss against fp32", "Difference paired by seed, its 95 % interval, and ±1 standard deviation between fp32 seeds (grey).");
  out += "</div>\n";
  out += figures_tables(report);
  out += details("Every seed", seeds_table(report));
  const std::vector<WordTable> machines = machine_tables(report.modes, most_nodes_across);
  if (!machines.empty()) out += element("h3", "Machines side by side");
  for (const WordTable& table : machines) out += word_table(table);
  const WordTable sums = sums_table(report.modes.sums_changes);
  if (!sums.rows.empty()) out += element("h3", "Sums of matrix units") + word_table(sums);
  std::vector<std::string> notes;
  for (const ModeResult& mode : report.modes.modes)
    for (const std::string& note : mode.notes) notes.push_back(fmt::format("{}{}{}: {}", mode.tag, mode.tag.empty() ? "" : " ", mode.mode, note));
  notes.insert(notes.end(), report.modes.notes.begin(), report.modes.notes.end());
  if (!notes.empty()) out += details("Notes", list(notes));
  return out + std::string(section_end);
}

std::string curves_html(const Report& report) {
  std::string out = section_begin("loss", "Loss", "Training loss of every run, with the spread of the fp32 seeds shaded. Thinned by least and greatest: no spike is lost.");
  std::string controls =
      "<fieldset><legend>against</legend><label><input type=\"radio\" name=\"loss-x\" value=\"step\" checked> step</label>"
      "<label><input type=\"radio\" name=\"loss-x\" value=\"time\"> time</label></fieldset>"
      "<label><input type=\"checkbox\" id=\"loss-log\"> logarithmic</label>"
      "<label><input type=\"checkbox\" id=\"loss-held-out\" checked> held-out loss</label>";
  std::string what = "Loss by step. Points: held-out loss; ticks at the foot: skipped steps; red: NaN or infinite.";
  for (const SeedBand& band : report.curves.bands)
    what += fmt::format(" Shaded: least to greatest of {} fp32 seeds{}.", band.seeds, band.tag.empty() ? "" : " of " + band.tag);
  out += chart("loss", "Loss", what, controls);
  std::vector<std::string> thinned;
  const auto thin = [&](const ReportRun& run, const char* things, std::size_t all, std::size_t most) {
    if (all > most) thinned.push_back(fmt::format("{}: one in {} of its {} {} is drawn; all are in the other forms", run.label, every(all, most), all, things));
  };
  for (const RunCurves& run : report.curves.runs) {
    thin(report.runs[run.run], "gaps", run.series.loss.gaps.size(), most_gaps);
    thin(report.runs[run.run], "skipped steps", run.series.skipped.size(), most_marks);
  }
  out += list(thinned, "notes");
  return out + std::string(section_end);
}

std::string scale_html(const Report& report) {
  std::string out = section_begin("scale", "Loss scale", "");
  if (report.scale.runs.empty()) return out + element("p", "No run scales its loss.", "none") + std::string(section_end);
  out += chart("scale", "Loss scale in force", "On a log2 axis. Crosses: steps whose gradients were not finite. Band: scales that neither overflow nor flush more than the share allowed, as diagnosed.",
               "<label>window of <select id=\"scale-run\"></select></label>");
  Table table("Windows of the loss scale", {"run", "lowest", "decided by", "highest", "decided by", "overflows", "rests on"});
  for (const ScaleHistory& history : report.scale.runs) {
    const std::string overflows = fmt::format("{}", history.overflows.size());
    if (!history.window) {
      table.row({report.runs[history.run].label, "not diagnosed", "", "not diagnosed", "", overflows, "no scaled gradient of a narrow range was observed"});
      continue;
    }
    const LossScaleWindow& window = *history.window;
    const auto [lowest, highest] = bounds_text(window.model);
    table.row({report.runs[history.run].label, lowest, window.lowest_layer, highest, window.highest_layer,
               overflows, fmt::format("{} observed step{}, {}", window.steps.size(), window.steps.size() == 1 ? "" : "s", name(window.provenance))});
  }
  std::vector<std::string> thinned;
  for (const ScaleHistory& history : report.scale.runs)
    if (const std::size_t all = history.overflows.size(); all > most_marks)
      thinned.push_back(fmt::format("{}: one in {} of its {} overflows is drawn", report.runs[history.run].label, every(all, most_marks), all));
  return out + list(thinned, "notes") + table.text() + std::string(section_end);
}

}  // namespace ulpscope::reports::html
