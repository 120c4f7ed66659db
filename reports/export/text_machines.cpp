// Machines side by side, for people.
#include <fmt/format.h>

#include <algorithm>

#include "reports/export/layout.h"
#include "reports/export/machines.h"
#include "reports/export/numbers.h"

namespace ulpscope::reports {
namespace {

constexpr std::size_t label_width = 20;
constexpr std::size_t cell_width = 15;  // with the space before it
constexpr std::size_t machines_in_a_block = 4;

/// Machines first … end of a mode.
struct Block {
  const MachineComparison& all;
  const MachineMode& mode;
  std::size_t first, end;
};

void row(std::ostream& out, std::string_view label, const std::vector<std::string>& cells) {
  if (std::all_of(cells.begin(), cells.end(), [](const std::string& cell) { return cell.empty(); }) && !cells.empty()) return;
  std::string line = pad_right(shorten(label, label_width), label_width);
  for (const std::string& cell : cells) line += pad_left(shorten(cell, cell_width - 1), cell_width);
  line.erase(line.find_last_not_of(' ') + 1);
  out << line << '\n';
}

/// cell(figures, index) for each machine; machines without the mode have a dash.
template <class Cell>
void row_of(std::ostream& out, std::string_view label, const Block& block, Cell&& cell) {
  std::vector<std::string> cells;
  for (std::size_t i = block.first; i < block.end; ++i) {
    const MachineFigures& figures = block.mode.at[i];
    cells.push_back(figures.there ? cell(figures, i) : std::string("-"));
  }
  row(out, label, cells);
}

std::string factor_text(double factor, int digits) { return factor >= 100.0 ? fmt::format("{:.0f}", factor) : fmt::format("{:.{}g}", factor, digits); }
std::string ratio_cell(const Figure& ratio, std::size_t index) {
  if (!ratio.value) return "no ratio";
  return index == 0 ? "first" : factor_text(*ratio.value, 3) + " x";
}
std::string percent_cell(const Figure& share) { return share.value ? fmt::format("{:.0f} %", 100.0 * *share.value) : "unknown"; }
std::string yardstick_cell(const Yardstick& yardstick) { return yardstick.value ? fmt::format("{} {}", number_text(*yardstick.value, 4), yardstick.from) : "unknown"; }

/// Quartiles in one unit: "9.5…11 ms".
std::string quartiles_cell(const Figure& f) {
  if (!f.low || !f.high || *f.low == *f.high) return "";
  const double factor = *f.high >= 1.0 ? 1.0 : *f.high >= 1e-3 ? 1e3 : 1e6;
  return fmt::format("{:.3g}…{:.3g} {}", factor * *f.low, factor * *f.high, factor == 1.0 ? "s" : factor == 1e3 ? "ms" : "µs");
}

void normalised_rows(const Block& block, std::ostream& out) {
  struct Kind {
    const char* label;
    const Yardstick& (*yardstick)(const MachineFigures&);
    const Figure& (*ratio)(const MachineFigures&);
  };
  using M = const MachineFigures&;
  static const Kind kinds[] = {
      {"peak, TFLOP/s", [](M m) -> const Yardstick& { return m.peak; }, [](M m) -> const Figure& { return m.by_peak_ratio; }},
      {"bandwidth, GB/s", [](M m) -> const Yardstick& { return m.bandwidth; }, [](M m) -> const Figure& { return m.by_bandwidth_ratio; }},
      {"clock, MHz", [](M m) -> const Yardstick& { return m.clock; }, [](M m) -> const Figure& { return m.by_clock_ratio; }},
  };
  const std::string& first = block.all.machines.front().tag;
  for (const Kind& kind : kinds) {
    row_of(out, fmt::format("  {}", kind.label), block, [&](M m, std::size_t) { return yardstick_cell(kind.yardstick(m)); });
    const bool known = std::any_of(block.mode.at.begin() + 1, block.mode.at.end(), [&](M m) { return kind.ratio(m).value.has_value(); });
    if (known) row_of(out, fmt::format("    step × it, to {}", first), block, [&](M m, std::size_t i) { return kind.ratio(m).value ? ratio_cell(kind.ratio(m), i) : std::string("unknown"); });
  }
}

void figure_rows(const Block& block, std::ostream& out) {
  using M = const MachineFigures&;
  const std::string& first = block.all.machines.front().tag;
  row_of(out, printable(block.mode.mode), block, [](M m, std::size_t) { return m.runs; });
  row_of(out, "  step", block, [](M m, std::size_t) { return m.step.value ? seconds_text(*m.step.value) + (m.throttled ? " !" : "") : std::string("unknown"); });
  row_of(out, "    quartiles", block, [](M m, std::size_t) { return quartiles_cell(m.step); });
  row_of(out, "    which is", block, [](M m, std::size_t) { return m.step.value ? std::string(name(m.step.provenance)) : ""; });
  row_of(out, fmt::format("    to {}", first), block, [](M m, std::size_t i) { return ratio_cell(m.ratio, i); });
  row_of(out, "  tokens/s", block, [](M m, std::size_t) { return cell_text(m.tokens_per_second, FigureStyle::rate, cell_width - 1); });
  normalised_rows(block, out);
  const bool gpus = std::any_of(block.mode.at.begin(), block.mode.at.end(), [](M m) { return m.busy.value || m.slowed.value; });
  if (gpus) row_of(out, "  device busy", block, [](M m, std::size_t) { return percent_cell(m.busy); });
  if (gpus) row_of(out, "  clock held down", block, [](M m, std::size_t) { return percent_cell(m.slowed); });
  row_of(out, "  peak memory", block, [](M m, std::size_t) { return m.peak_bytes.value ? bytes_text(*m.peak_bytes.value) : "unknown"; });
  row_of(out, fmt::format("  final loss − {}", first), block,
         [](M m, std::size_t i) { return i == 0 ? std::string("first") : m.final_loss_difference.value ? difference_text(*m.final_loss_difference.value) : std::string("unknown"); });
}

/// In five columns.
std::string node_ratio(double ratio) { return ratio < 0.01 ? "<.01x" : fmt::format("{:.{}f}x", ratio, ratio < 10.0 ? 2 : ratio < 100.0 ? 1 : 0); }

/// "1.23 ms 0.58x"
std::string node_cell(const NodeAcross::At& at, std::size_t index) {
  if (!at.seconds.value) return "unknown";
  return index > 0 && at.ratio.value ? fmt::format("{} {}", seconds_text(*at.seconds.value), node_ratio(*at.ratio.value)) : seconds_text(*at.seconds.value);
}

void node_rows(const Block& block, std::size_t most, std::ostream& out) {
  const std::vector<NodeAcross>& nodes = block.mode.nodes;
  const std::size_t shown = most == 0 ? nodes.size() : std::min(most, nodes.size());
  if (shown == 0) return;
  row_of(out, fmt::format("  {} of {} launches", shown, nodes.size()), block, [&](const MachineFigures&, std::size_t i) { return block.mode.node_times[i]; });
  for (std::size_t n = 0; n < shown; ++n) {
    const NodeAcross& node = nodes[n];
    const std::string phase = node.phase == "forward" ? " fwd" : node.phase == "backward" ? " bwd" : node.phase == "update" ? " upd" : "";
    const std::string label = "    " + shorten(printable(node.name), label_width - 4 - phase.size()) + phase;
    row_of(out, label, block, [&](const MachineFigures&, std::size_t i) { return node_cell(node.at[i], i); });
  }
}

void mode_blocks(const MachineComparison& machines, const MachineMode& mode, std::size_t nodes, std::ostream& out) {
  for (std::size_t begin = 0; begin < machines.machines.size(); begin += machines_in_a_block) {
    const Block block{machines, mode, begin, std::min(begin + machines_in_a_block, machines.machines.size())};
    std::vector<std::string> tags;
    for (std::size_t i = block.first; i < block.end; ++i) tags.push_back(machines.machines[i].tag);
    row(out, "", tags);
    figure_rows(block, out);
    node_rows(block, nodes, out);
  }
  for (const std::string& note : mode.notes) out << wrap(printable(note) + ".", "  - ");
  out << '\n';
}

void legend(const MachineComparison& machines, std::ostream& out) {
  const std::string& first = machines.machines.front().tag;
  out << wrap(fmt::format("to {}: by {}'s; below 1 is faster. Step × it: what the machine could have computed or moved in the step's time at its peak (of the mode's "
                          "products, dense) or bandwidth, or its cycles, by {}'s: 1 says that the two differ as these figures do, above 1 that the machine makes less of "
                          "what it has.",
                          first, first, first),
              "");
  out << wrap("Peak, bandwidth, clock: table, of data sheets (ulpscope hardware); reported, the table's rate with the SMs and the clock that the device has; measured, the "
              "median of what the GPU said while it was timed. A processor's are unknown. No ratio: the reason stands below the mode. !: throttled.",
              "");
}

}  // namespace

void machines_text(const MachineComparison& machines, std::size_t nodes, std::ostream& out) {
  if (machines.machines.empty()) return;
  const std::string& first = machines.machines.front().tag;
  for (const MachineRefusal& refusal : machines.refused) out << wrap(printable(text(refusal, first)) + ".", "Refused: ");
  for (const std::string& warning : machines.warnings) out << wrap(printable(warning) + ".", "Warning: ");
  if (!machines.refused.empty() || !machines.warnings.empty()) out << '\n';
  if (machines.modes.empty()) return bits_text(machines.bits, out);
  for (const MachineMode& mode : machines.modes) mode_blocks(machines, mode, nodes, out);
  bits_text(machines.bits, out);
  legend(machines, out);
}

}  // namespace ulpscope::reports
