// The JSON documents of single commands, as parts of larger ones.
#pragma once

#include <nlohmann/json.hpp>

#include "reports/analysis/advice.h"
#include "reports/analysis/compare.h"
#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/summary.h"
#include "reports/analysis/time.h"

namespace ulpscope::reports {

nlohmann::ordered_json comparison_json(const Comparison& comparison);  ///< of `ulpscope compare --json`
nlohmann::ordered_json advice_json(const DeviceAdvice& advice);        ///< a device of `ulpscope advise --json`
nlohmann::ordered_json diagnosis_json(const Diagnosis& diagnosis);     ///< of `ulpscope diagnose --json`
nlohmann::ordered_json time_json(const TimeReport& report);            ///< of `ulpscope time --json`
nlohmann::ordered_json summary_json(const Summary& summary);           ///< of `ulpscope info --json`

}  // namespace ulpscope::reports
