// Figures in JSON, and fields of CSV.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "reports/analysis/figure.h"

namespace ulpscope::reports {

/// null if unknown; NaN and infinities as strings.
nlohmann::ordered_json number_json(const Number& value);
/// {"value", "provenance"}, and "spread", "low", "high", "samples" where they apply.
nlohmann::ordered_json figure_json(const Figure& figure);

/// In quotes where RFC 4180 asks for them. Words that begin with = + - @, a tab or CR, which a spreadsheet would take for a formula, get an
/// apostrophe in front; numbers do not.
std::string csv_quoted(const std::string& text);

}  // namespace ulpscope::reports
