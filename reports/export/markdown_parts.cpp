#include "reports/export/markdown_parts.h"

#include <fmt/format.h>

#include "reports/export/escape.h"
#include "reports/export/layout.h"
#include "reports/export/numbers.h"
#include "reports/export/report_markdown.h"

namespace ulpscope::reports {
namespace {

enum class Inside { markdown, html };

std::string shown_as_it_is(std::string_view text, Inside place) {
  return escaped_text(text, [place](char c, std::string& out) {
    if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '&') {
      out += "&amp;";
    } else if (c == '\n' || c == '\t' || c == '\r') {
      out += ' ';
    } else if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
      out += '?';
    } else if (c == '#' || c == '@') {
      out += fmt::format("&#{};", static_cast<int>(c));  // "#8" and "@name" would be linked to whatever has that number or name
    } else {
      if (place == Inside::markdown && std::string_view("\\|`*_~[]$").find(c) != std::string_view::npos) out += '\\';
      out += c;
    }
  });
}

/// Addresses would become links: their sign is written as an entity.
void break_links(std::string& text) {
  const auto every = [&](std::string_view what, std::size_t at_sign, std::string_view entity) {
    for (std::size_t at = text.find(what); at != std::string::npos; at = text.find(what, at + what.size())) text.replace(at + at_sign, 1, entity);
  };
  every("://", 0, "&#58;");
  every("www.", 3, "&#46;");
}

}  // namespace

std::string markdown_escaped(std::string_view text) {
  std::string out = shown_as_it_is(text, Inside::markdown);
  break_links(out);
  // At its beginning, the mark of a list ("- ", "1. ") or a rule ("---"); not a number.
  const auto ends = [&](std::size_t i) { return i >= out.size() || out[i] == ' '; };
  const std::size_t digits = std::min(out.find_first_not_of("0123456789"), out.size());
  const bool numbered = digits > 0 && digits < out.size() && (out[digits] == '.' || out[digits] == ')') && ends(digits + 1);
  const bool marked = !out.empty() && (out[0] == '-' || out[0] == '+' || out[0] == '=') && (ends(1) || out[1] == out[0]);
  if (numbered || marked) out.insert(digits, 1, '\\');
  return out;
}

