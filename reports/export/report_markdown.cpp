#include "reports/export/report_markdown.h"

#include <fmt/format.h>

#include <algorithm>

#include "reports/export/markdown_parts.h"
#include "reports/export/numbers.h"
#include "reports/export/word_tables.h"
#include "reports/export/write_window.h"

namespace ulpscope::reports {
namespace {

using namespace markdown;

constexpr std::size_t wide = 100;  // columns: nothing is cut
constexpr std::size_t most_nodes_across = 10;  // of a mode, machines side by side

std::string verdict_part(const Report& report) {
  const VerdictSection& v = report.verdict;
  std::string out;
  for (const VerdictAnswer& answer : v.answers) out += fmt::format("**{}**\n\n", markdown_escaped(answer.sentence));
  if (!v.caveats.empty()) {
    for (const std::string& caveat : v.caveats) out += fmt::format("> {}\n>\n", markdown_escaped(caveat));
    out.erase(out.size() - 2);
    out += '\n';
  }
  const auto part = [&](const char* title, const std::vector<std::string>& items) {
    if (!items.empty()) out += fmt::format("{}:\n\n{}\n", title, list(items));
  };
  part("Why", v.all(&VerdictAnswer::why));
  part("What it costs and saves", v.all(&VerdictAnswer::costs));
  std::vector<std::string> change, decide;  // of an answer that is given, and of one that is not
  for (const VerdictAnswer& answer : v.answers) {
    const std::string who = v.answers.size() > 1 && !whose(answer).empty() ? whose(answer) + ": " : "";
    for (const std::string& words : answer.would_change) (answer.advice.outcome == AdviceOutcome::recommended ? change : decide).push_back(who + words);
  }
  part("What would change the answer", change);
  part("What would decide it", decide);
  for (const VerdictAnswer& answer : v.answers) {
    const WordTable table = advice_table(answer), settings = settings_table(answer);
    if (!answer.advice.device.empty() || v.answers.size() > 1) out += details(table.title, word_table(table));
    if (!settings.rows.empty()) out += details(settings.title, word_table(settings));
  }
  if (!v.notes.empty()) out += details("What the answer rests on", list(v.notes));
  Table table({"mode", "loss against fp32", "as diagnosed", "in words"});
  for (const ModeStanding& mode : v.modes)
    table.row({mode.label, std::string(name(report.modes.modes[mode.mode].judgement.verdict)), words(name(mode.outcome)), mode.health.empty() ? "not diagnosed" : mode.health});
  return out + table.text();
}

std::string figure_cell(const ModeResult& mode, const FigureInfo& info) {
  const Figure& f = info.get(mode);
  if (!f.known()) {
    if (info.style == FigureStyle::scale && mode.loss_scaling == "none") return "none";
    if (std::string_view(info.key) == "sums_distance" && mode.sums.empty()) return "plain";
    return info.style == FigureStyle::difference && mode.judgement.verdict == Verdict::reference ? "reference" : "unknown";
  }
  const std::string text = info.style == FigureStyle::scale ? range_text(f, info.style) : cell_text(f, info.style, wide);
  return fmt::format("{} [{}]", text.empty() ? cell_text(f, info.style, wide) : text, name(f.provenance));
}

std::string modes_part(const Report& report) {
  const std::vector<ModeResult>& modes = report.modes.modes;
  std::string out = "### Modes side by side\n\n";
  for (const Setting& s : report.modes.settings) out += fmt::format("{}{}, {}\n\n", s.tag.empty() ? "" : markdown_escaped(s.tag) + ": ", markdown_escaped(s.experiment), markdown_escaped(s.device));
  std::vector<std::string> head{""};
  for (const ModeResult& mode : modes) head.push_back(label(mode));
  Table table(head, 1), categories(head, 1);
  for (const FigureInfo& info : comparison_figures()) {
    const bool idle = std::all_of(modes.begin(), modes.end(), [&](const ModeResult& m) { return !info.get(m).known() || (info.style == FigureStyle::bytes && info.get(m).value == 0.0); });
    if (idle) continue;
    std::vector<std::string> cells{info.label};
    for (const ModeResult& mode : modes) cells.push_back(figure_cell(mode, info));
    (std::string_view(info.section) == "peak by category" ? categories : table).row(cells);
  }
  out += table.text();
  if (!categories.empty()) out += details("Memory at the peak, by category", categories.text());
  std::vector<std::string> notes;
  for (const ModeResult& mode : modes)
    for (const std::string& note : mode.notes) notes.push_back(fmt::format("{}: {}", label(mode), note));
  if (!notes.empty()) out += list(notes) + "\n";
  if (!report.modes.warnings.empty()) out += "Not alike:\n\n" + list(report.modes.warnings) + "\n";
  out += runs_table(report);
  for (const WordTable& machines : machine_tables(report.modes, most_nodes_across)) out += details(machines.title, word_table(machines));
  const WordTable sums = sums_table(report.modes.sums_changes);
  return sums.rows.empty() ? out : out + details(sums.title, word_table(sums));
}

std::string overflows_part(const Report& report) {
  constexpr std::size_t most_events = 20, most_causes = 10;
  std::string out = "### Overflows\n\n";
  std::int64_t all = 0;
  for (const std::int64_t of_run : report.overflows.total) all += of_run;
  const std::vector<OverflowEvent>& events = report.overflows.events;
  if (all == 0) out += markdown_escaped(no_overflow_words(report.runs)) + "\n\n";
  if (all > 0) {
    Table table({"run", "step", "began in", "tensor", "cause", "mend", "loss scale", "step was"});
    for (std::size_t i = 0; i < std::min(most_events, events.size()); ++i) {
      const OverflowEvent& e = events[i];
      const OverflowCause* cause = e.cause ? &report.overflows.causes[*e.cause] : nullptr;
      table.row({report.runs[e.run].label, fmt::format("{}", e.step + 1), e.node.empty() ? "unknown" : fmt::format("{} {} ({})", e.operation, e.node, e.phase),
                 e.tensor.empty() ? "unknown" : fmt::format("{} {}", e.format, e.tensor), cause == nullptr ? "unknown" : words(name(cause->cause.kind)), cause == nullptr ? "" : cause->stamp,
                 e.loss_scale ? scale_text(*e.loss_scale) : "none", e.skipped ? "skipped" : "applied"});
    }
    const std::string more = all > static_cast<std::int64_t>(std::min(most_events, events.size())) ? fmt::format("\nThe first {} of {}.\n\n", std::min(most_events, events.size()), all) : "";
    out += details(fmt::format("{} step{} whose gradients were not finite [counted]", all, all == 1 ? "" : "s"), table.text() + more);
  }
  if (report.overflows.causes.empty()) return out + "The diagnosis found no cause of harm in what was observed.\n\n";
  std::string causes;
  for (std::size_t i = 0; i < std::min(most_causes, report.overflows.causes.size()); ++i) {
    const OverflowCause& told = report.overflows.causes[i];
    causes += fmt::format("- **{}** ({}), {}: {}.", markdown_escaped(words(name(told.cause.kind))), name(told.cause.gravity), markdown_escaped(report.runs[told.run].label), markdown_escaped(told.cause.what));
    if (!told.change.empty()) causes += fmt::format(" What helps: {} [{}].", markdown_escaped(told.change), markdown_escaped(told.stamp));
    causes += '\n';
  }
  if (report.overflows.causes.size() > most_causes) causes += fmt::format("- and {} more\n", report.overflows.causes.size() - most_causes);
  return out + details(fmt::format("{} cause{} found", report.overflows.causes.size(), report.overflows.causes.size() == 1 ? "" : "s"), causes);
}

std::string scale_part(const Report& report) {
  if (report.scale.runs.empty()) return "";
  Table table({"run", "overflows", "lowest scale that suits", "highest", "rests on"}, 1);
  for (const ScaleHistory& h : report.scale.runs) {
    const std::string& run = report.runs[h.run].label;
    const std::string overflows = fmt::format("{}", h.overflows.size());
    if (!h.window)
      table.row({run, overflows, "not diagnosed", "not diagnosed", "no scaled gradient of a narrow range was observed"});
    else
      table.row({run, overflows, bounds_text(h.window->model).first, bounds_text(h.window->model).second, fmt::format("{} observed step{} [{}]", h.window->steps.size(), h.window->steps.size() == 1 ? "" : "s", name(h.window->provenance))});
  }
  return "### Loss scale\n\n" + table.text();
}

std::string numerics_part(const Report& report) {
  if (report.numerics.maps.empty()) return "";
  constexpr std::size_t most_layers = 12;
  std::string tables;
  for (const NumericsMap& map : report.numerics.maps) {
    struct Worst {
      std::size_t layer;
      Number room, flushed;
      bool bad;
    };
    std::vector<Worst> layers;
    for (std::size_t l = 0; l < map.cells.size(); ++l) {
      Worst w{l, {}, {}, false};
      for (const NumericsCell& cell : map.cells[l]) {
        if (cell.head_room && (!w.room || *cell.head_room < *w.room)) w.room = cell.head_room;
        if (cell.flushed && (!w.flushed || *cell.flushed > *w.flushed)) w.flushed = cell.flushed;
        w.bad = w.bad || cell.not_finite;
      }
      layers.push_back(w);
    }
    std::stable_sort(layers.begin(), layers.end(), [](const Worst& a, const Worst& b) { return a.room.value_or(1e9) < b.room.value_or(1e9); });
    Table table({"layer of " + report.runs[map.run].label, "head-room, bits", "flushed to zero", "not finite"}, 1);
    for (std::size_t i = 0; i < std::min(most_layers, layers.size()); ++i)
      table.row({map.layers[layers[i].layer], layers[i].room ? number_text(*layers[i].room, 3) : "unknown", layers[i].flushed ? fmt::format("{:.3g} %", 100.0 * *layers[i].flushed) : "unknown", layers[i].bad ? "yes" : "no"});
    tables += table.text();
    if (!map.reading.empty()) tables += fmt::format("{}: {}.\n\n", markdown_escaped(report.runs[map.run].label), markdown_escaped(map.reading));
    if (layers.size() > most_layers) tables += fmt::format("The {} nearest to their limit, of {}.\n\n", most_layers, layers.size() + static_cast<std::size_t>(map.more_layers));
  }
  return "### Numerics\n\n" + details("Layers nearest to the edge of their format, in their worst observed step [computed]", tables);
}

}  // namespace

void write_markdown(const Report& report, std::ostream& out) {
  out << "## ulpscope: " << markdown_escaped(report.title) << "\n\n";
  out << verdict_part(report) << modes_part(report) << scale_part(report) << numerics_part(report) << overflows_part(report);
  out << memory_part(report) << time_part(report) << origin_part(report);
}

}  // namespace ulpscope::reports
