// A report as one JSON document, for programs. docs/report.schema.json says what it may hold; tests hold documents against it.
//
// NaN and infinities are the strings "NaN", "Infinity", "-Infinity"; unknown is null. Steps are iterations, from 0, as in the run file.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>

#include "reports/analysis/report.h"

namespace ulpscope::reports {

nlohmann::ordered_json report_json(const Report& report);
void write_report_json(const Report& report, std::ostream& out);

}  // namespace ulpscope::reports
