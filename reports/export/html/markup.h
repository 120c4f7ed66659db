// Pieces of HTML. Whatever comes from a run file goes through escaped().
#pragma once

#include <initializer_list>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "reports/analysis/figure.h"
#include "reports/analysis/report.h"
#include "reports/export/word_tables.h"

namespace ulpscope::reports::html {

/// For text and for attributes in quotes: & < > " ' as entities, control characters as '?', what is no UTF-8 as U+FFFD.
std::string escaped(std::string_view text);

/// <tag class="…">text</tag>, the text escaped; an option of the command line is not broken at a line's end.
std::string element(std::string_view tag, std::string_view text, std::string_view classes = "");

/// A document to stand inside of a <script>: nothing in it can end the element, whatever its strings say.
std::string script_json(const nlohmann::ordered_json& document);

/// A cell of a table.
struct Cell {
  Cell(std::string words) : text(std::move(words)) {}  // NOLINT: a string is a cell
  Cell(const char* words) : text(words) {}
  Cell(std::string words, std::string under, bool right = true) : text(std::move(words)), note(std::move(under)), number(right) {}
  std::string text{};
  std::string note{};   ///< small, below: what the number is
  bool number = false;  ///< on the right
};
/// A cell on the right.
Cell number_cell(std::string text);

class Table {
 public:
  /// caption: for people who hear the page; `numbers_from`: the columns from this one on are numbers, so are their headings.
  Table(std::string_view caption, const std::vector<std::string>& head, std::size_t numbers_from = 1000, std::string_view classes = "");
  void row(const std::vector<Cell>& cells, std::string_view classes = "");
  /// A heading across all columns.
  void part(std::string_view title);
  bool empty() const { return rows_ == 0; }
  std::string text() const;

 private:
  std::string out_;
  std::size_t columns_ = 0;
  std::size_t rows_ = 0;
};

/// The table, and below it its notes.
std::string word_table(const WordTable& table);
/// <ul> of escaped items; "" if there are none.
std::string list(const std::vector<std::string>& items, std::string_view classes = "");
/// <details>: summary escaped, content as it is.
std::string details(std::string_view summary, const std::string& content, bool open = false);
/// A heading, what it shows in a line, a place for the chart, and its table, which is filled when it is opened.
std::string chart(std::string_view id, std::string_view title, std::string_view what, const std::string& controls = "");
/// Begin and end of a section of the page.
std::string section_begin(std::string_view id, std::string_view title, std::string_view what);
inline constexpr std::string_view section_end = "</section>\n";

/// Rounded to six digits; null if it is not known or not finite.
nlohmann::ordered_json short_number(const Number& value);
/// A key in words: "not_observed" > "not observed".
std::string words(std::string_view key);
/// What a number is, as a small mark.
std::string mark(Provenance provenance);

// Sections of the page, one file each.
std::string verdict_html(const Report& report);
std::string modes_html(const Report& report);
std::string curves_html(const Report& report);
std::string scale_html(const Report& report);
std::string numerics_html(const Report& report);
std::string overflows_html(const Report& report);
std::string memory_html(const Report& report);
std::string time_html(const Report& report);
std::string origin_html(const Report& report);

/// More gaps of a curve, and more marks of skipped steps or overflows, are thinned: every so-manyth is drawn, and the page says so.
inline constexpr std::size_t most_gaps = 400, most_marks = 2000;
inline std::size_t every(std::size_t all, std::size_t most) { return all <= most ? 1 : (all + most - 1) / most; }

/// What the charts are drawn from.
nlohmann::ordered_json chart_data(const Report& report);
nlohmann::ordered_json numerics_data(const Report& report);

}  // namespace ulpscope::reports::html
