// 1. The verdict, with what was emulated or projected said at once.
#include <fmt/format.h>

#include "reports/export/html/markup.h"

namespace ulpscope::reports::html {

namespace {

std::string answer_html(const VerdictAnswer& answer, bool several) {
  std::string out;
  if (several) out += element("h3", whose(answer).empty() ? std::string("Without a GPU") : whose(answer), "whose");
  out += "<div class=\"columns\">";
  const auto part = [&](const char* title, const std::vector<std::string>& items) {
    if (!items.empty()) out += fmt::format("<div><h3>{}</h3>{}</div>\n", title, list(items));
  };
  part("Why", answer.why);
  part("What it costs and saves", answer.costs);
  part(answer.advice.outcome == AdviceOutcome::recommended ? "What would change the answer" : "What would decide it", answer.would_change);
  out += "</div>\n";
  if (!answer.advice.device.empty() || several) out += word_table(advice_table(answer));
  const WordTable settings = settings_table(answer);
  return settings.rows.empty() ? out : out + details(settings.title, word_table(settings));
}

}  // namespace

std::string verdict_html(const Report& report) {
  const VerdictSection& verdict = report.verdict;
  std::string out = fmt::format("<section id=\"verdict\" class=\"verdict {}\" aria-labelledby=\"h-verdict\"><h2 id=\"h-verdict\">Verdict</h2>\n",
                                verdict.mode.empty() ? "undecided" : "decided");
  for (const VerdictAnswer& answer : verdict.answers) out += element("p", answer.sentence, "answer") + "\n";
  if (!verdict.caveats.empty()) out += "<div class=\"caveats\" role=\"note\">" + list(verdict.caveats) + "</div>\n";
  for (const VerdictAnswer& answer : verdict.answers) out += answer_html(answer, verdict.answers.size() > 1);
  Table table("How each mode fared", {"mode", "loss against fp32", "as diagnosed", "in words"});
  for (const ModeStanding& mode : verdict.modes) {
    const ModeResult& result = report.modes.modes[mode.mode];
    table.row({mode.label, std::string(name(result.judgement.verdict)), words(name(mode.outcome)), mode.health.empty() ? "not diagnosed" : mode.health});
  }
  out += table.text();
  if (!verdict.notes.empty()) out += details("What the answer rests on", list(verdict.notes));
  if (!report.modes.warnings.empty()) out += details(fmt::format("{} of the comparison", report.modes.warnings.size() == 1 ? "A warning" : "Warnings"), list(report.modes.warnings), true);
  return out + std::string(section_end);
}

}  // namespace ulpscope::reports::html
