// An advice for people: the answer, then the evidence, then the settings.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>

#include "reports/export/layout.h"
#include "reports/export/numbers.h"
#include "reports/export/text.h"
#include "reports/export/word_tables.h"

namespace ulpscope::reports {
namespace {

constexpr std::size_t label_width = 14;
constexpr std::size_t row_width = 20;
constexpr std::size_t cell_width = 15;
constexpr std::size_t modes_in_a_row = 4;

void item(std::ostream& out, std::string_view label, const std::string& text) {
  if (!text.empty()) out << wrap(printable(text), "  " + pad_right(label, label_width));
}

void items(std::ostream& out, std::string_view label, const std::vector<std::string>& list) {
  for (const std::string& text : list) {
    item(out, label, text);
    label = "";
  }
}

std::string answer(const DeviceAdvice& a) {
  if (a.device.empty()) return a.outcome == AdviceOutcome::none ? "no GPU named: no mode can be used" : "no GPU named: undecided";
  const std::string who = a.asked == a.device || a.asked.empty() ? a.device : fmt::format("{} (\"{}\")", a.device, a.asked);
  if (a.outcome == AdviceOutcome::recommended) return fmt::format("{}: {}", who, a.winner);
  if (a.outcome == AdviceOutcome::none) return fmt::format("{}: no mode", who);
  return fmt::format("{}: undecided", who);
}

const ModeAdvice* find(const DeviceAdvice& a, const std::string& mode) {
  const auto found = std::find_if(a.modes.begin(), a.modes.end(), [&](const ModeAdvice& m) { return m.evidence.mode == mode; });
  return found == a.modes.end() ? nullptr : &*found;
}

using Cell = std::function<std::string(const ModeAdvice&)>;

/// One line of the table; none where no mode has anything to say.
void row(std::ostream& out, const std::vector<const ModeAdvice*>& modes, std::string_view label, const Cell& cell) {
  std::string line = pad_right(label, row_width);
  bool any = false;
  for (const ModeAdvice* m : modes) {
    const std::string text = cell(*m);
    any |= !text.empty() && text != "-";
    line += pad_left(shorten(printable(text), cell_width - 1), cell_width);
  }
  if (any) out << line << '\n';
}

std::string provenance(const Figure& figure) { return figure.value ? std::string(name(figure.provenance)) : "-"; }
std::string range(const Figure& figure, FigureStyle style) {
  const std::string text = range_text(figure, style);
  return text.empty() ? "-" : text;
}
const Figure& step_of(const ModeAdvice& m) { return m.evidence.measured.value ? m.evidence.measured : m.evidence.projected; }
std::string gigabytes(double bytes) { return bytes < 0.9995e9 ? fmt::format("{:.3g} MB", bytes * 1e-6) : fmt::format("{:.3g} GB", bytes * 1e-9); }
std::string memory_range(const Figure& f) {
  if (!f.low || !f.high) return "-";
  return *f.high < 0.9995e9 ? fmt::format("{:.3g}…{:.3g} MB", *f.low * 1e-6, *f.high * 1e-6) : fmt::format("{:.3g}…{:.3g} GB", *f.low * 1e-9, *f.high * 1e-9);
}

Cell finding(Trouble ModeEvidence::*part) {
  return [part](const ModeAdvice& m) {
    const Trouble& f = m.evidence.*part;
    if (f.known == Known::unknown || f.provenance != Provenance::projected) return std::string(name(f.known));
    return std::string(f.known == Known::found ? "foreseen" : "none foreseen");
  };
}

/// Of what is said of its values: those of one mode are of one kind.
std::string finding_provenance(const ModeAdvice& m) {
  for (const Trouble* f : {&m.evidence.overflow, &m.evidence.flushed, &m.evidence.lost, &m.evidence.other})
    if (f->known != Known::unknown) return std::string(name(f->provenance));
  return "-";
}

void numerics_rows(std::ostream& out, const std::vector<const ModeAdvice*>& modes) {
  row(out, modes, "  loss", [](const ModeAdvice& m) { return m.evidence.trained ? std::string(name(m.evidence.verdict)) : m.evidence.from.empty() ? "not run" : "not ended"; });
  row(out, modes, "    seeds under both", [](const ModeAdvice& m) { return m.evidence.pairs > 0 ? fmt::format("{}", m.evidence.pairs) : "-"; });
  row(out, modes, "    less fp32's", [](const ModeAdvice& m) { return m.evidence.distance.value ? difference_text(*m.evidence.distance.value) : "-"; });
  row(out, modes, "    which is", [](const ModeAdvice& m) { return provenance(m.evidence.distance); });
  row(out, modes, "  overflow", finding(&ModeEvidence::overflow));
  row(out, modes, "  flushed", finding(&ModeEvidence::flushed));
  row(out, modes, "  lost updates", finding(&ModeEvidence::lost));
  row(out, modes, "  other damage", finding(&ModeEvidence::other));
  row(out, modes, "    which is", finding_provenance);
  row(out, modes, "  steps skipped", [](const ModeAdvice& m) { return m.evidence.skipped.value && m.evidence.steps.value ? fmt::format("{:.0f} of {:.0f}", *m.evidence.skipped.value, *m.evidence.steps.value) : "-"; });
  row(out, modes, "    which is", [](const ModeAdvice& m) { return provenance(m.evidence.skipped); });
  row(out, modes, "  error to fp32", [](const ModeAdvice& m) { return m.evidence.error.value ? fmt::format("{:.2g}", *m.evidence.error.value) : "-"; });
  row(out, modes, "    which is", [](const ModeAdvice& m) { return provenance(m.evidence.error); });
}

void device_rows(std::ostream& out, const std::vector<const ModeAdvice*>& modes) {
  row(out, modes, "  a step", [](const ModeAdvice& m) { return step_of(m).value ? seconds_text(*step_of(m).value) : "unknown"; });
  row(out, modes, "    from…to", [](const ModeAdvice& m) { return range(step_of(m), FigureStyle::seconds); });
  row(out, modes, "    which is", [](const ModeAdvice& m) { return provenance(step_of(m)); });
  row(out, modes, "  × fp32's speed", [](const ModeAdvice& m) { return m.speed.value ? fmt::format("{:.2f}", *m.speed.value) : "unknown"; });
  row(out, modes, "    from…to", [](const ModeAdvice& m) { return m.speed.low && m.speed.high ? fmt::format("{:.2f}…{:.2f}", *m.speed.low, *m.speed.high) : "-"; });
  row(out, modes, "    from steps", [](const ModeAdvice& m) { return provenance(m.speed); });
  row(out, modes, "  memory", [](const ModeAdvice& m) { return m.evidence.memory.value ? gigabytes(*m.evidence.memory.value) : "unknown"; });
  row(out, modes, "    from…to", [](const ModeAdvice& m) { return memory_range(m.evidence.memory); });
  row(out, modes, "    which is", [](const ModeAdvice& m) { return provenance(m.evidence.memory); });
  row(out, modes, "  fits", [](const ModeAdvice& m) { return std::string(name(m.evidence.fits)); });
  row(out, modes, "  greatest batch", [](const ModeAdvice& m) { return m.evidence.largest_batch ? fmt::format("{}{}", m.evidence.batch_capped ? "≥" : "", *m.evidence.largest_batch) : "-"; });
}

void table(const DeviceAdvice& a, std::ostream& out) {
  for (std::size_t first = 0; first < a.modes.size(); first += modes_in_a_row) {
    std::vector<const ModeAdvice*> modes;
    for (std::size_t i = first; i < std::min(first + modes_in_a_row, a.modes.size()); ++i) modes.push_back(&a.modes[i]);
    out << '\n';
    row(out, modes, "evidence", [](const ModeAdvice& m) { return m.evidence.mode; });
    if (!a.device.empty()) row(out, modes, "  on this GPU", [](const ModeAdvice& m) { return std::string(name(m.there.support)); });
    row(out, modes, "  answer", [&](const ModeAdvice& m) { return m.evidence.mode == a.winner ? std::string(a.outcome == AdviceOutcome::recommended ? "recommended" : "leans to it") : m.refused.empty() ? "possible" : "refused"; });
    numerics_rows(out, modes);
    if (!a.device.empty()) device_rows(out, modes);
  }
}

/// Of several GPUs the answers first, a line each.
void overview(const std::vector<DeviceAdvice>& devices, std::ostream& out) {
  if (devices.size() < 2) return;
  out << "\n  GPU               answer       mode        × fp32's speed (from…to)       fits\n";
  for (const DeviceAdvice& a : devices) {
    const ModeAdvice* winner = find(a, a.winner);
    std::string speed = "-";
    if (winner != nullptr && winner->speed.value) {
      speed = fmt::format("{:.2f}", *winner->speed.value);
      if (winner->evidence.mode != "fp32") speed += fmt::format(" ({:.2f}…{:.2f}) {}", winner->speed.low.value_or(*winner->speed.value), winner->speed.high.value_or(*winner->speed.value), name(winner->speed.provenance));
    }
    const std::string line = "  " + pad_right(shorten(printable(a.device), 17), 18) + pad_right(name(a.outcome), 13) + pad_right(winner == nullptr ? "-" : shorten(printable(a.winner), 11), 12) + pad_right(shorten(speed, 30), 31) +
                             (winner == nullptr ? "" : std::string(name(winner->evidence.fits)));
    out << line.substr(0, line.find_last_not_of(' ') + 1) << '\n';
  }
}

void device_lines(const DeviceAdvice& a, std::ostream& out) {
  out << '\n' << printable(answer(a)) << '\n';
  item(out, "why", a.reason);
  items(out, a.winner == "fp32" ? "left undone" : "beside fp32", a.costs);
  if (!a.device.empty()) item(out, "runner-up", runner_up_words(a));
  items(out, a.outcome == AdviceOutcome::recommended ? "would change" : "would decide", a.would_change);
  items(out, "to know", a.said);
  std::vector<std::string> refused;
  for (const ModeAdvice& m : a.modes)
    if (!m.refused.empty()) refused.push_back(fmt::format("{}: {}", m.evidence.mode, fmt::join(m.refused, "; ")));
  items(out, "refused", refused);
  table(a, out);
  if (a.settings.hugging_face.empty() && a.settings.pytorch.empty()) return;
  out << '\n' << printable(fmt::format("settings of {}{}", a.winner, a.outcome == AdviceOutcome::recommended ? "" : ", should it be chosen")) << '\n';
  item(out, "Hugging Face", a.settings.hugging_face);
  item(out, "PyTorch", a.settings.pytorch);
  item(out, "DeepSpeed", a.settings.deepspeed);
}

}  // namespace

void TextExporter::write(const Advice& advice, std::ostream& out) const {
  out << wrap(printable(fmt::format("{}: {}", advice.file, advice.experiment)), "");
  overview(advice.devices, out);
  for (const DeviceAdvice& device : advice.devices) device_lines(device, out);
  if (!advice.notes.empty()) out << '\n';
  for (const std::string& note : advice.notes) out << wrap(printable(note), "note  ");
}

}  // namespace ulpscope::reports
