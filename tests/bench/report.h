// What the bench prints and writes.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "tests/bench/family.h"
#include "tests/bench/rows.h"

namespace ulpscope::bench {

/// Values of every sample, one for each round.
using Series = std::map<std::string, std::vector<double>>;

struct RowResult {
  Row row;
  Estimate estimate;
  Verdict verdict = Verdict::undecided;
  std::vector<double> values;
};

/// Throws Error if a row was not measured.
std::vector<RowResult> judge_rows(const std::vector<Row>& rows, const Series& series);
bool any_beyond(const std::vector<RowResult>& results);

/// Each ratio beside its bar, then what the ratios are made of; verbose: every shape and instruction set too.
std::string table(const std::vector<RowResult>& results);
std::string figures(const Series& series, bool verbose);

nlohmann::json to_json(const std::vector<RowResult>& results);

}  // namespace ulpscope::bench
