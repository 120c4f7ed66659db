#include "reports/export/word_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "reports/export/numbers.h"

namespace ulpscope::reports {
namespace {

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, "; ")); }
std::string is(const Figure& f) { return f.value ? fmt::format(" [{}]", name(f.provenance)) : ""; }
std::string percent(const Number& share) { return share ? fmt::format("{:.3g} %", 100.0 * *share) : "unknown"; }

std::string range(const Figure& f, std::string (*text)(double)) {
  if (!f.low || !f.high || *f.low == *f.high) return "";
  return fmt::format(" ({} to {})", text(*f.low), text(*f.high));
}
std::string seconds(const Figure& f) { return f.value ? seconds_text(*f.value) + range(f, seconds_text) + is(f) : "unknown"; }
std::string bytes(const Figure& f) { return f.value ? bytes_text(*f.value) + range(f, bytes_text) + is(f) : "unknown"; }
std::string factor(double v) { return fmt::format("{:.3g}", v); }
std::string times(const Figure& f) { return f.value ? factor(*f.value) + " ×" + range(f, factor) + is(f) : "unknown"; }

std::string answer_cell(const DeviceAdvice& a, const ModeAdvice& m) {
  if (m.evidence.mode == a.winner) return a.outcome == AdviceOutcome::recommended ? "recommended" : "leans to it";
  return m.refused.empty() ? "possible" : "out";
}

std::string loss_cell(const ModeEvidence& e) {
  if (!e.trained) return e.from.empty() ? "not run" : "not ended";
  return fmt::format("{}{}", name(e.verdict), e.pairs > 0 ? fmt::format(", {} seed{}", e.pairs, e.pairs == 1 ? "" : "s") : "");
}

std::string machine_cell(const MachineFigureInfo& info, const Figure& f) {
  if (!f.value) return "unknown";
  const double v = *f.value;
  switch (info.style) {
    case MachineStyle::seconds: return seconds(f);
    case MachineStyle::ratio: return factor(v) + " ×" + is(f);
    case MachineStyle::share: return percent(v) + is(f);
    case MachineStyle::bytes: return bytes_text(v) + is(f);
    case MachineStyle::difference: return difference_text(v) + range(f, difference_text) + is(f);
    case MachineStyle::rate:
    case MachineStyle::amount: break;
  }
  return number_text(v, 4) + is(f);
}

std::string yardstick(const Yardstick& y) { return y.value ? fmt::format("{} [{}]", number_text(*y.value, 4), y.from) : "unknown"; }

/// A row of a mode, a cell for each machine that has the mode.
template <class Cell>
void row_of(WordTable& table, std::string label, const MachineMode& mode, Cell&& cell) {
  std::vector<std::string> row{std::move(label)};
  for (std::size_t i = 0; i < mode.at.size(); ++i) row.push_back(mode.at[i].there ? cell(mode.at[i], i) : "not run");
  table.rows.push_back(std::move(row));
}

