// Modes against fp32 at several batches, for programs.
#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/export/csv.h"
#include "reports/export/fields.h"
#include "reports/export/json.h"
#include "reports/export/numbers.h"

namespace ulpscope::reports {

void JsonExporter::write(const BreakEven& result, std::ostream& out) const {
  using json = nlohmann::ordered_json;
  json modes = json::array();
  for (const BreakEvenMode& m : result.modes) {
    json points = json::array();
    for (const BreakEvenPoint& p : m.points)
      points.push_back({{"batch", p.batch},
                        {"file", p.file},
                        {"fp32_seconds", figure_json(p.reference)},
                        {"seconds", figure_json(p.seconds)},
                        {"speed", figure_json(p.speed)},
                        {"noise_seconds", number_json(p.noise)},
                        {"against_fp32", name(p.verdict)},
                        {"gpu_busy", number_json(p.busy)}});
    json crossings = json::array();
    for (const BreakEvenCrossing& c : m.crossings) crossings.push_back({{"batch", figure_json(c.batch)}, {"to", name(c.to)}});
    modes.push_back({{"mode", m.mode},
                     {"break_even_batch", figure_json(m.batch)},
                     {"crossings", std::move(crossings)},
                     {"launch_bound_up_to", m.launch_bound_up_to ? json(*m.launch_bound_up_to) : json(nullptr)},
                     {"text", m.text},
                     {"points", std::move(points)}});
  }
  const json document{{"kind", "ulpscope break-even"}, {"version", 2}, {"experiment", result.experiment}, {"device", result.device}, {"modes", std::move(modes)}, {"notes", result.notes}};
  out << document.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

void CsvExporter::write(const BreakEven& result, std::ostream& out) const {
  out << "mode,batch,file,figure,value,unit,provenance,text\r\n";
  const auto line = [&](const BreakEvenMode& m, const BreakEvenPoint* p, const char* key, const Number& value, const char* unit, Provenance provenance, const std::string& text) {
    out << fmt::format("{},{},{},{},{},{},{},{}\r\n", csv_quoted(m.mode), p == nullptr ? "" : fmt::format("{}", p->batch), p == nullptr ? "" : csv_quoted(p->file), key, exact(value, FigureStyle::loss), unit,
                       value ? std::string(name(provenance)) : "", csv_quoted(text));
  };
  for (const BreakEvenMode& m : result.modes) {
    for (const BreakEvenPoint& p : m.points) {
      line(m, &p, "fp32_seconds", p.reference.value, "s/step", p.reference.provenance, "");
      line(m, &p, "seconds", p.seconds.value, "s/step", p.seconds.provenance, "");
      line(m, &p, "speed", p.speed.value, "", p.speed.provenance, std::string(name(p.verdict)));
      line(m, &p, "noise", p.noise, "s/step", Provenance::computed, "");
      line(m, &p, "gpu_busy", p.busy, "", Provenance::computed, "");
    }
    for (const BreakEvenCrossing& c : m.crossings) line(m, nullptr, "crossing", c.batch.value, "examples", c.batch.provenance, fmt::format("to {}", name(c.to)));
    line(m, nullptr, "break_even", m.batch.value, "examples", m.batch.provenance, m.text);
    line(m, nullptr, "break_even_low", m.batch.low, "examples", m.batch.provenance, "");
    line(m, nullptr, "break_even_high", m.batch.high, "examples", m.batch.provenance, "");
  }
  for (const std::string& note : result.notes) out << fmt::format(",,,note,,,,{}\r\n", csv_quoted(note));
}

}  // namespace ulpscope::reports
