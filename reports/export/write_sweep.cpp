// A shape sweep for programs.
#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "reports/export/csv.h"
#include "reports/export/fields.h"
#include "reports/export/json.h"
#include "reports/export/numbers.h"

namespace ulpscope::reports {
namespace {

using json = nlohmann::ordered_json;

json time_json(const SweepMode& mode, const SweepTime& t) {
  return {{"mode", mode.mode},
          {"seconds", figure_json(t.seconds)},
          {"tflops", number_json(t.tflops)},
          {"of_peak", number_json(t.of_peak)},
          {"ratio", number_json(t.ratio)},
          {"difference_seconds", number_json(t.difference)},
          {"noise_seconds", number_json(t.noise)},
          {"verdict", name(t.verdict)},
          {"why", t.why.empty() ? json(nullptr) : json(t.why)}};
}

}  // namespace

void JsonExporter::write(const Sweep& sweep, std::ostream& out) const {
  json modes = json::array(), sizes = json::array(), claims = json::array();
  for (const SweepMode& m : sweep.modes) modes.push_back({{"mode", m.mode}, {"compute_format", m.compute_format}, {"formats", m.formats}, {"provenance", name(m.provenance)}});
  for (const SweepSize& s : sweep.sizes) {
    json times = json::array();
    for (std::size_t m = 0; m < s.times.size(); ++m) times.push_back(time_json(sweep.modes[m], s.times[m]));
    sizes.push_back({{"size", s.size}, {"more", s.more}, {"more_work", number_json(s.more_work)}, {"mod_8", s.mod_8}, {"mod_64", s.mod_64}, {"mod_128", s.mod_128}, {"times", std::move(times)}});
  }
  for (const Sweep::Claim& c : sweep.claims) claims.push_back({{"mode", c.mode}, {"size", c.size}, {"text", c.text}, {"provenance", name(c.provenance)}});
  const json document{{"kind", "ulpscope sweep"},
                      {"version", 2},
                      {"experiment", sweep.experiment},
                      {"node", sweep.node},
                      {"operation", sweep.operation},
                      {"device", sweep.device},
                      {"device_kind", sweep.device_kind},
                      {"batch", sweep.batch},
                      {"rows", sweep.rows},
                      {"columns", sweep.columns},
                      {"inner", sweep.inner},
                      {"dimension", name(sweep.dimension)},
                      {"given", sweep.given},
                      {"rounds", sweep.rounds ? json(*sweep.rounds) : json(nullptr)},
                      {"modes", std::move(modes)},
                      {"sizes", std::move(sizes)},
                      {"facts", sweep.facts},
                      {"claims", std::move(claims)},
                      {"notes", sweep.notes}};
  out << document.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

void CsvExporter::write(const Sweep& sweep, std::ostream& out) const {
  out << "mode,size,figure,value,low,high,unit,provenance,text\r\n";
  const auto number = [](const Number& value) { return exact(value, FigureStyle::loss); };
  for (std::size_t m = 0; m < sweep.modes.size(); ++m)
    for (const SweepSize& s : sweep.sizes) {
      const SweepTime& t = s.times[m];
      const auto line = [&](const char* key, const Figure& f, const char* unit, std::string_view text) {
        out << fmt::format("{},{},{},{},{},{},{},{},{}\r\n", csv_quoted(sweep.modes[m].mode), s.size, key, number(f.value), number(f.low), number(f.high), unit,
                           f.value ? std::string(name(f.provenance)) : "", csv_quoted(std::string(text)));
      };
      const auto derived = [&](const Number& value) {
        Figure f;
        f.value = value;
        f.provenance = sweep.modes[m].provenance == Provenance::emulated ? Provenance::emulated : Provenance::computed;
        return f;
      };
      line("seconds", t.seconds, "s", "");
      line("tflops", derived(t.tflops), "TFLOP/s", "");
      line("of_peak", derived(t.of_peak), "", "");
      line("ratio", derived(t.ratio), "", "");
      line("difference", derived(t.difference), "s", "");
      line("noise", derived(t.noise), "s", "");
      line("verdict", {}, "", name(t.verdict));
    }
  for (const Sweep::Claim& c : sweep.claims) out << fmt::format("{},{},claim,,,,,{},{}\r\n", csv_quoted(c.mode), c.size, name(c.provenance), csv_quoted(c.text));
  for (const std::string& fact : sweep.facts) out << fmt::format(",,fact,,,,,computed,{}\r\n", csv_quoted(fact));
  for (const std::string& note : sweep.notes) out << fmt::format(",,note,,,,,,{}\r\n", csv_quoted(note));
}

}  // namespace ulpscope::reports
