// Training logs as CSV, with a heading; commas, semicolons or tabs.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "kernels/error.h"
#include "profiler/import/training_log.h"

namespace ulpscope::profiler {
namespace {

constexpr std::string_view byte_order_mark = "\xef\xbb\xbf";

/// Which cell is which column.
struct Heading {
  char separator = ',';
  std::size_t cells = 0;
  std::vector<std::pair<std::size_t, LogColumn>> columns;
  std::vector<std::string> others;
};

char most_cells(std::string_view line) {
  char best = ',';
  for (const char separator : {'\t', ';'})
    if (std::count(line.begin(), line.end(), separator) > std::count(line.begin(), line.end(), best)) best = separator;
  return best;
}

Heading read_heading(Input& input, const LogColumns& columns) {
  std::string line;
  while (input.line(line) && line.find_first_not_of(" \t") == std::string::npos) {
  }
  if (line.starts_with(byte_order_mark)) line.erase(0, byte_order_mark.size());
  const std::string place = fmt::format("{}: line {}", input.name(), input.line_number());
  if (line.empty()) throw UsageError(fmt::format("{}: nothing is in it", input.name()));
  Heading heading{.separator = csv_separator(line, columns).value_or(most_cells(line)), .columns = {}, .others = {}};
  std::vector<std::string> cells;
  if (!split_csv(line, heading.separator, cells)) throw UsageError(place + ": a quote does not end in the heading");
  heading.cells = cells.size();
  std::set<LogColumn> seen;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const auto column = columns.find(cells[i]);
    if (!column || !seen.insert(*column).second) {   // of two names for the same the first counts
      heading.others.push_back(cells[i]);
      continue;
    }
    heading.columns.emplace_back(i, *column);
  }
  for (const auto& [column, given] : columns.mapping())
    if (!seen.contains(column))
      throw UsageError(fmt::format("--column {}={}: {} has no such column; it has {}", name(column), given, place, fmt::join(cells, ", ")));
  const bool says_something = std::any_of(heading.columns.begin(), heading.columns.end(), [](const auto& c) { return c.second != LogColumn::step; });
  if (!says_something)
    throw UsageError(fmt::format("{}: no column of the heading is known ({}); say which is which: --column loss=NAME --column loss_scale=NAME", place, fmt::join(cells, ", ")));
  return heading;
}

}  // namespace

bool split_csv(std::string_view line, char separator, std::vector<std::string>& cells) {
  cells.clear();
  cells.emplace_back();
  bool quoted = false, was_quoted = false;
  for (std::size_t i = 0; i < line.size(); ++i) {
    const char c = line[i];
    if (quoted && c == '"' && i + 1 < line.size() && line[i + 1] == '"') {
      cells.back() += '"';
      ++i;
    } else if (c == '"' && (quoted || cells.back().find_first_not_of(' ') == std::string::npos) && !was_quoted) {
      if (!quoted) cells.back().clear();
      was_quoted = quoted;
      quoted = !quoted;
    } else if (c == separator && !quoted) {
      cells.emplace_back();
      was_quoted = false;
    } else {
      cells.back() += c;
    }
  }
  return !quoted;
}

std::optional<char> csv_separator(std::string_view heading, const LogColumns& columns) {
  if (heading.starts_with(byte_order_mark)) heading.remove_prefix(byte_order_mark.size());
  std::optional<char> best;
  std::size_t most = 0;
  std::vector<std::string> cells;
  for (const char separator : {',', '\t', ';'}) {
    if (!split_csv(heading, separator, cells)) continue;
    const auto known = static_cast<std::size_t>(std::count_if(cells.begin(), cells.end(), [&](const std::string& c) { return columns.find(c).has_value(); }));
    if (known > most) best = separator;
    most = std::max(most, known);
  }
  return best;
}

std::optional<char> csv_separator_of_numbers(std::string_view heading, std::string_view row) {
  std::vector<std::string> names, cells;
  for (const char separator : {',', '\t', ';'}) {
    if (!split_csv(heading, separator, names) || !split_csv(row, separator, cells) || names.size() < 2 || names.size() != cells.size()) continue;
    const auto number = [](const std::string& cell) { return log_number(cell).has_value(); };
    if (std::any_of(cells.begin(), cells.end(), number) && std::none_of(names.begin(), names.end(), number)) return separator;
  }
  return std::nullopt;
}

TrainingLog read_csv_log(Input& input, const LogOptions& options) {
  const Heading heading = read_heading(input, LogColumns(options));
  TrainingLog log{.format = "CSV"};
  std::string line;
  std::vector<std::string> cells;
  bool whole = true;
  while (input.line(line, &whole)) {
    if (line.find_first_not_of(" \t") == std::string::npos) continue;
    const std::string place = fmt::format("{}: line {}", input.name(), input.line_number());
    const bool closed = split_csv(line, heading.separator, cells);
    if ((!closed || cells.size() < heading.cells) && !whole) {   // the program that wrote it was ended
      log.cut_off = true;
      break;
    }
    if (!closed) throw UsageError(place + ": a quote does not end");
    if (cells.size() != heading.cells) throw UsageError(fmt::format("{}: {} columns, and the heading has {}", place, cells.size(), heading.cells));
    LogRow row{.line = input.line_number()};
    for (const auto& [i, column] : heading.columns) set_column(row, column, std::string_view(cells[i]), place);
    if (!row.of_a_step() && !row.held_out_loss) {
      ++log.ignored["rows that say nothing of what is read"];
      continue;
    }
    ++log.entries;
    log.rows.push_back(row);
  }
  for (const std::string& other : heading.others) log.ignored["column " + other] = log.entries;
  return log;
}

}  // namespace ulpscope::profiler
