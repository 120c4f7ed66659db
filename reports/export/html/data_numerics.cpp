// The heat map and the histograms, as the charts read them.
#include <cmath>

#include "reports/export/html/markup.h"

namespace ulpscope::reports::html {
namespace {

using Json = nlohmann::ordered_json;

/// Three digits are more than a colour shows.
Json coarse(const Number& value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  if (*value == 0.0) return 0;
  const double unit = std::pow(10.0, 2.0 - std::floor(std::log10(std::fabs(*value))));
  return short_number(std::round(*value * unit) / unit);
}

Json map_json(const NumericsMap& map) {
  struct Metric {
    const char* key;
    Number NumericsCell::*member;
  };
  static constexpr Metric metrics[] = {{"head_room", &NumericsCell::head_room}, {"flushed", &NumericsCell::flushed}, {"error", &NumericsCell::error},
                                       {"rounding", &NumericsCell::rounding},   {"lost", &NumericsCell::lost}};
  Json json{{"run", map.run}, {"layers", map.layers}, {"columns", Json::array()}, {"cells", Json::object()}, {"bad", Json::array()}};
  for (const NumericsColumn& column : map.columns) json["columns"].push_back({column.first + 1, column.last + 1, column.steps});
  for (const Metric& metric : metrics) {
    Json rows = Json::array();
    bool any = false;
    for (const auto& layer : map.cells) {
      Json row = Json::array();
      for (const NumericsCell& cell : layer) {
        row.push_back(coarse(cell.*metric.member));
        any = any || (cell.*metric.member).has_value();
      }
      rows.push_back(std::move(row));
    }
    if (any) json["cells"][metric.key] = std::move(rows);
  }
  for (std::size_t l = 0; l < map.cells.size(); ++l)
    for (std::size_t c = 0; c < map.cells[l].size(); ++c)
      if (map.cells[l][c].not_finite) json["bad"].push_back({l, c});
  return json;
}

Json histogram_json(const TensorHistogram& h) {
  const TensorStatsRecord& s = h.stats;
  const auto count = [](const Count& value) -> Json { return value ? Json(*value) : Json(nullptr); };
  return {{"run", h.run},
          {"tensor", h.tensor},
          {"layer", h.layer},
          {"operation", h.operation},
          {"phase", h.phase},
          {"role", h.role},
          {"format", h.format},
          {"why", h.why},
          {"step", s.step + 1},
          {"observation", s.observation},
          {"is", mark(s.provenance)},
          {"head_room", coarse(h.head_room)},
          {"elements", s.elements},
          {"zero", count(s.zero)},
          {"flushed", count(s.flushed)},
          {"overflowed", count(s.overflowed)},
          {"nan", count(s.nan)},
          {"inf", count(s.positive_infinite)},
          {"minus_inf", count(s.negative_infinite)},
          {"greatest", short_number(s.greatest_magnitude)},
          {"least", short_number(s.least_magnitude)},
          {"first", s.histogram ? s.histogram->first : 0},
          {"counts", s.histogram ? Json(s.histogram->counts) : Json::array()}};
}

}  // namespace

Json numerics_data(const Report& report) {
  Json data{{"maps", Json::array()}, {"histograms", Json::array()}, {"formats", Json::array()}};
  for (const NumericsMap& map : report.numerics.maps) data["maps"].push_back(map_json(map));
  for (const TensorHistogram& histogram : report.numerics.histograms) data["histograms"].push_back(histogram_json(histogram));
  for (const FormatSpan& format : report.numerics.formats) data["formats"].push_back({format.name, format.least_subnormal, format.least_normal, format.greatest});
  return data;
}

}  // namespace ulpscope::reports::html
