// Tables of a report: curves over the steps, and the loss scale.
#include "reports/export/report_tables.h"
#include "reports/export/table_fields.h"

namespace ulpscope::reports::table_parts {
namespace {

const char* word(GapKind kind) {
  switch (kind) {
    case GapKind::nan: return "NaN";
    case GapKind::positive_infinite: return "Infinity";
    case GapKind::negative_infinite: return "-Infinity";
    case GapKind::unknown: break;
  }
  return "unknown";
}

struct NamedCurve {
  const char* name;
  const Curve& curve;
};

std::vector<NamedCurve> curves_of(const RunSeries& s) {
  return {{"loss", s.loss}, {"held_out_loss", s.held_out_loss}, {"loss_scale", s.loss_scale}, {"gradient_norm", s.gradient_norm}, {"learning_rate", s.learning_rate}, {"step_seconds", s.step_seconds}};
}

void curves(const Report& report, const TableRows& row) {
  for (const RunCurves& run : report.curves.runs)
    for (const NamedCurve& c : curves_of(run.series))
      for (const SeriesPoint& p : c.curve.points)
        row(of_run(report, run.run, {c.name, field(p.step), std::string_view(c.name) == "loss_scale" ? scale_field(p.value) : field(Number(p.value)), field(p.seconds)}));
}

void gaps(const Report& report, const TableRows& row) {
  for (const RunCurves& run : report.curves.runs)
    for (const NamedCurve& c : curves_of(run.series))
      for (const SeriesGap& g : c.curve.gaps) row(of_run(report, run.run, {c.name, word(g.kind), field(g.first), field(g.last), field(g.steps)}));
}

void skipped(const Report& report, const TableRows& row) {
  for (const RunCurves& run : report.curves.runs)
    for (const SkippedStep& s : run.series.skipped) row(of_run(report, run.run, {field(s.step), field(s.seconds)}));
}

void bands(const Report& report, const TableRows& row) {
  for (const SeedBand& b : report.curves.bands)
    for (const BandPoint& p : b.points) row({b.tag, field(p.first), field(p.last), field(Number(p.low)), field(Number(p.high)), field(p.seconds), field(p.seeds)});
}

void scale_overflows(const Report& report, const TableRows& row) {
  for (const ScaleHistory& h : report.scale.runs)
    for (const ScaleOverflow& o : h.overflows) row(of_run(report, h.run, {field(o.step), scale_field(o.scale), scale_field(o.next), field(o.skipped)}));
}

void windows(const Report& report, const TableRows& row) {
  for (const ScaleHistory& h : report.scale.runs) {
    if (!h.window) continue;
    const LossScaleWindow& w = *h.window;
    const auto line = [&](const std::string& layer, const LayerWindow& l) {
      row(of_run(report, h.run, {layer, scale_field(l.lowest), scale_field(l.highest), l.lowest_tensor, l.highest_tensor, field(l.flushed), field(l.flushed_most), field(Number(w.share)), field(l.open()), field(l.blind),
                                 std::string(name(w.provenance))}));
    };
    line("", w.model);
    for (const LayerWindow& l : w.layers) line(l.layer, l);
  }
}

}  // namespace

std::vector<ReportTable> curve_tables() {
  return {
      {"curves.csv",
       "curves of every run, thinned by their least and greatest: no spike is lost",
       run_columns({{"curve", "", "", "loss, held_out_loss, loss_scale, gradient_norm, learning_rate, step_seconds"},
                    {"step", "", "counted", "iteration, from 0; of held_out_loss: steps done before it"},
                    {"value", "", "computed", "loss, gradient_norm; loss_scale, learning_rate: in force; step_seconds: s, emulated where runs.csv says so, else measured, without steps whose nodes were counted (completeness)"},
                    {"seconds", "s", "measured", "elapsed at the end of the step; emulated where runs.csv says so"}}),
       curves},
      {"curve_gaps.csv",
       "steps in which a curve has no finite value",
       run_columns({{"curve", "", "", "as in curves.csv"},
                    {"kind", "", "", "NaN, Infinity, -Infinity; unknown: not recorded"},
                    {"first_step", "", "counted", "iteration, from 0"},
                    {"last_step", "", "counted", "included"},
                    {"steps", "", "counted", "recorded ones between them"}}),
       gaps},
      {"skipped_steps.csv", "steps that were not applied", run_columns({step_column, {"seconds", "s", "measured", "elapsed at its end; emulated where runs.csv says so"}}), skipped},
      {"fp32_bands.csv",
       "training loss of the fp32 seeds",
       {{"tag", "", "", "setting, where there are several (settings.csv)"},
        {"first_step", "", "counted", "iteration, from 0"},
        {"last_step", "", "counted", "included"},
        {"low", "", "computed", "least over seeds and steps"},
        {"high", "", "computed", "greatest over seeds and steps"},
        {"seconds", "s", "measured", "elapsed at the first step, mean over the seeds"},
        {"seeds", "", "counted", "with a finite loss"}},
       bands},
      {"scale_overflows.csv",
       "steps whose gradients were not finite, of runs that scale their loss",
       run_columns({step_column, {"loss_scale", "", "counted", "in force"}, {"next_loss_scale", "", "counted", "in force afterwards; empty: not on record"}, {"skipped", "", "", "1: the step was not applied"}}),
       scale_overflows},
      {"scale_windows.csv",
       "loss scales that neither overflow nor flush more than is allowed",
       run_columns({{"layer", "", "", "empty: the whole model"},
                    {"lowest", "", "column provenance", "keeps what is flushed within bounds; empty: any; Infinity: none does"},
                    {"highest", "", "column provenance", "at which nothing overflows; empty: any; 0: none is low enough"},
                    {"lowest_tensor", "", "", "that loses most at half the lowest scale"},
                    {"highest_tensor", "", "", "that overflows first"},
                    {"flushed_share", "", "column provenance", "lost at the scale in force, latest observed step"},
                    {"flushed_share_most", "", "column provenance", "the greatest of all observed steps"},
                    {"share_allowed", "", "", "that may be flushed"},
                    {"open", "", "", "1: there is such a scale"},
                    {"bounds_only", "", "", "1: some gradients were finite in no observed step: the true window may be narrower, and an empty bound is unknown"},
                    provenance_column}),
       windows},
  };
}

}  // namespace ulpscope::reports::table_parts
