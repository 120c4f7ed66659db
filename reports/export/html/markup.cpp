#include "reports/export/html/markup.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "reports/export/escape.h"

namespace ulpscope::reports::html {
namespace {

/// Long names may be broken after their parts.
std::string with_breaks(std::string text) {
  std::string out;
  for (std::size_t i = 0; i < text.size(); ++i) {
    out += text[i];
    const bool inside = i + 1 < text.size() && i > 0 && std::isalnum(static_cast<unsigned char>(text[i - 1])) && std::isalpha(static_cast<unsigned char>(text[i + 1]));
    if (inside && (text[i] == '.' || text[i] == '_' || text[i] == '/')) out += "<wbr>";
  }
  return out;
}

/// "--modes" is not broken behind its dashes. Of escaped text.
std::string with_whole_options(std::string text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const bool begins = (i == 0 || text[i - 1] == ' ' || text[i - 1] == '(') && text.compare(i, 2, "--") == 0 && i + 2 < text.size() && std::islower(static_cast<unsigned char>(text[i + 2]));
    if (!begins) {
      out += text[i++];
      continue;
    }
    std::size_t end = i;
    while (end < text.size() && (text[end] == '-' || std::islower(static_cast<unsigned char>(text[end])))) ++end;
    out += "<span class=\"option\">" + text.substr(i, end - i) + "</span>";
    i = end;
  }
  return out;
}

std::string class_of(std::string_view classes) { return classes.empty() ? "" : fmt::format(" class=\"{}\"", classes); }

}  // namespace

std::string escaped(std::string_view text) {
  return escaped_text(text, [](char c, std::string& out) {
    switch (c) {
      case '&': out += "&amp;"; return;
      case '<': out += "&lt;"; return;
      case '>': out += "&gt;"; return;
      case '"': out += "&quot;"; return;
      case '\'': out += "&#39;"; return;
      default: out += (static_cast<unsigned char>(c) < 0x20 && c != '\n' && c != '\t') || c == 0x7f ? '?' : c;
    }
  });
}

std::string element(std::string_view tag, std::string_view text, std::string_view classes) {
  return fmt::format("<{}{}>{}</{}>", tag, class_of(classes), tag == "title" ? escaped(text) : with_whole_options(escaped(text)), tag);
}

std::string script_json(const nlohmann::ordered_json& document) {
  const std::string text = document.dump(-1, ' ', true, nlohmann::json::error_handler_t::replace);
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    if (c == '<') {
      out += "\\u003c";
    } else if (c == '>') {
      out += "\\u003e";
    } else if (c == '&') {
      out += "\\u0026";
    } else {
      out += c;
    }
  }
  return out;
}

Cell number_cell(std::string text) { return Cell(std::move(text), ""); }

Table::Table(std::string_view caption, const std::vector<std::string>& head, std::size_t numbers_from, std::string_view classes) : columns_(head.size()) {
  out_ = fmt::format("<div class=\"table\" tabindex=\"0\" role=\"group\" aria-label=\"{}\"><table{}><caption>{}</caption><thead><tr>", escaped(caption), class_of(classes), escaped(caption));
  for (std::size_t i = 0; i < head.size(); ++i) out_ += fmt::format("<th scope=\"col\"{}>{}</th>", i >= numbers_from ? " class=\"number\"" : "", escaped(head[i]));
  out_ += "</tr></thead><tbody>\n";
}

void Table::row(const std::vector<Cell>& cells, std::string_view classes) {
  ++rows_;
  out_ += fmt::format("<tr{}>", class_of(classes));
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const char* const tag = i == 0 ? "th scope=\"row\"" : "td";
    out_ += fmt::format("<{}{}>{}", tag, cells[i].number ? " class=\"number\"" : "", with_breaks(with_whole_options(escaped(cells[i].text))));
    if (!cells[i].note.empty()) out_ += element("small", cells[i].note);
    out_ += i == 0 ? "</th>" : "</td>";
  }
  out_ += "</tr>\n";
}

void Table::part(std::string_view title) {
  out_ += fmt::format("<tr class=\"part\"><th scope=\"rowgroup\" colspan=\"{}\">{}</th></tr>\n", columns_, escaped(title));
}

std::string Table::text() const { return out_ + "</tbody></table></div>\n"; }

std::string word_table(const WordTable& words) {
  Table table(words.title, words.head, words.numbers_from);
  for (const auto& row : words.rows) {
    std::vector<Cell> cells;
    for (std::size_t i = 0; i < row.size(); ++i) cells.push_back(i >= words.numbers_from ? number_cell(row[i]) : Cell(row[i]));
    table.row(cells);
  }
  return (table.empty() ? "" : table.text()) + list(words.notes, "notes");
}

std::string list(const std::vector<std::string>& items, std::string_view classes) {
  if (items.empty()) return "";
  std::string out = fmt::format("<ul{}>", class_of(classes));
  for (const std::string& item : items) out += element("li", item);
  return out + "</ul>\n";
}

std::string details(std::string_view summary, const std::string& content, bool open) {
  return fmt::format("<details{}><summary>{}</summary>{}</details>\n", open ? " open" : "", escaped(summary), content);
}

std::string chart(std::string_view id, std::string_view title, std::string_view what, const std::string& controls) {
  return fmt::format(
      "<figure class=\"card\" id=\"figure-{0}\"><figcaption><h3>{1}</h3><p>{2}</p></figcaption>{3}"
      "<div class=\"chart\" id=\"chart-{0}\" role=\"img\" aria-label=\"{1}\"></div>"
      "<details class=\"behind\" data-chart=\"{0}\"><summary>The numbers as a table</summary><div class=\"rows\"></div></details></figure>\n",
      id, escaped(title), escaped(what), controls.empty() ? "" : fmt::format("<div class=\"controls\">{}</div>", controls));
}

std::string section_begin(std::string_view id, std::string_view title, std::string_view what) {
  return fmt::format("<section id=\"{0}\" aria-labelledby=\"h-{0}\"><h2 id=\"h-{0}\">{1}</h2>{2}\n", id, escaped(title), what.empty() ? "" : element("p", what, "lead"));
}

nlohmann::ordered_json short_number(const Number& value) {
  if (!value || !std::isfinite(*value)) return nullptr;
  const double rounded = std::strtod(fmt::format("{:.6g}", *value).c_str(), nullptr);
  if (rounded == std::floor(rounded) && std::fabs(rounded) < 9e15) return static_cast<std::int64_t>(rounded);
  return rounded;
}

std::string words(std::string_view key) {
  std::string text(key);
  std::replace(text.begin(), text.end(), '_', ' ');
  return text;
}

std::string mark(Provenance provenance) { return std::string(name(provenance)); }

}  // namespace ulpscope::reports::html
