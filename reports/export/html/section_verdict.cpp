// 1. The verdict, with what was emulated or projected said at once.
#include <fmt/format.h>

#include "reports/export/html/markup.h"

namespace ulpscope::reports::html {

std::string verdict_html(const Report& report) {
  const VerdictSection& verdict = report.verdict;
  std::string out = fmt::format("<section id=\"verdict\" class=\"verdict {}\" aria-labelledby=\"h-verdict\"><h2 id=\"h-verdict\">Verdict</h2>\n",
                                verdict.mode.empty() ? "undecided" : "decided");
  out += fmt::format("<p class=\"answer\">{}</p>\n", escaped(verdict.sentence));
  if (!verdict.caveats.empty()) out += "<div class=\"caveats\" role=\"note\">" + list(verdict.caveats) + "</div>\n";
  out += "<div class=\"columns\">";
  const auto part = [&](const char* title, const std::vector<std::string>& items) {
    if (!items.empty()) out += fmt::format("<div><h3>{}</h3>{}</div>\n", title, list(items));
  };
  part("Why", verdict.why);
  part("What it costs and saves", verdict.costs);
  part("What would change the answer", verdict.would_change);
  out += "</div>\n";
  Table table("How each mode fared", {"mode", "loss against fp32", "as diagnosed", "in words"});
  for (const ModeStanding& mode : verdict.modes) {
    const ModeResult& result = report.modes.modes[mode.mode];
    table.row({mode.label, std::string(name(result.judgement.verdict)), std::string(name(mode.outcome)), mode.health.empty() ? "not diagnosed" : mode.health});
  }
  out += table.text();
  if (!report.modes.warnings.empty()) out += details(fmt::format("{} of the comparison", report.modes.warnings.size() == 1 ? "A warning" : "Warnings"), list(report.modes.warnings), true);
  return out + std::string(section_end);
}

}  // namespace ulpscope::reports::html