WordTable mode_table(const MachineComparison& all, const MachineMode& mode, std::size_t nodes) {
  WordTable table{.title = fmt::format("{} on each machine", mode.mode), .head = {"per step"}, .numbers_from = 1, .notes = mode.notes};
  for (const Machine& machine : all.machines) table.head.push_back(machine.tag);
  const std::string first = all.machines.front().tag;
  row_of(table, "the mode is", mode, [](const MachineFigures& m, std::size_t) { return m.runs; });
  row_of(table, "step from", mode, [](const MachineFigures& m, std::size_t) { return m.step_from; });
  for (const MachineFigureInfo& info : machine_figures()) {
    const bool known = std::any_of(mode.at.begin(), mode.at.end(), [&](const MachineFigures& m) { return info.get(m).value.has_value(); });
    if (!known) continue;
    std::string label = info.label;
    if (label.starts_with("to first")) label = "  to " + first + "'s";
    else if (label.ends_with("first")) label = label.substr(0, label.size() - 5) + first + "'s";
    if (*info.unit != '\0' && info.style == MachineStyle::amount) label += fmt::format(" [{}]", info.unit);
    const bool reference = info.style == MachineStyle::ratio || info.style == MachineStyle::difference;
    row_of(table, std::move(label), mode, [&](const MachineFigures& m, std::size_t i) { return i == 0 && reference ? "the first" : machine_cell(info, info.get(m)); });
  }
  row_of(table, "peak [TFLOP/s]", mode, [](const MachineFigures& m, std::size_t) { return yardstick(m.peak); });
  row_of(table, "bandwidth [GB/s]", mode, [](const MachineFigures& m, std::size_t) { return yardstick(m.bandwidth); });
  row_of(table, "clock [MHz]", mode, [](const MachineFigures& m, std::size_t) { return yardstick(m.clock); });
  for (std::size_t i = 0; i < mode.at.size(); ++i) {
    if (!mode.at[i].no_ratio.empty()) table.notes.push_back(fmt::format("no ratio of {}: {}", all.machines[i].tag, mode.at[i].no_ratio));
    if (mode.at[i].throttled) table.notes.push_back(fmt::format("{} was throttled: {}", all.machines[i].tag, mode.at[i].slowed_why));
  }
  for (std::size_t n = 0; n < std::min(nodes, mode.nodes.size()); ++n) {
    const NodeAcross& node = mode.nodes[n];
    row_of(table, fmt::format("{} ({})", node.name, node.phase.empty() ? node.operation : node.phase), mode, [&](const MachineFigures&, std::size_t i) {
      const NodeAcross::At& at = node.at[i];
      return at.seconds.value && at.ratio.value && i > 0 ? fmt::format("{}, {} ×", seconds_text(*at.seconds.value), factor(*at.ratio.value)) : at.seconds.value ? seconds_text(*at.seconds.value) : std::string("unknown");
    });
  }
  if (mode.nodes.size() > nodes) table.notes.push_back(fmt::format("{} of {} launches are listed, those with the greatest share of a step", nodes, mode.nodes.size()));
  return table;
}

WordTable bits_table(const std::vector<BitsAcross>& all) {
  WordTable table{.title = "Losses of machines, bit for bit", .head = {"held against each other", "seed", "verdict", "in words"}};
  for (const BitsAcross& bits : all) table.rows.push_back({fmt::format("{} and {}", bits.first, bits.other), fmt::format("{}", bits.seed), std::string(name(bits.verdict)), bits.text});
  if (!all.empty()) table.notes.emplace_back("Explained: by what another order of the sums can do to first order [computed]");
  return table;
}

std::string change(const Figure& f) { return f.value ? fmt::format("{:+.2g} %{}", 100.0 * *f.value, is(f)) : "unknown"; }

}  // namespace

std::string runner_up_words(const DeviceAdvice& a) {
  const auto second = std::find_if(a.modes.begin(), a.modes.end(), [&](const ModeAdvice& m) { return m.evidence.mode == a.runner_up; });
  if (second == a.modes.end()) return a.winner.empty() ? "" : "none: no other mode that was weighed is possible";
  std::string text = a.runner_up;
  if (a.margin.value) {
    const bool projected = a.margin.provenance == Provenance::projected;
    const std::string between = a.margin.low && a.margin.high ? fmt::format(" ({:.2f}…{:.2f})", *a.margin.low, *a.margin.high) : "";
    text += fmt::format(": {}its step takes {:.2f} x{} as long as that of {} [{}]", projected && a.margin.low.value_or(0.0) < least_speed_up ? "projection cannot tell which is faster: " : "", *a.margin.value, between, a.winner,
                        name(a.margin.provenance));
  }
  if (!second->against.empty()) text += "; " + joined(second->against);
  else if (!second->in_favour.empty()) text += "; " + second->in_favour.front();
  return text;
}

