#include "reports/export/html/page.h"

#include <fmt/format.h>

#include <array>

#include "kernels/error.h"
#include "reports/analysis/files.h"
#include "reports/export/html/assets.h"
#include "reports/export/html/markup.h"

namespace ulpscope::reports {
namespace {

using html::element;
using html::escaped;

struct Section {
  const char* id;
  const char* title;  ///< in the navigation
  std::string (*write)(const Report&);
};
/// In the order in which a reader asks.
constexpr std::array<Section, 9> sections{{{"verdict", "Verdict", html::verdict_html},
                                           {"modes", "Modes", html::modes_html},
                                           {"loss", "Loss", html::curves_html},
                                           {"scale", "Loss scale", html::scale_html},
                                           {"numerics", "Numerics", html::numerics_html},
                                           {"overflows", "Overflows", html::overflows_html},
                                           {"memory", "Memory", html::memory_html},
                                           {"time", "Time", html::time_html},
                                           {"origin", "Origin", html::origin_html}}};

std::string head(const Report& report) {
  std::string out = "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n";
  // Nothing may be fetched, even if something asked for it. Vega compiles its expressions: unsafe-eval.
  out += "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline' 'unsafe-eval'; img-src data:\">\n";
  out += "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n";
  out += element("title", "ulpscope: " + report.title) + "\n";
  out += fmt::format("<style>\n{}</style>\n</head>\n", html::report_css());
  return out;
}

std::string banner(const Report& report) {
  std::string devices;
  for (const Setting& setting : report.modes.settings) devices += (devices.empty() ? "" : "; ") + setting.device;
  std::string files;
  for (const std::string& file : short_names(report.files)) files += (files.empty() ? "" : ", ") + file;
  std::string out = "<header class=\"top\"><div><p class=\"brand\">ulpscope report</p>";
  out += element("h1", report.title) + element("p", fmt::format("{} · {}", devices, files), "quiet");
  return out + "</div><button type=\"button\" id=\"theme\" aria-label=\"switch between light and dark\">Dark</button></header>\n";
}

std::string navigation() {
  std::string out = "<nav aria-label=\"sections\"><div class=\"links\">";
  for (const Section& section : sections) out += fmt::format("<a href=\"#{}\">{}</a>", section.id, section.title);
  return out + "</div><div id=\"modes-shown\" role=\"group\" aria-label=\"modes shown in the charts\"></div></nav>\n";
}

}  // namespace

bool can_write_html() { return !html::vega_js().empty(); }

std::string html_sections(const Report& report) {
  std::string out;
  for (const Section& section : sections) out += section.write(report);
  return out;
}

void write_html(const Report& report, std::ostream& out) {
  if (!can_write_html())
    throw UsageError("--html: this build has no Vega to draw with: node-vega and esbuild were not there when it was configured; scripts/setup installs them, then configure and build again");
  out << head(report) << "<body>\n<div class=\"page\">\n" << banner(report) << navigation() << "<main>\n";
  out << "<noscript><p class=\"caveats\">Charts need JavaScript; the tables do not.</p></noscript>\n";
  out << html_sections(report) << "</main>\n<footer>" << element("p", "Charts: Vega (BSD-3-Clause, University of Washington Interactive Data Lab) with D3 (ISC, Mike Bostock). Written by ulpscope; nothing in this file is fetched from anywhere.") << "</footer>\n</div>\n";
  out << "<div id=\"tip\" role=\"tooltip\" hidden></div>\n";
  out << "<script type=\"application/json\" id=\"data\">" << html::script_json(html::chart_data(report)) << "</script>\n";
  out << "<script>" << html::vega_js() << "</script>\n<script>" << html::report_js() << "</script>\n</body>\n</html>\n";
}

}  // namespace ulpscope::reports
