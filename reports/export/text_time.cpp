// The time report for people: modes side by side, then each mode's nodes, reasons and notes.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "reports/export/layout.h"
#include "reports/export/numbers.h"
#include "reports/export/text.h"

namespace ulpscope::reports {
namespace {

constexpr std::size_t label_width = 24;
constexpr std::size_t cell_width = 14;  // with the space before it
constexpr std::size_t modes_in_a_block = 4;

using Modes = std::vector<const ModeTime*>;

void row(std::ostream& out, std::string_view label, const std::vector<std::string>& cells) {
  std::string line = pad_right(label, label_width);
  for (const std::string& cell : cells) line += pad_left(shorten(cell, cell_width - 1), cell_width);
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

/// cell(mode) for each mode.
template <class Cell>
void row_of(std::ostream& out, std::string_view label, const Modes& modes, Cell&& cell) {
  std::vector<std::string> cells;
  for (const ModeTime* mode : modes) cells.push_back(cell(*mode));
  row(out, label, cells);
}

std::string seconds_cell(const Number& seconds) { return seconds ? seconds_text(*seconds) : "unknown"; }
std::string percent_cell(const Number& share) { return share ? fmt::format("{:.1f} %", 100.0 * *share) : "unknown"; }
std::string short_percent(const Number& share) { return share ? fmt::format("{:.0f} %", 100.0 * *share) : "?"; }
std::string factor_cell(const Number& factor) { return factor ? fmt::format("{:.2f} x", *factor) : "unknown"; }
std::string rate_cell(const Number& rate) { return rate ? number_text(*rate, *rate < 100.0 ? 3 : 4) : "-"; }

/// Quartiles in one unit: "9.5…11 ms".
std::string quartiles_cell(const Figure& f) {
  if (!f.low || !f.high) return "";
  const double factor = *f.high >= 1.0 ? 1.0 : *f.high >= 1e-3 ? 1e3 : 1e6;
  return fmt::format("{:.3g}…{:.3g} {}", factor * *f.low, factor * *f.high, factor == 1.0 ? "s" : factor == 1e3 ? "ms" : "µs");
}

const CategoryTime* category_of(const ModeTime& mode, TimeCategory category) {
  for (const CategoryTime& c : mode.categories)
    if (c.category == category) return &c;
  return nullptr;
}

/// "12.3 ms 61 %"
std::string category_cell(const ModeTime& mode, TimeCategory category) {
  const CategoryTime* c = category_of(mode, category);
  if (c == nullptr) return mode.categories.empty() ? "unknown" : "-";
  if (!c->seconds.value) return "unknown";
  return fmt::format("{} {}", seconds_text(*c->seconds.value), pad_left(short_percent(c->share), 4));
}

/// "1980 MHz", and what it fell to.
void condition_rows(const Modes& modes, std::ostream& out) {
  const auto with = [&](std::string_view label, auto&& text) {
    row_of(out, label, modes, [&](const ModeTime& m) { return m.condition ? text(*m.condition) : std::string("unknown"); });
  };
  const auto number = [](const Number& value, const char* unit) { return value ? fmt::format("{:.0f} {}", *value, unit) : std::string("unknown"); };
  with("GPU seen while", [](const GpuCondition& c) { return c.phase == "timing" ? std::string("timed") : c.phase == "training" ? std::string("recorded") : std::string("unknown"); });
  with("GPU clock", [&](const GpuCondition& c) { return number(c.core_clock_mhz.value, "MHz"); });
  with("  at least", [&](const GpuCondition& c) { return number(c.core_clock_mhz.low, "MHz"); });
  with("  held down", [](const GpuCondition& c) { return percent_cell(c.slowed.value); });
  with("  power", [&](const GpuCondition& c) { return number(c.power_watts.value, "W"); });
  with("  temperature, at most", [&](const GpuCondition& c) { return number(c.temperature_celsius.high, "°C"); });
}

void step_rows(const Modes& modes, std::ostream& out) {
  row_of(out, "seconds are", modes, [](const ModeTime& m) { return std::string(name(m.step.provenance)); });
  row_of(out, "step", modes, [](const ModeTime& m) { return seconds_cell(m.step.value); });
  row_of(out, "  quartiles", modes, [](const ModeTime& m) { return quartiles_cell(m.step); });
  row_of(out, "  median of", modes, [](const ModeTime& m) { return m.step.samples ? fmt::format("{} {}", *m.step.samples, m.step_from == StepSource::timing_phase ? "timed" : "recorded") : ""; });
  const auto has = [&](auto&& question) { return std::any_of(modes.begin(), modes.end(), [&](const ModeTime* m) { return question(*m); }); };
  if (has([](const ModeTime& m) { return m.device_step.known(); })) row_of(out, "  on the device", modes, [](const ModeTime& m) { return seconds_cell(m.device_step.value); });
  if (has([](const ModeTime& m) { return !m.invalid.empty(); })) row_of(out, "  can be true", modes, [](const ModeTime& m) { return m.invalid.empty() ? "yes" : "INVALID"; });
  row_of(out, "nodes", modes, [](const ModeTime& m) { return seconds_cell(m.nodes_sum.value); });
  row_of(out, "between nodes, idle", modes, [](const ModeTime& m) { return seconds_cell(m.between.value); });
  row_of(out, "  of the step", modes, [](const ModeTime& m) { return percent_cell(m.between_share); });
  if (has([](const ModeTime& m) { return m.condition.has_value(); })) condition_rows(modes, out);
  if (!has([](const ModeTime& m) { return m.device.has_value(); })) return;
  row_of(out, "GPU busy", modes, [](const ModeTime& m) { return m.device ? percent_cell(m.device->busy.value) : "unknown"; });
  row_of(out, "  kernels in a step", modes, [](const ModeTime& m) { return m.device ? number_text(m.device->kernels_per_step.value.value_or(0.0), 4) : "unknown"; });
  row_of(out, "  mean duration", modes, [](const ModeTime& m) { return m.device ? seconds_cell(m.device->kernel_seconds.value) : "unknown"; });
  row_of(out, "  products, t. cores", modes, [](const ModeTime& m) { return m.device ? percent_cell(m.device->tensor_core_share.value) : "unknown"; });
}

void category_rows(const Modes& modes, std::ostream& out) {
  row(out, "nodes by category", {});
  for (int i = 0; i < time_category_count; ++i) {
    const auto category = static_cast<TimeCategory>(i);
    if (std::all_of(modes.begin(), modes.end(), [&](const ModeTime* m) { return category_of(*m, category) == nullptr; })) continue;
    row_of(out, fmt::format("  {}", label(category)), modes, [&](const ModeTime& m) { return category_cell(m, category); });
  }
}

const LedgerItem* item_of(const ModeTime& mode, std::string_view key) {
  for (const LedgerItem& item : mode.ledger)
    if (item.key == key) return &item;
  return nullptr;
}

std::string at_least(bool yes, const std::string& text) { return yes ? "≥ " + text : text; }

std::string item_seconds(const LedgerItem& item) { return item.seconds.value ? at_least(item.at_least && item.per_step, seconds_text(*item.seconds.value)) : "unknown"; }

void ledger_rows(const Modes& modes, std::ostream& out) {
  const auto with = std::find_if(modes.begin(), modes.end(), [](const ModeTime* m) { return !m->ledger.empty(); });
  if (with == modes.end()) return;
  row(out, "costs of mixed precision", {});
  for (const LedgerItem& item : (*with)->ledger) {
    const auto cell = [&](auto&& text) {
      return [&item, text](const ModeTime& m) {
        const LedgerItem* own = item_of(m, item.key);
        return own == nullptr ? std::string("-") : text(*own);
      };
    };
    const auto count = [](const LedgerItem& i) { return i.count.value ? fmt::format("{:.4g} x", *i.count.value) : std::string("unknown"); };
    const auto bytes = [](const LedgerItem& i) { return i.bytes.value ? bytes_text(*i.bytes.value) : std::string("unknown"); };
    if (item.key == std::string_view("master_weights")) {
      row_of(out, fmt::format("  {}", item.label), modes, cell(bytes));
      continue;
    }
    row_of(out, fmt::format("  {}", item.label), modes, cell(item_seconds));
    if (item.key == std::string_view("skipped_steps") || item.key == std::string_view("weight_casts") || item.key == std::string_view("value_casts")) row_of(out, item.per_step ? "    in a step" : "    in the run", modes, cell(count));
    if (item.key == std::string_view("weight_casts") || item.key == std::string_view("value_casts")) row_of(out, "    bytes", modes, cell(bytes));
    if (item.key == std::string_view("unscale_check")) row_of(out, "    in fp32", modes, cell([](const LedgerItem& i) { return seconds_cell(i.in_fp32.value); }));
  }
  row_of(out, "  a step more than fp32", modes, [](const ModeTime& m) { return m.ledger.empty() ? "-" : m.ledger_extra.value ? at_least(m.ledger_at_least, seconds_text(*m.ledger_extra.value)) : "unknown"; });
}

void bound_rows(const Modes& modes, std::ostream& out) {
  row(out, "against fp32", {});
  const auto cell = [](auto&& text) { return [text](const ModeTime& m) { return m.run.mode == "fp32" ? std::string("-") : text(m.bound); }; };
  row_of(out, "  products of its step", modes, [](const ModeTime& m) { return percent_cell(m.bound.products.value); });
  row_of(out, "  of that made narrower", modes, cell([](const SpeedBound& b) { return percent_cell(b.lower.value); }));
  row_of(out, "  bound, these free", modes, cell([](const SpeedBound& b) { return factor_cell(b.free.value); }));
  row_of(out, "  these faster by", modes, cell([](const SpeedBound& b) { return factor_cell(b.factor.value); }));
  row_of(out, "  bound, so fast", modes, cell([](const SpeedBound& b) { return factor_cell(b.ideal.value); }));
  row_of(out, "  came to", modes, cell([](const SpeedBound& b) { return factor_cell(b.speed.value); }));
}

std::string phase_word(const NodeTime& n) { return !n.phase ? "" : *n.phase == Phase::forward ? "fwd" : *n.phase == Phase::backward ? "bwd" : "upd"; }
std::string cores_word(const NodeTime& n) { return n.tensor_cores == TensorCores::not_a_product ? "-" : std::string(name(n.tensor_cores)); }

void node_rows(const ModeTime& mode, std::size_t top, std::ostream& out) {
  std::size_t timed = 0;
  for (const NodeTime& n : mode.nodes) timed += n.seconds.value ? 1 : 0;
  const std::size_t shown = top == 0 ? mode.nodes.size() : std::min(top, timed);
  double share = 0.0;
  for (std::size_t i = 0; i < std::min(shown, timed); ++i) share += mode.nodes[i].share.value_or(0.0);
  if (shown == 0) return;
  const bool peaks = std::any_of(mode.nodes.begin(), mode.nodes.end(), [](const NodeTime& n) { return n.of_peak.has_value(); });
  // Processors reach billions, GPUs trillions.
  const bool tera = std::any_of(mode.nodes.begin(), mode.nodes.end(), [](const NodeTime& n) { return n.tflops.value_or(0.0) >= 1.0; });
  const auto rate = [&](const NodeTime& n) { return n.flops == 0.0 ? "-" : rate_cell(n.tflops ? Number(*n.tflops * (tera ? 1.0 : 1e3)) : std::nullopt); };
  const std::size_t name_width = peaks ? 22 : 28;
  out << wrap(fmt::format("{} of {} launches, {:.0f} % of the time of all [{}]", shown, mode.nodes.size(), 100.0 * share, name(mode.nodes_sum.provenance)), "  ");
  out << "  " << pad_right("node", name_width) << pad_right(" ph", 4) << pad_left("a step", 10) << pad_left("share", 7) << pad_left(tera ? "TFLOP/s" : "GFLOP/s", 8) << (peaks ? pad_left("peak", 6) : "") << pad_left("GB/s", 7) << pad_left("in", 5) << pad_left("t. cores", 9)
      << '\n';
  for (std::size_t i = 0; i < shown; ++i) {
    const NodeTime& n = mode.nodes[i];
    out << "  " << pad_right(shorten(printable(n.name), name_width), name_width) << " " << pad_right(phase_word(n), 3) << pad_left(seconds_cell(n.seconds.value), 10) << pad_left(n.share ? percent_cell(n.share) : "-", 7)
        << pad_left(rate(n), 8) << (peaks ? pad_left(n.of_peak ? short_percent(n.of_peak) : "-", 6) : "") << pad_left(rate_cell(n.gbps), 7) << pad_left(shorten(n.compute_format.empty() ? "-" : n.compute_format, 4), 5)
        << pad_left(cores_word(n), 9) << '\n';
    if (n.members.empty()) continue;
    std::string members;
    for (const NodeTime::Member& m : n.members) members += fmt::format("{}{} {}", members.empty() ? "" : ", ", m.operation, m.name);
    out << wrap(printable(members), "    with ");
  }
}

std::string heading(const ModeTime& m) {
  if (m.emulated || !m.bound.speed.value) return "what the numbers say of its speed:";
  return *m.bound.speed.value < worthwhile_speed_up ? "why it is not faster than fp32:" : "what holds its speed back:";
}

void mode_section(const ModeTime& mode, std::size_t top, std::ostream& out) {
  out << '\n' << wrap(fmt::format("{} seed {}, nodes from {}{}", printable(mode.run.mode), mode.run.seed, mode.nodes_from == NodeSource::none ? "nowhere" : mode.nodes_from == NodeSource::kernels ? "kernels" : "the clock around them",
                                  mode.sampled_steps ? fmt::format(" in {} step{}", *mode.sampled_steps, *mode.sampled_steps == 1 ? "" : "s") : ""),
                      "");
  node_rows(mode, top, out);
  if (!mode.reasons.empty()) out << "  " << heading(mode) << '\n';
  for (const Reason& reason : mode.reasons) out << wrap(fmt::format("{} [{}].", printable(reason.text), name(reason.provenance)), "  - ");
  for (const LedgerItem& item : mode.ledger)
    if (!item.note.empty()) out << wrap(fmt::format("{}: {}.", item.label, item.note), "  ");
  for (const std::string& note : mode.notes) out << wrap(printable(note) + ".", "  ");
}

void legend(const TimeReport& report, std::ostream& out) {
  const auto has = [&](auto&& question) { return std::any_of(report.modes.begin(), report.modes.end(), question); };
  out << '\n'
      << wrap("Step: wall time, median of the timing phase unless said otherwise. Nodes: from sampled steps of the recorded phase, so that they and the step need not add up; what is launched together is one line, the lead's. "
              "Shares by category and node are of the sum of all nodes. ≥: part of it runs inside another launch. What the check takes more than in fp32 is the difference of two timings, with the noise of both.",
              "");
  out << wrap("Bound (Amdahl) [computed]: 1 / (1 - p + p / k); p: share of the fp32 step in products that the mode makes narrower, k: how much faster these are (free: k without limit).", "");
  std::map<std::string, std::string> from;
  for (const ModeTime& m : report.modes)
    if (!m.bound.factor_from.empty()) from[m.bound.factor_from] += (from[m.bound.factor_from].empty() ? "" : ", ") + printable(m.run.mode);
  for (const auto& [why, of] : from) out << wrap(fmt::format("{}: {}.", of, why), "k of ");
  if (has([](const ModeTime& m) { return m.emulated; }))
    out << wrap("Emulated: this processor carries the format out in software. These times, and shares of them, say nothing of a GPU; shares of fp32 are those of this processor.", "");
}

}  // namespace

void TextExporter::write(const TimeReport& report, std::ostream& out) const {
  out << wrap(printable(report.file), "Time of ") << wrap(printable(report.experiment), "");
  std::set<std::string> devices;
  for (const ModeTime& m : report.modes)
    if (devices.insert(m.run.device).second) out << wrap(printable(fmt::format("{} ({}{})", m.run.device.empty() ? "unknown device" : m.run.device, m.run.device_kind.empty() ? "unknown kind" : m.run.device_kind, m.run.threads && m.run.device_kind == "cpu" ? fmt::format(", {} thread{}", *m.run.threads, *m.run.threads == 1 ? "" : "s") : "")), "");
  for (std::size_t begin = 0; begin < report.modes.size(); begin += modes_in_a_block) {
    Modes modes;
    for (std::size_t i = begin; i < std::min(begin + modes_in_a_block, report.modes.size()); ++i) modes.push_back(&report.modes[i]);
    out << '\n';
    row_of(out, "a step", modes, [](const ModeTime& m) { return printable(m.run.mode); });
    step_rows(modes, out);
    category_rows(modes, out);
    ledger_rows(modes, out);
    bound_rows(modes, out);
  }
  for (const ModeTime& mode : report.modes) mode_section(mode, top_nodes, out);
  if (!report.notes.empty()) out << '\n';
  for (const std::string& note : report.notes) out << wrap(printable(note) + ".", "Recording: ");
  legend(report, out);
}

}  // namespace ulpscope::reports
