#include "tests/bench/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "kernels/error.h"

namespace ulpscope::bench {

std::vector<RowResult> judge_rows(const std::vector<Row>& rows, const Series& series) {
  std::vector<RowResult> results;
  for (const Row& row : rows) {
    const auto found = series.find(row.name);
    if (found == series.end()) throw Error("bench: row " + row.name + " was not measured");
    RowResult r{row, estimate(found->second), {}, found->second};
    r.verdict = judge(r.estimate, row.bar);
    results.push_back(std::move(r));
  }
  return results;
}

bool any_beyond(const std::vector<RowResult>& results) {
  return std::any_of(results.begin(), results.end(), [](const RowResult& r) { return r.verdict == Verdict::beyond; });
}

std::string table(const std::vector<RowResult>& results) {
  std::string text = fmt::format("{:<25} {:<72} {:>7} {:>17} {:>8} {:>6}  {}\n", "row", "what", "median",
                                 "95 % interval", "bar", "aim", "verdict");
  for (const RowResult& r : results) {
    const bool reached = r.verdict == Verdict::ok && reaches_aim(r.estimate, r.row.bar);
    const std::string interval = r.estimate.low == r.estimate.high && r.estimate.coverage == 1.0
                                     ? "counted"
                                     : fmt::format("{:.3f} to {:.3f}", r.estimate.low, r.estimate.high);
    text += fmt::format("{:<25} {:<72} {:>7.3f} {:>17} {} {:>5.2f} {:>6.2f}  {}\n", r.row.name, r.row.what,
                        r.estimate.median, interval, r.row.bar.at_most ? "<=" : ">=", r.row.bar.bar, r.row.bar.aim,
                        reached ? "ok, aim reached" : name(r.verdict));
  }
  return text;
}

std::string figures(const Series& series, bool verbose) {
  const auto& rows = all_rows();
  std::string text =
      fmt::format("{:<52} {:>12} {:>12} {:>12}\n", "measured (median of the rounds)", "median", "least", "greatest");
  for (const auto& [name, values] : series) {
    const bool is_row = std::any_of(rows.begin(), rows.end(), [&](const Row& r) { return r.name == name; });
    const bool detail = name.starts_with("products/") && name != "products/of the step alone";
    if (is_row || (detail && !verbose)) continue;
    const auto [least, greatest] = std::minmax_element(values.begin(), values.end());
    text += fmt::format("{:<52} {:>12.5g} {:>12.5g} {:>12.5g}\n", name, estimate(values).median, *least, *greatest);
  }
  return text;
}

nlohmann::json to_json(const std::vector<RowResult>& results) {
  nlohmann::json list = nlohmann::json::array();
  for (const RowResult& r : results) {
    list.push_back({{"name", r.row.name},
                    {"what", r.row.what},
                    {"bar", r.row.bar.bar},
                    {"aim", r.row.bar.aim},
                    {"direction", r.row.bar.at_most ? "at most" : "at least"},
                    {"median", r.estimate.median},
                    {"low", r.estimate.low},
                    {"high", r.estimate.high},
                    {"coverage", r.estimate.coverage},
                    {"verdict", name(r.verdict)},
                    {"values", r.values}});
  }
  return list;
}

}  // namespace ulpscope::bench