WordTable advice_table(const VerdictAnswer& answer) {
  const DeviceAdvice& a = answer.advice;
  const bool device = !a.device.empty();
  WordTable table{.title = whose(answer).empty() ? "The modes" : fmt::format("The modes: {}", whose(answer)), .head = {"mode", "answer"}};
  if (device) table.head.insert(table.head.end(), {"there it is", "step", "× fp32's speed", "memory", "fits"});
  table.head.insert(table.head.end(), {"loss against fp32", "what speaks against it"});
  for (const ModeAdvice& m : a.modes) {
    const ModeEvidence& e = m.evidence;
    std::vector<std::string> row{e.mode, answer_cell(a, m)};
    if (device) row.insert(row.end(), {std::string(name(m.there.support)), seconds(e.measured.value ? e.measured : e.projected), e.mode == "fp32" ? "reference" : times(m.speed), bytes(e.memory), std::string(name(e.fits))});
    row.insert(row.end(), {loss_cell(e), m.refused.empty() ? joined(m.against) : joined(m.refused)});
    table.rows.push_back(std::move(row));
  }
  table.notes = a.said;
  if (!a.runner_up.empty()) table.notes.insert(table.notes.begin(), "runner-up " + runner_up_words(a));
  return table;
}

WordTable settings_table(const VerdictAnswer& answer) {
  const DeviceAdvice& a = answer.advice;
  WordTable table{.title = fmt::format("Settings of {}{}", a.winner, a.outcome == AdviceOutcome::recommended ? "" : ", should it be chosen"), .head = {"framework", "setting"}};
  if (a.winner.empty()) return table;
  const auto row = [&](const char* framework, const std::string& words) {
    if (!words.empty()) table.rows.push_back({framework, words});
  };
  row("Hugging Face", a.settings.hugging_face);
  row("PyTorch", a.settings.pytorch);
  row("DeepSpeed", a.settings.deepspeed);
  return table;
}

std::vector<WordTable> machine_tables(const Comparison& comparison, std::size_t nodes) {
  std::vector<WordTable> tables;
  if (!comparison.machines || comparison.machines->machines.empty()) return tables;
  const MachineComparison& all = *comparison.machines;
  WordTable& who = tables.emplace_back(WordTable{.title = "Machines", .head = {"", "device", "in the table of GPUs", "files"}, .notes = all.warnings});
  for (const Machine& m : all.machines) who.rows.push_back({m.tag, m.device, m.gpu.empty() ? "no" : m.gpu, fmt::format("{}", fmt::join(m.files, ", "))});
  for (const MachineRefusal& refusal : all.refused) who.notes.push_back(text(refusal, all.machines.front().tag));
  for (const MachineMode& mode : all.modes) tables.push_back(mode_table(all, mode, nodes));
  if (!all.bits.empty()) tables.push_back(bits_table(all.bits));
  return tables;
}

WordTable sums_table(const std::vector<SumsChange>& changes) {
  WordTable table{.title = "What the sums of matrix units change", .head = {"sums", "against", "verdict", "loss", "gradient norm", "steps skipped", "other bits from", "in words"}};
  for (const SumsChange& c : changes) {
    const std::string skipped = c.skipped.value && c.skipped_against.value ? fmt::format("{:.0f}, and {:.0f}", *c.skipped.value, *c.skipped_against.value) : "unknown";
    table.rows.push_back({c.tag.empty() ? c.mode : c.tag + " " + c.mode, c.against, std::string(name(c.judgement.verdict)), c.loss.value ? difference_text(*c.loss.value) + range(c.loss, difference_text) + is(c.loss) : "unknown",
                          change(c.gradient_norm), skipped, c.differs_from ? fmt::format("step {}", *c.differs_from + 1) : "none", c.judgement.reason});
  }
  return table;
}

}  // namespace ulpscope::reports
