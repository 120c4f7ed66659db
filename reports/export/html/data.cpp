// What the charts of the page are drawn from. Steps count from 1, as people count them.
#include <algorithm>
#include <cmath>

#include "reports/analysis/files.h"
#include "reports/export/html/markup.h"

namespace ulpscope::reports::html {
namespace {

using Json = nlohmann::ordered_json;

const char* word(GapKind kind) {
  switch (kind) {
    case GapKind::nan: return "NaN";
    case GapKind::positive_infinite: return "inf";
    case GapKind::negative_infinite: return "-inf";
    case GapKind::unknown: break;
  }
  return "unknown";
}

/// Elapsed at the end of a step, on the line between the points of the curve; null where it is not known.
Json seconds_at(const Curve& elapsed, std::int64_t step) {
  const auto after = std::lower_bound(elapsed.points.begin(), elapsed.points.end(), step, [](const SeriesPoint& p, std::int64_t s) { return p.step < s; });
  if (after == elapsed.points.end()) return nullptr;
  if (after->step == step || after == elapsed.points.begin()) return short_number(after->value);
  const SeriesPoint& before = *(after - 1);
  return short_number(before.value + (after->value - before.value) * static_cast<double>(step - before.step) / static_cast<double>(after->step - before.step));
}

/// from: what is added to a step for people. elapsed: of the run; gaps have no time of their own. piece: of each point, the gaps before it,
/// those that are not drawn too: a line joins points of one piece.
Json curve_json(const Curve& curve, std::int64_t from, const Curve& elapsed = {}) {
  Json x = Json::array(), y = Json::array(), t = Json::array(), piece = Json::array(), gaps = Json::array();
  std::size_t before = 0;
  for (const SeriesPoint& point : curve.points) {
    x.push_back(point.step + from);
    y.push_back(short_number(point.value));
    t.push_back(short_number(point.seconds));
    while (before < curve.gaps.size() && curve.gaps[before].first <= point.step) ++before;
    piece.push_back(before);
  }
  for (std::size_t i = 0; i < curve.gaps.size(); i += every(curve.gaps.size(), most_gaps)) {
    const SeriesGap& gap = curve.gaps[i];
    Json& item = gaps.emplace_back(Json::array({word(gap.kind), gap.first + from, gap.last + from}));
    if (elapsed.points.empty()) continue;
    item.push_back(seconds_at(elapsed, gap.first));
    item.push_back(seconds_at(elapsed, gap.last));
  }
  return {{"x", std::move(x)}, {"y", std::move(y)}, {"t", std::move(t)}, {"piece", std::move(piece)}, {"gaps", std::move(gaps)}};
}

/// A scale is constant between its changes: points that say nothing new are left out.
Curve without_repeats(const Curve& curve) {
  Curve result{{}, curve.gaps, curve.finite};
  for (std::size_t i = 0; i < curve.points.size(); ++i) {
    const bool inside = i > 0 && i + 1 < curve.points.size();
    if (inside && curve.points[i].value == curve.points[i - 1].value && curve.points[i].value == curve.points[i + 1].value) continue;
    result.points.push_back(curve.points[i]);
  }
  return result;
}

Json figure_json(const Figure& f) {
  return {{"value", short_number(f.value)}, {"low", short_number(f.low)}, {"high", short_number(f.high)}, {"spread", short_number(f.spread)}, {"is", mark(f.provenance)}};
}

Json modes_json(const Report& report) {
  Json list = Json::array();
  for (const ModeResult& mode : report.modes.modes)
    list.push_back({{"mode", mode.mode},
                    {"label", mode.tag.empty() ? mode.mode : mode.tag + " " + mode.mode},
                    {"emulated", mode.emulated},
                    {"verdict", std::string(name(mode.judgement.verdict))},
                    {"metric", mode.metric},
                    {"speed", figure_json(mode.speed)},
                    {"memory", figure_json(mode.memory_ratio)},
                    {"peak", short_number(mode.peak_bytes.value)},
                    {"seconds", short_number(mode.step_seconds.value)},
                    {"distance", figure_json(mode.distance)}});
  return list;
}

Json runs_json(const Report& report) {
  Json list = Json::array();
  for (const ReportRun& run : report.runs) list.push_back({{"label", run.label}, {"mode", run.mode_index}, {"seed", run.run.seed}});
  return list;
}

Json curves_json(const Report& report) {
  Json list = Json::array();
  for (const RunCurves& run : report.curves.runs) {
    Json skipped = Json::array(), when = Json::array();
    const std::vector<SkippedStep>& all = run.series.skipped;
    for (std::size_t i = 0; i < all.size(); i += every(all.size(), most_marks)) {
      skipped.push_back(all[i].step + 1);
      when.push_back(short_number(all[i].seconds));
    }
    list.push_back({{"run", run.run}, {"loss", curve_json(run.series.loss, 1, run.series.elapsed_seconds)}, {"held_out", curve_json(run.series.held_out_loss, 0)}, {"skipped", std::move(skipped)},
                    {"skipped_t", std::move(when)}, {"skips", all.size()}});
  }
  return list;
}

Json bands_json(const Report& report) {
  Json list = Json::array();
  for (const SeedBand& band : report.curves.bands) {
    Json x = Json::array(), low = Json::array(), high = Json::array(), t = Json::array();
    for (const BandPoint& point : band.points) {
      x.push_back(point.first + 1);
      low.push_back(short_number(point.low));
      high.push_back(short_number(point.high));
      t.push_back(short_number(point.seconds));
    }
    list.push_back({{"tag", band.tag}, {"seeds", band.seeds}, {"x", std::move(x)}, {"low", std::move(low)}, {"high", std::move(high)}, {"t", std::move(t)}});
  }
  return list;
}

Json scale_json(const Report& report) {
  Json list = Json::array();
  for (const ScaleHistory& history : report.scale.runs) {
    Json overflows = Json::array();
    for (std::size_t i = 0; i < history.overflows.size(); i += every(history.overflows.size(), most_marks)) {
      const ScaleOverflow& o = history.overflows[i];
      overflows.push_back({o.step + 1, short_number(o.scale), short_number(o.next), o.skipped});
    }
    Json json{{"run", history.run}, {"scale", curve_json(without_repeats(history.scale), 1)}, {"overflows", std::move(overflows)}, {"count", history.overflows.size()}};
    if (history.window) {
      const LossScaleWindow& window = *history.window;
      json["window"] = {{"low", short_number(window.model.lowest)}, {"high", short_number(window.model.highest)}, {"share", window.share}, {"exists", window.exists()}, {"is", mark(window.provenance)}};
    }
    list.push_back(std::move(json));
  }
  return list;
}

Json memory_json(const Report& report) {
  Json list = Json::array();
  for (const ModeMemory& mode : report.memory.modes) {
    Json parts = Json::array(), points = Json::array();
    for (int i = 0; i < memory_category_count && mode.peak; ++i)
      if (const Count bytes = mode.peak->bytes[static_cast<std::size_t>(i)]; bytes.value_or(0) > 0) {
        std::string category(name(static_cast<MemoryCategory>(i)));
        std::replace(category.begin(), category.end(), '_', ' ');
        parts.push_back({category, *bytes});
      }
    for (const MemoryPoint& point : mode.curve) points.push_back({point.position, point.bytes, point.node, point.phase});
    list.push_back({{"mode", report.runs[mode.run].mode_index}, {"parts", std::move(parts)}, {"curve", std::move(points)}, {"is", mark(mode.curve_provenance)}});
  }
  return list;
}

Json time_json(const Report& report) {
  Json list = Json::array();
  for (const TimeReport& time : report.time)
    for (const ModeTime& mode : time.modes) {
      Json parts = Json::array();
      for (const CategoryTime& category : mode.categories)
        if (category.seconds.value) parts.push_back({std::string(label(category.category)), short_number(category.seconds.value)});
      std::string title = mode.run.mode;
      if (report.time.size() > 1) title += ", " + short_name(time.file, report.files);
      list.push_back({{"label", title}, {"mode", mode.run.mode}, {"emulated", mode.emulated}, {"step", short_number(mode.step.value)}, {"between", short_number(mode.between.value)}, {"parts", std::move(parts)}});
    }
  return list;
}

}  // namespace

Json chart_data(const Report& report) {
  Json data = numerics_data(report);
  data["modes"] = modes_json(report);
  data["runs"] = runs_json(report);
  data["curves"] = curves_json(report);
  data["bands"] = bands_json(report);
  data["scale"] = scale_json(report);
  data["memory"] = memory_json(report);
  data["time"] = time_json(report);
  return data;
}

}  // namespace ulpscope::reports::html
