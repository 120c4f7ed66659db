#include "reports/export/fields.h"

#include <cmath>

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

std::string csv_quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

}  // namespace ulpscope::reports
