// The findings of a check, in every form. Text: one line for each, or one line if there is none.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>

#include "reports/export/csv.h"
#include "reports/export/json.h"
#include "reports/export/layout.h"
#include "reports/export/text.h"

namespace ulpscope::reports {
namespace {

std::string rule_text(const CheckRule& rule) { return rule.limit ? fmt::format("{}={:g}", rule.name, *rule.limit) : rule.name; }

std::vector<std::string> rule_texts(const CheckResult& result) {
  std::vector<std::string> texts;
  for (const CheckRule& rule : result.rules) texts.push_back(rule_text(rule));
  return texts;
}

std::string csv_field(const std::string& field) {
  if (field.find_first_of(",\"\r\n") == std::string::npos) return field;
  std::string out = "\"";
  for (const char c : field) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

}  // namespace

void TextExporter::write(const CheckResult& result, std::ostream& out) const {
  for (const Finding& finding : result.findings) {
    const std::string seed = finding.seed ? fmt::format(", seed {}", *finding.seed) : "";
    const std::string who = finding.mode.empty() ? "" : fmt::format("{}{}: ", finding.mode, seed);
    out << printable(fmt::format("{}: {}: {}{}", finding.file, finding.rule, who, finding.text)) << '\n';
  }
  if (result.findings.empty())
    out << printable(fmt::format("{}: nothing found in {} run{} ({})", fmt::join(result.files, ", "), result.runs,
                                 result.runs == 1 ? "" : "s", fmt::join(rule_texts(result), ", ")))
        << '\n';
}

void JsonExporter::write(const CheckResult& result, std::ostream& out) const {
  using json = nlohmann::ordered_json;
  json findings = json::array();
  for (const Finding& f : result.findings)
    findings.push_back({{"file", f.file},
                        {"rule", f.rule},
                        {"mode", f.mode.empty() ? json(nullptr) : json(f.mode)},
                        {"seed", f.seed ? json(*f.seed) : json(nullptr)},
                        {"text", f.text}});
  const json document = {{"kind", "ulpscope check"}, {"version", 1},      {"files", result.files},
                         {"rules", rule_texts(result)}, {"runs", result.runs}, {"ok", result.findings.empty()},
                         {"findings", std::move(findings)}};
  out << document.dump(2, ' ', false, json::error_handler_t::replace) << '\n';
}

void CsvExporter::write(const CheckResult& result, std::ostream& out) const {
  out << "file,rule,mode,seed,finding\r\n";
  for (const Finding& f : result.findings)
    out << fmt::format("{},{},{},{},{}\r\n", csv_field(f.file), f.rule, csv_field(f.mode), f.seed ? std::to_string(*f.seed) : "",
                       csv_field(f.text));
}

}  // namespace ulpscope::reports
