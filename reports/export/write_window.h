// The loss-scale window as part of a diagnosis, for each form.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>

#include "reports/analysis/window.h"

namespace ulpscope::reports {

void write_window(const LossScaleWindow& window, std::ostream& out);  ///< text
nlohmann::ordered_json window_json(const LossScaleWindow& window);

}  // namespace ulpscope::reports
