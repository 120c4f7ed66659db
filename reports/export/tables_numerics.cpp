// Tables of a report: layers, tensors, overflows and their causes.
#include "reports/export/report_tables.h"
#include "reports/export/table_fields.h"

namespace ulpscope::reports::table_parts {
namespace {

void layers(const Report& report, const TableRows& row) {
  for (const NumericsMap& map : report.numerics.maps)
    for (std::size_t l = 0; l < map.cells.size(); ++l)
      for (std::size_t c = 0; c < map.cells[l].size(); ++c) {
        const NumericsCell& cell = map.cells[l][c];
        const NumericsColumn& column = map.columns[c];
        row(of_run(report, map.run, {map.layers[l], field(column.first), field(column.last), field(column.steps), field(cell.head_room), field(cell.flushed), field(cell.error), field(cell.rounding),
                                     field(cell.lost), field(cell.not_finite)}));
      }
}

void tensors(const Report& report, const TableRows& row) {
  for (const TensorHistogram& h : report.numerics.histograms) {
    const TensorStatsRecord& s = h.stats;
    row(of_run(report, h.run, {h.tensor, field(s.step), field(s.micro_batch), h.layer, h.operation, h.phase, h.role, h.format, h.why, s.observation, field(h.head_room), field(s.elements), field(s.nan),
                               field(s.positive_infinite), field(s.negative_infinite), field(s.zero), field(s.subnormal), field(s.flushed), field(s.overflowed), field(s.least_magnitude),
                               field(s.greatest_magnitude), std::string(name(s.provenance))}));
  }
}

void histograms(const Report& report, const TableRows& row) {
  for (const TensorHistogram& h : report.numerics.histograms) {
    if (!h.stats.histogram) continue;
    const ExponentHistogram& counts = *h.stats.histogram;
    for (std::size_t i = 0; i < counts.counts.size(); ++i)
      row(of_run(report, h.run, {h.tensor, field(h.stats.step), field(static_cast<std::int64_t>(counts.first) + static_cast<std::int64_t>(i)), std::to_string(counts.counts[i])}));
  }
}

void overflows(const Report& report, const TableRows& row) {
  for (const OverflowEvent& e : report.overflows.events)
    row(of_run(report, e.run, {field(e.step), field(e.loss), scale_field(e.loss_scale), field(e.skipped), field(e.observed), e.operation, e.node, e.phase, e.tensor, e.format, field(e.not_finite),
                               field(e.greatest_magnitude), e.cause ? std::string(name(report.overflows.causes[*e.cause].cause.kind)) : ""}));
}

void causes(const Report& report, const TableRows& row) {
  for (const OverflowCause& told : report.overflows.causes) {
    const Cause& c = told.cause;
    row(of_run(report, told.run, {std::string(name(c.kind)), std::string(name(c.gravity)), field(Count(c.step)), c.node, c.operation, c.phase, c.tensor, c.format, c.what, told.stamp, told.change, told.status}));
  }
}

void facts(const Report& report, const TableRows& row) {
  for (const OverflowCause& told : report.overflows.causes)
    for (const Fact& f : told.cause.facts)
      row(of_run(report, told.run, {std::string(name(told.cause.kind)), told.cause.node, f.key, field(f.value), f.text, std::string(name(f.provenance))}));
}

}  // namespace

std::vector<ReportTable> numerics_tables() {
  return {
      {"layers.csv",
       "what each layer was like, by its worst tensor and step; of the first observed seed of each mode",
       run_columns({{"layer", "", "", "prefix of node names"},
                    {"first_step", "", "counted", "iteration, from 0"},
                    {"last_step", "", "counted", "included"},
                    {"observed_steps", "", "counted", "between them that the row rests on"},
                    {"head_room", "bit", "computed", "between the greatest magnitude of a result and its format's limit; below 0: beyond it"},
                    {"flushed_share", "", "computed", "of the non-zero elements of its gradients that became zero"},
                    {"error", "", "computed", "relative RMS difference of a tensor from the fp32 shadow step"},
                    {"rounding", "", "computed", "RMS of what rounding changed in a result / its RMS"},
                    {"lost_share", "", "computed", "of the weights whose update was rounded away"},
                    {"not_finite", "", "", "1: some value was not finite, once it was stored"}}),
       layers},
      {"tensors.csv",
       "tensors nearest to the edges of their formats, in their worst and latest step",
       run_columns({{"tensor", "", "", "name in the plan"},
                    step_column,
                    {"micro_batch", "", "counted", "from 0"},
                    {"layer", "", "", "as in layers.csv"},
                    {"operation", "", "", "that makes it; empty: a weight, an input"},
                    {"phase", "", "", "forward, backward, update"},
                    {"role", "", "", "activation, weight, gradient ..."},
                    {"format", "", "", "as stored"},
                    {"why", "", "", "why this one, this step"},
                    {"observation", "", "", "sampled, replay, shadow"},
                    {"head_room", "bit", "computed", "below 0: beyond the limit"},
                    {"elements", "", "counted", "in all"},
                    {"nan", "", "column provenance", "elements"},
                    {"positive_infinite", "", "column provenance", "elements"},
                    {"negative_infinite", "", "column provenance", "elements"},
                    {"zero", "", "column provenance", "elements"},
                    {"subnormal", "", "column provenance", "elements, after rounding"},
                    {"flushed", "", "column provenance", "elements: not zero before rounding, zero after"},
                    {"overflowed", "", "column provenance", "elements: finite before rounding, not after"},
                    {"least_magnitude", "", "column provenance", "of the finite non-zero elements, before rounding"},
                    {"greatest_magnitude", "", "column provenance", "of the finite elements, before rounding"},
                    provenance_column}),
       tensors},
      {"histograms.csv",
       "elements of those tensors by binary exponent, before rounding",
       run_columns({{"tensor", "", "", "as in tensors.csv"}, step_column, {"exponent", "", "counted", "2^exponent <= magnitude < 2^(exponent + 1)"}, {"count", "", "counted", "finite non-zero elements"}}),
       histograms},
      {"overflows.csv",
       "steps whose gradients were not finite: at most 200 of a run, the first ones",
       run_columns({step_column,
                    {"loss", "", "computed", "training loss"},
                    {"loss_scale", "", "counted", "in force; empty: none"},
                    {"skipped", "", "", "1: the step was not applied"},
                    {"observed", "", "", "1: statistics of this very step are there"},
                    {"operation", "", "", "first that made a value that is not finite of values that were; empty: unknown"},
                    {"node", "", "", "its name"},
                    {"phase", "", "", "forward, backward, update"},
                    {"tensor", "", "", "that it made"},
                    {"format", "", "", "of the tensor"},
                    {"not_finite", "", "counted", "elements of the tensor, as stored"},
                    {"greatest_magnitude", "", "counted", "of its finite elements, before rounding"},
                    {"cause", "", "", "kind, as in causes.csv"}}),
       overflows},
      {"causes.csv",
       "what the diagnosis found, gravest first",
       run_columns({{"kind", "", "", "of cause"},
                    {"gravity", "", "", "fatal, damage, contained, normal, note"},
                    {"step", "", "counted", "iteration, from 0, in which it was seen first"},
                    {"node", "", "", "operation's name; empty: not of one operation"},
                    {"operation", "", "", "its kind"},
                    {"phase", "", "", "forward, backward, update"},
                    {"tensor", "", "", "in which it shows"},
                    {"format", "", "", "of the tensor"},
                    {"what", "", "", "in words"},
                    {"mend", "", "", "verified, refuted, not tried: of the best change; empty: none is known"},
                    {"change", "", "", "that change, in words"},
                    {"status", "", "", "what came of trying it, in words"}}),
       causes},
      {"cause_facts.csv",
       "what the causes rest on",
       run_columns({{"kind", "", "", "of cause"}, {"node", "", "", "as in causes.csv"}, {"fact", "", "", "key"}, {"value", "", "column provenance", "number"}, {"text", "", "", "with its unit"}, provenance_column}),
       facts},
  };
}

}  // namespace ulpscope::reports::table_parts
