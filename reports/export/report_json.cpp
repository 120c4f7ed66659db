#include "reports/export/report_json.h"

#include <array>
#include <cmath>

#include "reports/export/condition_json.h"
#include "reports/export/documents.h"
#include "reports/export/fields.h"
#include "reports/export/write_window.h"

namespace ulpscope::reports {
namespace {

using json = nlohmann::ordered_json;

/// Loss scales, counts that are kept as doubles: whole where they are.
json whole_json(const Number& value) {
  if (value && std::isfinite(*value) && *value == std::floor(*value) && std::fabs(*value) < 9007199254740992.0) return static_cast<std::int64_t>(*value);
  return number_json(value);
}

template <class T>
json optional(const std::optional<T>& value) {
  return value ? json(*value) : json(nullptr);
}

json word(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

template <class List, class One>
json each(const List& list, One&& one) {
  json all = json::array();
  for (const auto& item : list) all.push_back(one(item));
  return all;
}

const char* word(GapKind kind) {
  switch (kind) {
    case GapKind::nan: return "NaN";
    case GapKind::positive_infinite: return "Infinity";
    case GapKind::negative_infinite: return "-Infinity";
    case GapKind::unknown: break;
  }
  return "unknown";
}

json run_json(const ReportRun& r) {
  return {{"label", r.label},
          {"mode", r.mode},
          {"mode_label", r.mode_label},
          {"tag", r.tag},
          {"seed", r.run.seed},
          {"file", r.file},
          {"run", static_cast<std::int64_t>(r.run.id)},
          {"device", r.run.device},
          {"device_kind", r.run.device_kind},
          {"first_of_mode", r.first_of_mode},
          {"emulated", r.emulated},
          {"live", r.live},
          {"cut_off", r.cut_off},
          {"steps", r.steps},
          {"non_standard", r.run.non_standard}};
}

json verdict_json(const VerdictSection& v) {
  return {{"mode", word(v.mode)},
          {"sentence", v.sentence},
          {"why", v.all(&VerdictAnswer::why)},
          {"costs", v.all(&VerdictAnswer::costs)},
          {"would_change", v.all(&VerdictAnswer::would_change)},
          {"caveats", v.caveats},
          {"notes", v.notes},
          {"answers", each(v.answers, [](const VerdictAnswer& a) { return json{{"tag", a.tag}, {"sentence", a.sentence}, {"advice", advice_json(a.advice)}}; })},
          {"modes", each(v.modes, [](const ModeStanding& m) {
             return json{{"mode", m.mode}, {"label", m.label}, {"outcome", name(m.outcome)}, {"health", word(m.health)}, {"possible", m.possible}, {"against", word(m.against)}};
           })}};
}

/// Lists side by side, as long as each other: half the size of a list of points.
json curve_json(const Curve& curve, bool whole_values = false) {
  json steps = json::array(), values = json::array(), seconds = json::array();
  for (const SeriesPoint& point : curve.points) {
    steps.push_back(point.step);
    values.push_back(whole_values ? whole_json(point.value) : number_json(point.value));
    seconds.push_back(number_json(point.seconds));
  }
  json gaps = each(curve.gaps, [](const SeriesGap& g) { return json{{"kind", word(g.kind)}, {"first", g.first}, {"last", g.last}, {"steps", g.steps}}; });
  return {{"finite", curve.finite}, {"steps", std::move(steps)}, {"values", std::move(values)}, {"seconds", std::move(seconds)}, {"gaps", std::move(gaps)}};
}

json curves_json(const CurvesSection& section) {
  json runs = each(section.runs, [](const RunCurves& r) {
    const RunSeries& s = r.series;
    json skipped = each(s.skipped, [](const SkippedStep& step) { return json{{"step", step.step}, {"seconds", number_json(step.seconds)}}; });
    json counted = each(s.counted, [](const CountedTime& step) {
      return json{{"step", step.step}, {"seconds", number_json(step.seconds)}, {"wall_seconds", number_json(step.wall_seconds)}};
    });
    return json{{"run", r.run},
                {"loss", curve_json(s.loss)},
                {"held_out_loss", curve_json(s.held_out_loss)},
                {"gradient_norm", curve_json(s.gradient_norm)},
                {"learning_rate", curve_json(s.learning_rate)},
                {"step_seconds", curve_json(s.step_seconds)},
                {"time_provenance", name(s.time)},
                {"skipped", std::move(skipped)},
                {"counted", std::move(counted)}};
  });
  json bands = each(section.bands, [](const SeedBand& b) {
    json points = each(b.points, [](const BandPoint& p) {
      return json{{"first", p.first}, {"last", p.last}, {"low", number_json(p.low)}, {"high", number_json(p.high)}, {"seconds", number_json(p.seconds)}, {"seeds", p.seeds}};
    });
    return json{{"tag", b.tag}, {"seeds", b.seeds}, {"points", std::move(points)}};
  });
  return {{"runs", std::move(runs)}, {"fp32_bands", std::move(bands)}};
}

json scale_json(const ScaleSection& section) {
  return each(section.runs, [](const ScaleHistory& h) {
    json overflows = each(h.overflows, [](const ScaleOverflow& o) {
      return json{{"step", o.step}, {"scale", whole_json(o.scale)}, {"next", whole_json(o.next)}, {"skipped", o.skipped}};
    });
    return json{{"run", h.run}, {"scale", curve_json(h.scale, true)}, {"changes", h.changes}, {"overflows", std::move(overflows)}, {"window", h.window ? window_json(*h.window) : json(nullptr)}};
  });
}

json map_json(const NumericsMap& map) {
  struct Metric {
    const char* key;
    Number NumericsCell::*member;
  };
  static constexpr std::array<Metric, 5> metrics{{{"head_room_bits", &NumericsCell::head_room},
                                                  {"flushed_share", &NumericsCell::flushed},
                                                  {"error", &NumericsCell::error},
                                                  {"rounding", &NumericsCell::rounding},
                                                  {"lost_share", &NumericsCell::lost}}};
  json cells = json::object();
  for (const Metric& metric : metrics)
    cells[metric.key] = each(map.cells, [&](const auto& layer) { return each(layer, [&](const NumericsCell& cell) { return number_json(cell.*metric.member); }); });
  cells["not_finite"] = each(map.cells, [](const auto& layer) { return each(layer, [](const NumericsCell& cell) { return json(cell.not_finite); }); });
  return {{"run", map.run},
          {"observed_steps", map.observed},
          {"read_steps", map.read},
          {"reading", word(map.reading)},
          {"layers", map.layers},
          {"more_layers", map.more_layers},
          {"columns", each(map.columns, [](const NumericsColumn& c) { return json{{"first", c.first}, {"last", c.last}, {"steps", c.steps}}; })},
          {"cells", std::move(cells)}};
}

json histogram_json(const TensorHistogram& h) {
  const TensorStatsRecord& s = h.stats;
  return {{"run", h.run},
          {"tensor", h.tensor},
          {"layer", h.layer},
          {"operation", word(h.operation)},
          {"phase", word(h.phase)},
          {"role", h.role},
          {"format", h.format},
          {"why", h.why},
          {"step", s.step},
          {"micro_batch", s.micro_batch},
          {"observation", s.observation},
          {"provenance", name(s.provenance)},
          {"head_room_bits", number_json(h.head_room)},
          {"elements", s.elements},
          {"nan", optional(s.nan)},
          {"positive_infinite", optional(s.positive_infinite)},
          {"negative_infinite", optional(s.negative_infinite)},
          {"zero", optional(s.zero)},
          {"subnormal", optional(s.subnormal)},
          {"flushed", optional(s.flushed)},
          {"overflowed", optional(s.overflowed)},
          {"least_magnitude", number_json(s.least_magnitude)},
          {"greatest_magnitude", number_json(s.greatest_magnitude)},
          {"histogram", s.histogram ? json{{"first_exponent", s.histogram->first}, {"counts", s.histogram->counts}} : json(nullptr)}};
}

json numerics_json(const NumericsSection& section) {
  json formats = each(section.formats, [](const FormatSpan& f) {
    return json{{"format", f.name}, {"least_subnormal_exponent", f.least_subnormal}, {"least_normal_exponent", f.least_normal}, {"greatest_exponent", f.greatest}};
  });
  return {{"maps", each(section.maps, map_json)}, {"tensors", each(section.histograms, histogram_json)}, {"formats", std::move(formats)}};
}

json overflows_json(const OverflowsSection& section) {
  json events = each(section.events, [](const OverflowEvent& e) {
    return json{{"run", e.run},
                {"step", e.step},
                {"loss", number_json(e.loss)},
                {"loss_scale", whole_json(e.loss_scale)},
                {"skipped", e.skipped},
                {"observed", e.observed},
                {"operation", word(e.operation)},
                {"node", word(e.node)},
                {"phase", word(e.phase)},
                {"tensor", word(e.tensor)},
                {"format", word(e.format)},
                {"not_finite", optional(e.not_finite)},
                {"greatest_magnitude", number_json(e.greatest_magnitude)},
                {"cause", optional(e.cause)}};
  });
  json causes = each(section.causes, [](const OverflowCause& told) {
    const Cause& c = told.cause;
    return json{{"run", told.run},      {"kind", name(c.kind)},     {"gravity", name(c.gravity)}, {"step", optional(c.step)},
                {"node", word(c.node)}, {"phase", word(c.phase)},   {"tensor", word(c.tensor)},   {"format", word(c.format)},
                {"what", c.what},       {"stamp", word(told.stamp)}, {"change", word(told.change)}, {"status", word(told.status)}};
  });
  return {{"total", section.total}, {"events", std::move(events)}, {"causes", std::move(causes)}};
}

json memory_row_json(const std::optional<MemoryRecord>& row) {
  if (!row) return nullptr;
  json by_category = json::object();
  for (int i = 0; i < memory_category_count; ++i) by_category[std::string(name(static_cast<MemoryCategory>(i)))] = optional(row->bytes[static_cast<std::size_t>(i)]);
  return {{"total_bytes", optional(row->total_bytes)}, {"provenance", name(row->provenance)}, {"bytes_by_category", std::move(by_category)}};
}

json memory_json(const MemorySection& section) {
  return each(section.modes, [](const ModeMemory& m) {
    json curve = each(m.curve, [](const MemoryPoint& p) { return json{{"position", p.position}, {"bytes", p.bytes}, {"node", p.node}, {"phase", p.phase}}; });
    return json{{"run", m.run},
                {"peak", memory_row_json(m.peak)},
                {"predicted", memory_row_json(m.predicted)},
                {"ratio", number_json(m.ratio)},
                {"why_not_half", m.why},
                {"step_provenance", name(m.curve_provenance)},
                {"step", std::move(curve)}};
  });
}

json origin_json(const OriginSection& section) {
  return each(section.files, [](const FileOrigin& f) {
    json missing = each(f.missing, [](const MissingRuns& m) { return json{{"mode", m.mode}, {"planned", m.planned}, {"missing", m.missing}, {"first_seed", m.first_seed}}; });
    return json{{"summary", summary_json(f.summary)}, {"missing_runs", std::move(missing)}, {"gpu_conditions", each(f.conditions, condition_json)}};
  });
}

}  // namespace

nlohmann::ordered_json report_json(const Report& report) {
  return {{"kind", "ulpscope report"},
          {"version", 1},
          {"schema", "docs/report.schema.json"},
          {"title", report.title},
          {"files", report.files},
          {"steps_are", "iterations, counted from 0 as in the run file; texts count steps from 1"},
          {"runs", each(report.runs, run_json)},
          {"verdict", verdict_json(report.verdict)},
          {"comparison", comparison_json(report.modes)},
          {"curves", curves_json(report.curves)},
          {"loss_scale", scale_json(report.scale)},
          {"numerics", numerics_json(report.numerics)},
          {"overflows", overflows_json(report.overflows)},
          {"memory", memory_json(report.memory)},
          {"time", each(report.time, time_json)},
          {"diagnoses", each(report.diagnoses, diagnosis_json)},
          {"origin", origin_json(report.origin)}};
}

void write_report_json(const Report& report, std::ostream& out) {
  // A section on a line: indented, every number would have one of its own.
  const json document = report_json(report);
  const char* before = "{";
  for (const auto& [key, value] : document.items()) {
    out << before << '\n' << json(key).dump() << ": " << value.dump(-1, ' ', false, json::error_handler_t::replace);
    before = ",";
  }
  out << "\n}\n";
}

}  // namespace ulpscope::reports
