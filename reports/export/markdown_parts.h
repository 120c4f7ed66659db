// Pieces of Markdown, and the longer sections of a report in it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "reports/analysis/report.h"
#include "reports/export/word_tables.h"

namespace ulpscope::reports::markdown {

/// A table; cells are escaped.
class Table {
 public:
  /// Columns from `numbers_from` on are on the right.
  explicit Table(const std::vector<std::string>& head, std::size_t numbers_from = 1000);
  void row(const std::vector<std::string>& cells);
  bool empty() const { return rows_ == 0; }
  std::string text() const { return out_ + "\n"; }  ///< with an empty line behind it

 private:
  std::string out_;
  std::size_t rows_ = 0;
};

/// "- item" lines, escaped.
std::string list(const std::vector<std::string>& items);
/// The table, and below it its notes.
std::string word_table(const WordTable& table);
/// Folded: the summary is escaped, the content is Markdown.
std::string details(std::string_view summary, const std::string& content);
/// A key in words: "activation_too_large" > "activation too large".
std::string words(std::string_view key);
std::string label(const ModeResult& mode);

std::string runs_table(const Report& report);  ///< folded
std::string memory_part(const Report& report);
std::string time_part(const Report& report);
std::string origin_part(const Report& report);

}  // namespace ulpscope::reports::markdown
