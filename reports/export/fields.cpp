#include "reports/export/fields.h"

#include <charconv>
#include <cmath>
#include <string_view>
#include <system_error>

#include "reports/export/numbers.h"

namespace ulpscope::reports {

nlohmann::ordered_json number_json(const Number& value) {
  if (!value) return nullptr;
  if (!std::isfinite(*value)) return exact(value, FigureStyle::loss);
  return *value;
}

nlohmann::ordered_json figure_json(const Figure& figure) {
  nlohmann::ordered_json all{{"value", number_json(figure.value)}, {"provenance", name(figure.provenance)}};
  if (figure.spread) all["spread"] = number_json(figure.spread);
  if (figure.low) all["low"] = number_json(figure.low);
  if (figure.high) all["high"] = number_json(figure.high);
  if (figure.samples) all["samples"] = *figure.samples;
  return all;
}

namespace {

bool is_number(std::string_view text) {
  if (text.starts_with('-') || text.starts_with('+')) text.remove_prefix(1);
  if (text == "Infinity" || text == "NaN") return true;
  double value = 0.0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return (error == std::errc() || error == std::errc::result_out_of_range) && end == text.data() + text.size();
}

/// What a spreadsheet would take for a formula.
bool is_formula(std::string_view text) { return !text.empty() && std::string_view("=+-@\t\r").find(text.front()) != std::string_view::npos && !is_number(text); }

}  // namespace

std::string csv_quoted(const std::string& field) {
  const std::string text = is_formula(field) ? "'" + field : field;
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

}  // namespace ulpscope::reports
