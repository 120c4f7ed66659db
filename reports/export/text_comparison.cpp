#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "reports/export/layout.h"
#include "reports/export/machines.h"
#include "reports/export/numbers.h"
#include "reports/export/text.h"

namespace ulpscope::reports {
namespace {

constexpr std::size_t label_width = 20;
constexpr std::size_t cell_width = 15;  // with the space before it
constexpr std::size_t modes_in_a_block = 4;

using Modes = std::vector<const ModeResult*>;

void row(std::ostream& out, std::string_view label, const std::vector<std::string>& cells) {
  std::string line = pad_right(label, label_width);
  for (const std::string& cell : cells) line += pad_left(shorten(cell, cell_width - 1), cell_width);
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

bool scaled(FigureStyle style) { return style == FigureStyle::scale; }

std::string cell(const ModeResult& mode, const FigureInfo& info) {
  const Figure& figure = info.get(mode);
  if (!figure.known()) {
    if (scaled(info.style) && mode.loss_scaling == "none") return "none";
    if (std::string_view(info.key) == "sums_distance" && mode.sums.empty()) return "plain";
    if (info.style == FigureStyle::difference && mode.judgement.verdict == Verdict::reference) return "reference";
  }
  // The range is a line of its own for times and differences; a scale's range is the cell.
  if (scaled(info.style)) {
    const std::string range = range_text(figure, info.style);
    return range.empty() ? "unknown" : range;
  }
  return cell_text(figure, info.style, cell_width - 1);
}

// A category that holds nothing in any mode is not worth a line.
bool empty_everywhere(const Modes& modes, const FigureInfo& info) {
  return std::all_of(modes.begin(), modes.end(), [&](const ModeResult* mode) {
    const Figure& figure = info.get(*mode);
    return !figure.known() || (info.style == FigureStyle::bytes && figure.value == 0.0);
  });
}

// What the figures of a section are, mode by mode: the first figure's word. A line of figures that differ says its own.
std::vector<std::string> section_provenance(const Modes& modes, std::string_view section) {
  std::vector<std::string> words;
  for (const ModeResult* mode : modes) {
    const auto& figures = comparison_figures();
    const auto first = std::find_if(figures.begin(), figures.end(), [&](const FigureInfo& info) {
      return info.section == section && info.get(*mode).known();
    });
    words.emplace_back(first == figures.end() ? name(Provenance::unknown) : name(first->get(*mode).provenance));
  }
  return words;
}

bool nothing_known(const Modes& modes, std::string_view section) {
  return std::all_of(comparison_figures().begin(), comparison_figures().end(), [&](const FigureInfo& info) {
    return info.section != section ||
           std::none_of(modes.begin(), modes.end(), [&](const ModeResult* mode) { return info.get(*mode).known(); });
  });
}

void figure_rows(const Modes& modes, const FigureInfo& info, const std::vector<std::string>& of_section,
                 std::ostream& out) {
  std::vector<std::string> values;
  std::vector<std::string> ranges;
  std::vector<std::string> lows;
  std::vector<std::string> highs;
  std::vector<std::string> samples;
  std::vector<std::string> words;
  bool ranged = false;
  bool sampled = false;
  bool differs = false;
  for (const ModeResult* mode : modes) {
    const Figure& figure = info.get(*mode);
    values.push_back(cell(*mode, info));
    ranges.push_back(range_text(figure, info.style));
    lows.push_back(figure.low ? difference_text(*figure.low) : "");
    highs.push_back(figure.high ? difference_text(*figure.high) : "");
    ranged |= !ranges.back().empty();
    samples.push_back(figure.samples ? fmt::format("{}", *figure.samples) : "");
    sampled |= figure.samples.has_value();
    words.push_back(figure.known() ? std::string(name(figure.provenance)) : "");
    differs |= figure.known() && words.back() != of_section[words.size() - 1];
  }
  row(out, fmt::format("  {}", info.label), values);
  if (info.style == FigureStyle::difference && ranged) {
    row(out, "    95 % from", lows);
    row(out, "    to", highs);
  }
  if (info.style == FigureStyle::seconds && ranged) row(out, "    quartiles", ranges);
  if (info.style == FigureStyle::seconds && sampled) row(out, "    steps timed", samples);
  if (differs) row(out, "    which is", words);
}

void block(const Modes& modes, std::ostream& out) {
  std::vector<std::string> cells;
  std::vector<std::string> tags;
  for (const ModeResult* mode : modes) {
    cells.push_back(printable(mode->mode));
    tags.push_back(mode->tag);
  }
  row(out, "", cells);
  if (std::any_of(tags.begin(), tags.end(), [](const std::string& tag) { return !tag.empty(); })) row(out, "", tags);
  for (const std::string_view section : {"loss", "steps", "time", "memory", "peak by category"}) {
    const std::vector<std::string> words = section_provenance(modes, section);
    const bool unknown = nothing_known(modes, section);
    if (unknown && section == "peak by category") continue;  // the line of the peak says so
    row(out, section, words);
    if (unknown) continue;
    for (const FigureInfo& info : comparison_figures())
      if (info.section == section && !empty_everywhere(modes, info)) figure_rows(modes, info, words, out);
    if (section == "loss") {
      std::vector<std::string> verdicts;
      for (const ModeResult* mode : modes) verdicts.emplace_back(name(mode->judgement.verdict));
      row(out, "  verdict", verdicts);
    }
  }
  out << '\n';
}

void verdicts(const Comparison& comparison, std::ostream& out) {
  std::size_t width = 0;
  const auto label = [](const ModeResult& mode) {
    return printable(mode.tag.empty() ? mode.mode : mode.mode + " " + mode.tag);
  };
  for (const ModeResult& mode : comparison.modes) width = std::max(width, columns(label(mode)));
  width = std::min<std::size_t>(width, 20) + 2;
  for (const ModeResult& mode : comparison.modes) {
    std::string head = pad_right(label(mode), width);
    if (mode.judgement.verdict != Verdict::reference) {
      out << wrap(printable(fmt::format("{}: {}.", name(mode.judgement.verdict), mode.judgement.reason)), head);
      head = std::string(width, ' ');
    }
    for (const std::string& note : mode.notes) {
      out << wrap(printable(note) + (note.ends_with('.') ? "" : "."), head);
      head = std::string(width, ' ');
    }
  }
}

void legend(const Comparison& comparison, std::ostream& out) {
  std::set<Provenance> used;
  for (const ModeResult& mode : comparison.modes)
    for (const FigureInfo& info : comparison_figures())
      if (info.get(mode).known()) used.insert(info.get(mode).provenance);
  out << '\n';
  out << wrap(
      "Final loss: mean of the last 10 recorded steps whose loss is finite; NaN if the run ended in numbers that are not. ±: one "
      "standard deviation between seeds. Steps: all seeds together. Step time: median of the timing phase, which times one "
      "seed.",
      "");
  const auto say = [&](Provenance provenance, std::string_view words) {
    if (used.contains(provenance)) out << wrap(words, pad_right(name(provenance), 12));
  };
  say(Provenance::measured, "read from a clock on the device that did the work.");
  say(Provenance::counted, "counted while it happened.");
  say(Provenance::computed, "the result of arithmetic: in training or from what was recorded.");
  say(Provenance::recomputed, "from a second calculation beside the run's own.");
  say(Provenance::inferred, "concluded from other evidence.");
  say(Provenance::emulated,
      "this processor carries the format out in software; the time says nothing about hardware that "
      "has it, and no verdict on speed is drawn.");
  say(Provenance::projected, "calculated for a device that is not here.");
  say(Provenance::unknown, "the recording does not say where the figure comes from.");
}

}  // namespace

void TextExporter::write(const Comparison& comparison, std::ostream& out) const {
  std::string files;
  for (const std::string& file : comparison.files) files += (files.empty() ? "" : ", ") + printable(file);
  out << wrap(files, "Comparison of ");
  for (const Setting& setting : comparison.settings) {
    const std::string head = setting.tag.empty() ? "" : setting.tag + ": ";
    out << wrap(printable(setting.experiment), head);
    out << wrap(printable(setting.device), std::string(head.size(), ' '));
  }
  for (const std::string& producer : comparison.producers) out << wrap(printable(producer), "Recorded by ");
  out << '\n';
  if (comparison.machines) machines_text(*comparison.machines, nodes_across, out);
  const bool side_by_side = comparison.machines && !comparison.machines->modes.empty();
  if (side_by_side)
    out << wrap("Losses, steps and memory by category of one machine: compare its files alone; all of them: --json.", "") << '\n';
  for (std::size_t begin = 0; begin < comparison.modes.size() && !side_by_side; begin += modes_in_a_block) {
    Modes modes;
    for (std::size_t i = begin; i < std::min(begin + modes_in_a_block, comparison.modes.size()); ++i)
      modes.push_back(&comparison.modes[i]);
    block(modes, out);
  }
  sums_changes_text(comparison.sums_changes, out);
  verdicts(comparison, out);
  if (!comparison.warnings.empty()) out << '\n';
  for (const std::string& warning : comparison.warnings) out << wrap(printable(warning) + ".", "Warning: ");
  if (!comparison.notes.empty()) out << '\n';
  for (const std::string& note : comparison.notes) out << wrap(printable(note) + ".", "Recording: ");
  legend(comparison, out);
}

}  // namespace ulpscope::reports