namespace markdown {

Table::Table(const std::vector<std::string>& head, std::size_t numbers_from) {
  out_ = "|";
  for (const std::string& title : head) out_ += fmt::format(" {} |", markdown_escaped(title));
  out_ += "\n|";
  for (std::size_t i = 0; i < head.size(); ++i) out_ += i >= numbers_from ? "---:|" : "---|";
  out_ += '\n';
}

void Table::row(const std::vector<std::string>& cells) {
  ++rows_;
  out_ += '|';
  for (const std::string& cell : cells) out_ += fmt::format(" {} |", markdown_escaped(cell));
  out_ += '\n';
}

std::string list(const std::vector<std::string>& items) {
  std::string out;
  for (const std::string& item : items) out += fmt::format("- {}\n", markdown_escaped(item));
  return out;
}

std::string word_table(const WordTable& words) {
  Table table(words.head, words.numbers_from);
  for (const auto& row : words.rows) table.row(row);
  return (table.empty() ? "" : table.text()) + (words.notes.empty() ? "" : list(words.notes) + "\n");
}

std::string details(std::string_view summary, const std::string& content) {
  const std::string_view text = std::string_view(content).substr(0, content.find_last_not_of('\n') + 1);
  return fmt::format("<details><summary>{}</summary>\n\n{}\n\n</details>\n\n", shown_as_it_is(summary, Inside::html), text);
}

std::string words(std::string_view key) {
  std::string text(key);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string label(const ModeResult& mode) { return mode.tag.empty() ? mode.mode : fmt::format("{} {}", mode.tag, mode.mode); }

std::string runs_table(const Report& report) {
  Table table({"run", "status", "final loss", "held-out loss", "steps applied", "skipped", "notes"}, 2);
  for (const ModeResult& mode : report.modes.modes)
    for (const RunResult& run : mode.runs) {
      const auto number = [](const Number& value) { return value ? number_text(*value) : std::string("unknown"); };
      const auto count = [](const Count& value) { return value ? fmt::format("{}", *value) : std::string("unknown"); };
      std::string notes;
      for (const auto& note : {divergence_note(run), status_note(run)})
        if (note) notes += (notes.empty() ? "" : "; ") + *note;
      table.row({fmt::format("{}, seed {}", label(mode), run.run.seed), status_text(run), final_loss_words(run, [](double x) { return number_text(x); }), number(run.held_out_loss), count(run.applied), count(run.skipped), notes});
    }
  return details("Every seed: losses [computed], steps [counted]", table.text());
}

std::string memory_part(const Report& report) {
  if (report.memory.modes.empty()) return "";
  std::string out = "### Memory\n\n";
  Table table({"mode", "peak, with observation", "as planned", "× fp32's, without observation"}, 1);
  const auto bytes = [](const std::optional<MemoryRecord>& row) {
    return row && row->total_bytes ? fmt::format("{} [{}]", bytes_text(static_cast<double>(*row->total_bytes)), name(row->provenance)) : std::string("unknown");
  };
  for (const ModeMemory& m : report.memory.modes)
    table.row({report.runs[m.run].mode_label, bytes(m.peak), bytes(m.predicted), m.ratio ? fmt::format("{:.2f} [computed]", *m.ratio) : report.runs[m.run].mode == "fp32" ? "reference" : "unknown"});
  out += table.text();
  for (const ModeMemory& m : report.memory.modes)
    if (!m.why.empty()) out += details(fmt::format("Why {} did not halve [computed from the peaks]", report.runs[m.run].mode_label), list(m.why));
  return out;
}

namespace {

std::string seconds(const Figure& f) { return f.value ? fmt::format("{} [{}]", seconds_text(*f.value), name(f.provenance)) : "unknown"; }
std::string factor(const Figure& f) { return f.value ? fmt::format("{:.2f} [{}]", *f.value, name(f.provenance)) : "unknown"; }

/// What mixed precision itself costs. fp32 has none; of a mode without a ledger it is not known.
std::string costs(const ModeTime& mode) {
  if (mode.run.mode == "fp32") return "nothing";
  return (mode.ledger_at_least && mode.ledger_extra.value ? "at least " : "") + seconds(mode.ledger_extra);
}

std::string nodes_text(const ModeTime& mode) {
  constexpr std::size_t most_nodes = 10;
  Table table({"node", "category", "formats", "seconds a step", "share", "tensor cores"});
  for (std::size_t i = 0; i < std::min(most_nodes, mode.nodes.size()); ++i) {
    const NodeTime& n = mode.nodes[i];
    table.row({n.name, std::string(reports::label(n.category)), n.formats, seconds(n.seconds), n.share ? fmt::format("{:.1f} %", 100.0 * *n.share) : "unknown", words(name(n.tensor_cores))});
  }
  std::vector<std::string> reasons;
  if (!mode.invalid.empty()) reasons.push_back("these times cannot be true: " + mode.invalid);
  for (const Reason& r : mode.reasons) reasons.push_back(fmt::format("{} [{}]", r.text, name(r.provenance)));
  std::string out = table.empty() ? "No node was timed.\n\n" : table.text();
  if (mode.nodes.size() > most_nodes) out += fmt::format("The first {} of {}.\n\n", most_nodes, mode.nodes.size());
  return out + list(reasons);
}

}  // namespace

std::string time_part(const Report& report) {
  std::string out = "### Time\n\n";
  for (const TimeReport& time : report.time) {
    if (report.time.size() > 1) out += markdown_escaped(time.file) + "\n\n";
    Table table({"mode", "step", "from", "mixed precision costs, a step", "products free, at most ×", "came ×"}, 1);
    for (const ModeTime& m : time.modes)
      table.row({m.run.mode, seconds(m.step), std::string(name(m.step_from)), costs(m), factor(m.bound.free), factor(m.bound.speed)});
    out += table.text();
    for (const ModeTime& m : time.modes) out += details(fmt::format("{}: nodes by time{}", m.run.mode, m.emulated ? " (emulated)" : ""), nodes_text(m));
  }
  return out;
}

std::string origin_part(const Report& report) {
  std::string out = "### Completeness\n\n";
  for (const FileOrigin& f : report.origin.files) {
    const Summary& s = f.summary;
    out += fmt::format("{}, {}: {}", markdown_escaped(s.file), bytes_text(static_cast<double>(s.bytes)), s.live ? "still being written" : s.cut_off ? "cut off: its end is missing" : "complete");
    if (s.experiment) out += fmt::format("; recorded by ulpscope {}{}", markdown_escaped(s.experiment->producer_version), s.experiment->producer_commit.empty() ? "" : " (" + markdown_escaped(s.experiment->producer_commit) + ")");
    for (const MachineRecord& m : s.machines) out += fmt::format("; {}", markdown_escaped(m.processor));
    out += "\n\n";
    Table table({"kind", "subject", "count", "time", "is", "in words"});
    for (const MissingRuns& m : f.missing)
      if (m.missing > 0) table.row({"missing", m.mode, fmt::format("{}", m.missing), "", "counted", fmt::format("of {} runs that were planned", m.planned)});
    for (const CompletenessRecord& c : s.completeness)
      table.row({words(c.kind), c.subject, c.count ? fmt::format("{}", *c.count) : "", c.seconds ? seconds_text(*c.seconds) : "", std::string(name(c.provenance)), c.detail});
    out += table.empty() ? "Nothing was dropped, lost or refused.\n\n" : details("What the recording missed, and what watching cost", table.text());
    if (s.experiment && !s.experiment->command_line.empty()) out += details("The command that made it", markdown_escaped(s.experiment->command_line) + "\n");
  }
  return out;
}

}  // namespace markdown
}  // namespace ulpscope::reports
