// A prediction in every form.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "reports/export/csv.h"
#include "reports/export/json.h"
#include "reports/export/layout.h"
#include "reports/export/numbers.h"
#include "reports/export/text.h"

namespace ulpscope::reports {
namespace {

using json = nlohmann::ordered_json;

constexpr std::size_t label_width = 14;
constexpr std::size_t most_foreseen = 8;

void item(std::ostream& out, std::string_view label, const std::string& text) {
  if (!text.empty()) out << wrap(printable(text), "  " + pad_right(label, label_width));
}

std::string where(const Foreseen& f) {
  if (f.node.empty()) return f.tensor;
  std::string text = fmt::format("{} ({}, {})", f.node, f.operation, f.phase);
  if (!f.tensor.empty() && f.tensor != f.node) text += fmt::format(", in {}", f.tensor);
  return f.format.empty() ? text : fmt::format("{}, {}", text, f.format);
}

std::string power_text(int exponent) { return fmt::format("2^{}", exponent); }

std::string scales_text(const ModePrediction& m) {
  const ScaleWindow& w = m.window;
  if (!m.scaled && m.forecast != Forecast::needs_scale && m.forecast != Forecast::no_scale) return "";
  if (!w.highest) return m.no_window.empty() ? "unknown" : m.no_window;
  std::string text =
      fmt::format("{} {} (at most {:g} % of the gradients lost{})", w.lowest ? power_text(*w.lowest) + " to" : "up to",
                  power_text(*w.highest), 100.0 * w.share, w.full ? "; none subnormal from " + power_text(*w.full) : "");
  if (!w.exists())
    text = fmt::format("none: {} needs at least {}, {} at most {}", w.lowest_tensor, power_text(w.lowest.value_or(0)),
                       w.highest_tensor, power_text(*w.highest));
  if (m.start_scale) text += fmt::format("; it starts from {}", scale_text(*m.start_scale));
  if (m.first_skips && *m.first_skips > 0 && m.settled_scale)
    text += fmt::format(", {} skipped until {}", *m.first_skips, scale_text(*m.settled_scale));
  return text + " [projected]";
}

void foreseen_lines(const Foreseen& f, std::size_t number, std::ostream& out) {
  out << '\n' << printable(fmt::format("  {}. {}, {}", number, f.kind, name(f.gravity))) << '\n';
  item(out, "why", f.what);
  item(out, "where", where(f));
  for (const Fact& fact : f.facts) {
    const bool wide = columns(fact.label) >= label_width;
    item(out, wide ? "" : fact.label,
         fmt::format("{}{} [{}]", wide ? fact.label + ": " : "", fact.text, name(fact.provenance)));
  }
}

void mode_lines(const ModePrediction& m, std::ostream& out) {
  out << '\n' << printable(fmt::format("{}: {}{}", m.mode, name(m.forecast), m.asked ? "" : " (beside it)")) << '\n';
  item(out, "", m.verdict);
  for (const std::string& words : m.non_standard) item(out, "non-standard", words);
  item(out, "scales", scales_text(m));
  if (m.room_forward)
    item(out, "room",
         fmt::format("{:.2f} bits above the greatest forward tensor, {} [projected]", *m.room_forward, m.room_tensor));
  if (m.without_counterpart > 0)
    item(out, "unknown",
         fmt::format("{} narrow tensor{} without one of the same name in fp32", m.without_counterpart,
                     m.without_counterpart == 1 ? "" : "s"));
  for (std::size_t i = 0; i < m.foreseen.size() && i < most_foreseen; ++i) foreseen_lines(m.foreseen[i], i + 1, out);
  if (m.foreseen.size() > most_foreseen)
    out << fmt::format("\n  and {} more (--json has them)\n", m.foreseen.size() - most_foreseen);
}

json number(const Number& value) {
  if (!value) return nullptr;
  if (!std::isfinite(*value)) return exact(value, FigureStyle::loss);
  return *value;
}

json word(const std::string& text) { return text.empty() ? json(nullptr) : json(text); }

json foreseen_json(const Foreseen& f) {
  json facts = json::array();
  for (const Fact& fact : f.facts)
    facts.push_back({{"key", fact.key},
                     {"label", fact.label},
                     {"value", number(fact.value)},
                     {"text", fact.text},
                     {"provenance", name(fact.provenance)}});
  return {{"kind", f.kind},           {"gravity", name(f.gravity)},
          {"node", word(f.node)},     {"operation", word(f.operation)},
          {"phase", word(f.phase)},   {"tensor", word(f.tensor)},
          {"format", word(f.format)}, {"overflow", f.overflow},
          {"constant", f.constant},   {"what", f.what},
          {"facts", std::move(facts)}};
}

json power_json(const std::optional<int>& exponent) {
  return exponent ? json(std::ldexp(1.0, *exponent)) : json(nullptr);
}

json mode_json(const ModePrediction& m) {
  json foreseen = json::array();
  for (const Foreseen& f : m.foreseen) foreseen.push_back(foreseen_json(f));
  const json window = {{"lowest", power_json(m.window.lowest)},
                       {"full", power_json(m.window.full)},
                       {"highest", power_json(m.window.highest)},
                       {"exists", m.window.exists()},
                       {"flushed_share", m.window.share},
                       {"lowest_tensor", word(m.window.lowest_tensor)},
                       {"highest_tensor", word(m.window.highest_tensor)},
                       {"provenance", name(Provenance::projected)}};
  return {{"mode", m.mode},
          {"asked", m.asked},
          {"forecast", name(m.forecast)},
          {"verdict", m.verdict},
          {"window", window},
          {"start_scale", number(m.start_scale)},
          {"settled_scale", number(m.settled_scale)},
          {"first_skips", m.first_skips ? json(*m.first_skips) : json(nullptr)},
          {"flushed", number(m.flushed)},
          {"room_forward_bits", number(m.room_forward)},
          {"room_tensor", word(m.room_tensor)},
          {"without_counterpart", m.without_counterpart},
          {"non_standard", m.non_standard},
          {"foreseen", std::move(foreseen)}};
}

std::string field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

}  // namespace

void TextExporter::write(const Prediction& prediction, std::ostream& out) const {
  const std::string loss = prediction.loss ? number_text(*prediction.loss) : "unknown";
  out << wrap(printable(fmt::format(
                  "{}: before training; one step in fp32 (loss {}, seed {}) held against the formats of each mode",
                  prediction.experiment, loss, prediction.seed)),
              "");
  for (const std::string& remark : prediction.remarks) out << wrap(printable(remark), "note: ");
  for (const ModePrediction& mode : prediction.modes) mode_lines(mode, out);
  if (!prediction.advice.empty()) out << '\n' << wrap(printable(prediction.advice), "");
}

void JsonExporter::write(const Prediction& prediction, std::ostream& out) const {
  json modes = json::array();
  for (const ModePrediction& mode : prediction.modes) modes.push_back(mode_json(mode));
  const json document = {{"kind", "ulpscope prediction"},    {"version", 1},
                         {"file", prediction.file},          {"experiment", prediction.experiment},
                         {"seed", prediction.seed},          {"loss", number(prediction.loss)},
                         {"remarks", prediction.remarks},    {"modes", std::move(modes)},
                         {"advice", word(prediction.advice)}};
  out << document.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

void CsvExporter::write(const Prediction& prediction, std::ostream& out) const {
  out << "mode,section,kind,gravity,node,key,value,provenance,text\r\n";
  const auto row = [&](const std::string& mode, const char* section, const std::string& kind, std::string_view gravity,
                       const std::string& node, const std::string& key, const Number& value,
                       std::string_view provenance, const std::string& text) {
    out << fmt::format("{},{},{},{},{},{},{},{},{}\r\n", field(mode), section, kind, gravity, field(node), key,
                       exact(value, FigureStyle::loss), provenance, field(text));
  };
  for (const ModePrediction& m : prediction.modes) {
    row(m.mode, "verdict", std::string(name(m.forecast)), "", "", "", std::nullopt, "", m.verdict);
    if (m.window.highest) {
      const Number lowest = m.window.lowest ? Number(std::ldexp(1.0, *m.window.lowest)) : std::nullopt;
      row(m.mode, "window", "", "", m.window.lowest_tensor, "lowest", lowest, lowest ? "projected" : "", "");
      row(m.mode, "window", "", "", m.window.highest_tensor, "highest", std::ldexp(1.0, *m.window.highest), "projected",
          "");
    }
    for (const Foreseen& f : m.foreseen) {
      row(m.mode, "foreseen", f.kind, name(f.gravity), f.node, "", std::nullopt, "", f.what);
      for (const Fact& fact : f.facts)
        row(m.mode, "fact", f.kind, name(f.gravity), f.node, fact.key, fact.value, name(fact.provenance), fact.text);
    }
  }
  if (!prediction.advice.empty()) row("", "advice", "", "", "", "", std::nullopt, "", prediction.advice);
}

}  // namespace ulpscope::reports
