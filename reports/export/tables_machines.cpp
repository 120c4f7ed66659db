// Tables of a report: which mode on which device, machines side by side, what sums change.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "reports/analysis/machine_modes.h"
#include "reports/export/report_tables.h"
#include "reports/export/table_fields.h"

namespace ulpscope::reports::table_parts {
namespace {

std::string joined(const std::vector<std::string>& words) { return fmt::format("{}", fmt::join(words, "; ")); }

void answers(const Report& report, const TableRows& row) {
  for (const VerdictAnswer& answer : report.verdict.answers) {
    const DeviceAdvice& a = answer.advice;
    for (const ModeAdvice& m : a.modes) {
      const ModeEvidence& e = m.evidence;
      const Figure& step = e.measured.value ? e.measured : e.projected;
      row({answer.tag, a.device, std::string(name(a.outcome)), e.mode, field(e.mode == a.winner), field(m.refused.empty()), a.device.empty() ? "" : std::string(name(m.there.support)), std::string(name(e.verdict)),
           field(step.value), field(step.low), field(step.high), is(step.known(), step.provenance), field(m.speed.value), field(m.speed.low), field(m.speed.high), is(m.speed.known(), m.speed.provenance),
           field(e.memory.value), is(e.memory.known(), e.memory.provenance), std::string(name(e.fits)), joined(m.refused), joined(m.against), joined(m.in_favour)});
    }
  }
}

void machines(const Report& report, const TableRows& row) {
  if (!report.modes.machines) return;
  const MachineComparison& all = *report.modes.machines;
  for (const MachineMode& mode : all.modes)
    for (std::size_t i = 0; i < mode.at.size(); ++i) {
      const MachineFigures& m = mode.at[i];
      const Machine& machine = all.machines[i];
      if (!m.there) continue;
      const auto line = [&](const char* node, const char* phase, const char* figure, const char* unit, const Figure& f) {
        row({machine.tag, machine.device, mode.mode, node, phase, figure, unit, field(f.value), field(f.low), field(f.high), field(f.samples), is(f.known(), f.provenance)});
      };
      const auto yardstick = [&](const char* figure, const char* unit, const Yardstick& y) {
        line("", "", figure, unit, Figure{.value = y.value, .provenance = machine_parts::provenance_of(y)});
      };
      for (const MachineFigureInfo& info : machine_figures()) line("", "", info.key, info.unit, info.get(m));
      yardstick("peak", "TFLOP/s", m.peak);
      yardstick("bandwidth", "GB/s", m.bandwidth);
      yardstick("clock", "MHz", m.clock);
      for (const NodeAcross& node : mode.nodes) {
        line(node.name.c_str(), node.phase.c_str(), "node_seconds", "s", node.at[i].seconds);
        line(node.name.c_str(), node.phase.c_str(), "node_ratio", "", node.at[i].ratio);
      }
    }
}

void bits(const Report& report, const TableRows& row) {
  if (!report.modes.machines) return;
  for (const BitsAcross& b : report.modes.machines->bits)
    row({b.first, b.other, field(b.seed), std::string(name(b.verdict)), field(b.steps), field(Count(b.differs_from)), field(b.greatest_ulps), field(b.bound_ulps), b.text});
}

void sums(const Report& report, const TableRows& row) {
  for (const SumsChange& c : report.modes.sums_changes)
    row({c.tag, c.mode, c.against, std::string(name(c.judgement.verdict)), c.metric, field(c.loss.value), field(c.loss.low), field(c.loss.high), field(c.gradient_norm.value), field(c.skipped.value),
         field(c.skipped_against.value), field(Count(c.differs_from)), field(c.greatest_ulps), c.judgement.reason});
}

}  // namespace

std::vector<ReportTable> machine_tables() {
  static constexpr TableColumn tag{"tag", "", "", "of the setting or machine (settings.csv)"};
  return {
      {"answers.csv",
       "which mode on which device: the answer, and how each mode fared in it",
       {{"tag", "", "", "of the setting, where there are several (settings.csv)"},
        {"gpu", "", "", "that it is decided for; empty: none"},
        {"outcome", "", "", "recommended, undecided, none"},
        {"mode", "", "", "precision mode"},
        {"winner", "", "", "1: it is the mode that is recommended, or leant to"},
        {"possible", "", "", "1: it is not refused"},
        {"runs", "", "", "native, emulated, absent … there"},
        {"verdict", "", "", "its loss against fp32's"},
        {"step_seconds", "s", "column step_provenance", "of a step there"},
        {"step_low", "s", "column step_provenance", "lower end"},
        {"step_high", "s", "column step_provenance", "upper end"},
        {"step_provenance", "", "", "measured or projected"},
        {"speed", "", "column speed_provenance", "fp32's step by its own"},
        {"speed_low", "", "column speed_provenance", "lower end"},
        {"speed_high", "", "column speed_provenance", "upper end"},
        {"speed_provenance", "", "", "measured or projected"},
        {"memory_bytes", "B", "column memory_provenance", "it needs there"},
        {"memory_provenance", "", "", "what that is"},
        {"fits", "", "", "yes, no, maybe, unknown"},
        {"refused", "", "", "why it is not recommended, whatever its other numbers say"},
        {"against", "", "", "what speaks against it"},
        {"in_favour", "", "", "what speaks for it"}},
       answers},
      {"machines_compared.csv",
       "machines side by side, one figure in a row; empty where the runs are of one device",
       {tag,
        {"device", "", "", "of the machine"},
        {"mode", "", "", "precision mode"},
        {"node", "", "", "launch; empty: the whole step"},
        {"phase", "", "", "of the launch"},
        {"figure", "", "", "key of the figure; member \"comparison\" of the JSON report says what each means"},
        {"unit", "", "", "of value, low and high"},
        {"value", "column unit", "column provenance", "the figure"},
        {"low", "column unit", "column provenance", "quartile, or lower end of a 95 % interval"},
        {"high", "column unit", "column provenance", "quartile, or upper end of it"},
        {"samples", "", "counted", "that it rests on"},
        provenance_column},
       machines},
      {"machines_bits.csv",
       "losses of machines, bit for bit",
       {{"first", "", "", "tag and mode"},
        {"other", "", "", "tag and mode"},
        {"seed", "", "", "of both runs"},
        {"verdict", "", "", "same bits, explained by the order of sums, more than the order of sums explains, undecided"},
        {"steps", "", "counted", "held against each other"},
        {"differs_from", "", "counted", "first iteration, from 0, whose loss has other bits; empty: none"},
        {"greatest_ulps", "", "computed", "greatest difference, in ulps of fp32"},
        {"bound_ulps", "", "computed", "that the order of sums explains in that step"},
        {"text", "", "", "in words"}},
       bits},
      {"sums_changes.csv",
       "what the emulated sums of matrix units change",
       {{"tag", "", "", "of the setting, where there are several (settings.csv)"},
        {"mode", "", "", "with whose sums"},
        {"against", "", "", "that it is held against"},
        {"verdict", "", "", "inside, better, worse, undecided"},
        {"metric", "", "", "held-out loss or final loss"},
        {"loss", "", "computed", "mean difference by seed"},
        {"loss_low", "", "computed", "95 % interval"},
        {"loss_high", "", "computed", "95 % interval"},
        {"gradient_norm", "", "computed", "mean relative difference over the steps that both applied"},
        {"skipped", "", "counted", "steps, all seeds together"},
        {"skipped_against", "", "counted", "steps of the other"},
        {"differs_from", "", "counted", "first iteration, from 0, whose loss has other bits; empty: none"},
        {"greatest_ulps", "", "computed", "of the loss, in ulps of fp32"},
        {"reason", "", "", "of the verdict, in words"}},
       sums},
  };
}

}  // namespace ulpscope::reports::table_parts
