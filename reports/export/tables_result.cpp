// Tables of a report: the verdict, the modes and runs, notes, and where it all comes from.
#include "reports/export/table_fields.h"
#include "reports/export/report_tables.h"

namespace ulpscope::reports::table_parts {
namespace {

void verdict(const Report& report, const TableRows& row) {
  const VerdictSection& v = report.verdict;
  row({"recommended", v.mode, ""});
  row({"answer", "", v.sentence});
  const auto list = [&](const char* part, const std::vector<std::string>& items) {
    for (const std::string& item : items) row({part, "", item});
  };
  list("caveat", v.caveats);
  list("why", v.all(&VerdictAnswer::why));
  list("cost", v.all(&VerdictAnswer::costs));
  list("would_change", v.all(&VerdictAnswer::would_change));
  list("note", v.notes);
}

void standing(const Report& report, const TableRows& row) {
  for (const ModeStanding& m : report.verdict.modes) {
    const ModeResult& result = report.modes.modes[m.mode];
    row({result.tag, result.mode, std::string(name(result.judgement.verdict)), result.judgement.reason, std::string(name(m.outcome)), m.health, field(m.possible), m.against});
  }
}

void modes(const Report& report, const TableRows& row) {
  for (const ModeResult& mode : report.modes.modes)
    for (const FigureInfo& info : comparison_figures()) {
      const Figure& f = info.get(mode);
      row({mode.tag, mode.mode, mode.device, info.key, info.unit, exact(f.value, info.style), exact(f.spread, info.style), exact(f.low, info.style), exact(f.high, info.style), field(f.samples),
           is(f.known(), f.provenance)});
    }
}

void runs(const Report& report, const TableRows& row) {
  for (std::size_t i = 0; i < report.runs.size(); ++i) {
    const ReportRun& run = report.runs[i];
    for (const RunResult& r : report.modes.modes[run.mode_index].runs) {
      if (r.file != run.file || r.run.id != run.run.id) continue;
      row(of_run(report, i, {run.file, r.run.device, r.run.device_kind, std::string(status_text(r)), r.run.message, field(run.emulated), field(r.steps), field(r.applied), field(r.skipped),
                             field(r.overflows), field(r.final_loss), field(r.last_finite_loss), field(r.last_finite_step), field(r.best_loss), field(r.held_out_loss), field(Count(r.diverged_at)), scale_field(r.scale_first), scale_field(r.scale_least),
                             scale_field(r.scale_greatest), scale_field(r.scale_last)}));
    }
  }
}

void settings(const Report& report, const TableRows& row) {
  for (const Setting& s : report.modes.settings) {
    for (const std::string& file : s.files) row({s.tag, s.experiment, s.device, file});
  }
}

void notes(const Report& report, const TableRows& row) {
  for (const std::string& text : report.modes.warnings) row({"comparison", "", "warning", text});
  for (const std::string& text : report.modes.notes) row({"comparison", "", "note", text});
  for (const ModeResult& mode : report.modes.modes)
    for (const std::string& text : mode.notes) row({"mode", mode.tag.empty() ? mode.mode : mode.tag + " " + mode.mode, "note", text});
  for (const Diagnosis& d : report.diagnoses)
    for (const RunDiagnosis& r : d.runs) {
      const std::string of = r.run.mode + " seed " + std::to_string(r.run.seed);
      row({"diagnosis", of, "verdict", r.verdict});
      for (const std::string& text : r.reasons) row({"diagnosis", of, "reason", text});
      for (const std::string& text : r.notes) row({"diagnosis", of, "note", text});
    }
  for (const TimeReport& t : report.time) {
    for (const ModeTime& m : t.modes) {
      for (const Reason& r : m.reasons) row({"time", m.run.mode, "reason", r.text});
      for (const std::string& text : m.notes) row({"time", m.run.mode, "note", text});
      if (!m.invalid.empty()) row({"time", m.run.mode, "invalid", m.invalid});
    }
    for (const std::string& text : t.notes) row({"time", "", "note", text});
  }
}

void files(const Report& report, const TableRows& row) {
  for (const FileOrigin& f : report.origin.files) {
    const Summary& s = f.summary;
    const ExperimentRecord e = s.experiment.value_or(ExperimentRecord{});
    row({s.file, field(s.bytes), std::to_string(s.schema), field(s.live), field(s.cut_off), e.name, e.created, e.producer_version, e.producer_commit, e.command_line, e.configuration});
  }
}

void machines(const Report& report, const TableRows& row) {
  for (const FileOrigin& f : report.origin.files)
    for (const MachineRecord& m : f.summary.machines)
      row({f.summary.file, m.host, m.operating_system, m.processor, m.instruction_set, field(m.cores), field(m.memory_bytes), m.devices_json, m.libraries_json, m.environment_json});
}

void completeness(const Report& report, const TableRows& row) {
  for (const FileOrigin& f : report.origin.files) {
    for (const MissingRuns& m : f.missing)
      if (m.missing > 0) row({f.summary.file, "missing", m.mode, field(m.missing), "", "counted", "of " + std::to_string(m.planned) + " runs that were planned"});
    for (const CompletenessRecord& c : f.summary.completeness) row({f.summary.file, c.kind, c.subject, field(c.count), field(c.seconds), std::string(name(c.provenance)), c.detail});
  }
}

void conditions(const Report& report, const TableRows& row) {
  for (const FileOrigin& f : report.origin.files)
    for (const GpuCondition& c : f.conditions) {
      const auto line = [&](const char* figure, const char* unit, const Figure& value) {
        row({f.summary.file, c.phase, figure, unit, field(value.value), field(value.low), field(value.high), field(c.samples), is(value.known(), value.provenance), c.why});
      };
      line("core_clock", "MHz", c.core_clock_mhz);
      line("memory_clock", "MHz", c.memory_clock_mhz);
      line("power", "W", c.power_watts);
      line("temperature", "°C", c.temperature_celsius);
      line("held_down", "", c.slowed);
    }
}

}  // namespace

std::vector<ReportTable> result_tables() {
  return {
      {"verdict.csv", "which mode, why, what it costs and saves, what would change the answer", {{"part", "", "", "recommended, answer, caveat, why, cost, would_change, note"}, {"mode", "", "", "recommended; empty: undecided"}, {"text", "", "", "in words"}}, verdict},
      {"standing.csv",
       "how each mode fared",
       {{"tag", "", "", "setting, where there are several (settings.csv)"},
        {"mode", "", "", "precision mode"},
        {"verdict", "", "", "its loss against fp32's: reference, inside, better, worse, undecided"},
        {"verdict_reason", "", "", "in words"},
        {"outcome", "", "", "gravest of its runs, as diagnosed"},
        {"health", "", "", "that diagnosis, in words"},
        {"possible", "", "", "1: may be recommended"},
        {"against", "", "", "why not; empty where it may"}},
       standing},
      {"modes.csv",
       "figures of the modes side by side, one in a row",
       {{"tag", "", "", "setting, where there are several (settings.csv)"},
        {"mode", "", "", "precision mode"},
        {"device", "", "", "that ran it"},
        {"figure", "", "", "key of the figure; member \"figures\" of the JSON report says what each means"},
        {"unit", "", "", "of value, spread, low and high"},
        {"value", "column unit", "column provenance", "the figure"},
        {"spread", "column unit", "computed", "standard deviation"},
        {"low", "column unit", "computed", "quartile, least value, or lower end of a 95 % interval"},
        {"high", "column unit", "computed", "quartile, greatest value, or upper end of it"},
        {"samples", "", "counted", "that it rests on"},
        provenance_column},
       modes},
      {"runs.csv",
       "every run",
       run_columns({{"file", "", "", "run file"},
                    {"device", "", "", "that ran it"},
                    {"device_kind", "", "", "cpu, cuda"},
                    {"status", "", "", "finished, running, cut off, interrupted, failed"},
                    {"message", "", "", "why it failed or was interrupted"},
                    {"times_emulated", "", "", "1: its times say nothing of hardware"},
                    {"steps", "", "counted", "recorded"},
                    {"steps_applied", "", "counted", "committed"},
                    {"steps_skipped", "", "counted", "not committed: gradients were not finite"},
                    {"overflows", "", "counted", "steps with a gradient that was not finite"},
                    {"final_loss", "", "computed", "mean training loss of the last 10 recorded steps that have a finite one; NaN: the run ended in numbers that are not finite"},
                    {"last_finite_loss", "", "computed", "training loss of the last recorded step that has a finite one"},
                    {"last_finite_step", "", "counted", "that step: iteration, from 0"},
                    {"best_loss", "", "computed", "least finite training loss of a step"},
                    {"held_out_loss", "", "computed", "last evaluation"},
                    {"diverged_at", "", "counted", "iteration, from 0, from which on no loss is finite; empty: it did not"},
                    {"loss_scale_first", "", "counted", "in force in the first step; empty: none"},
                    {"loss_scale_least", "", "counted", "over the run"},
                    {"loss_scale_greatest", "", "counted", "over the run"},
                    {"loss_scale_last", "", "counted", "in force in the last step"}}),
       runs},
      {"settings.csv", "experiments and devices", {{"tag", "", "", "of the setting; empty if there is one"}, {"experiment", "", "", "in words"}, {"device", "", "", "in words"}, {"file", "", "", "run file"}}, settings},
      {"notes.csv",
       "what else the sections say in words",
       {{"section", "", "", "comparison, mode, diagnosis, time"}, {"of", "", "", "mode or run; empty: the whole"}, {"kind", "", "", "warning, note, verdict, reason, invalid"}, {"text", "", "", "in words"}},
       notes},
      {"files.csv",
       "the recordings",
       {{"file", "", "", "run file"},
        {"bytes", "B", "counted", "its size"},
        {"schema", "", "", "version of its schema"},
        {"live", "", "", "1: still being written"},
        {"cut_off", "", "", "1: its end is missing"},
        {"experiment", "", "", "name"},
        {"created", "", "", "ISO 8601, UTC"},
        {"producer_version", "", "", "of ulpscope"},
        {"producer_commit", "", "", "of ulpscope"},
        {"command_line", "", "", "that made it"},
        {"configuration", "", "", "the experiment as TOML, every value filled in"}},
       files},
      {"machines.csv",
       "the machines of the recordings",
       {{"file", "", "", "run file"},
        {"host", "", "", "name"},
        {"operating_system", "", "", "name and version"},
        {"processor", "", "", "name"},
        {"instruction_set", "", "", "of the kernels in use"},
        {"cores", "", "counted", "that the process could run on"},
        {"memory_bytes", "B", "counted", "main memory"},
        {"devices_json", "", "", "what ulpscope devices showed"},
        {"libraries_json", "", "", "name and exact version"},
        {"environment_json", "", "", "whatever else may explain a number"}},
       machines},
      {"completeness.csv",
       "what the recordings missed, and what watching cost",
       {{"file", "", "", "run file"},
        {"kind", "", "", "missing, dropped, lost, fault, refused, throttled, observation_cost, note"},
        {"subject", "", "", "a mode, a table, a counter, a clock"},
        {"count", "", "column provenance", "how many"},
        {"seconds", "s", "column provenance", "how long"},
        provenance_column,
        {"detail", "", "", "in words"}},
       completeness},
      {"gpu_conditions.csv",
       "what GPUs said of themselves while they worked",
       {{"file", "", "", "run file"},
        {"phase", "", "", "training, timing"},
        {"figure", "", "", "core_clock, memory_clock, power, temperature, held_down (share of the samples)"},
        {"unit", "", "", "of the figure"},
        {"value", "column unit", "column provenance", "median"},
        {"least", "column unit", "column provenance", "over the samples"},
        {"greatest", "column unit", "column provenance", "over the samples"},
        {"samples", "", "counted", "taken"},
        provenance_column,
        {"why", "", "", "what held the clock down, and how often"}},
       conditions},
  };
}

}  // namespace ulpscope::reports::table_parts
