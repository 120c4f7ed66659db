// The loss-scale window as part of a diagnosis, for each form.
#pragma once

#include <nlohmann/json.hpp>
#include <ostream>
#include <string>
#include <utility>

#include "reports/analysis/window.h"

namespace ulpscope::reports {

void write_window(const LossScaleWindow& window, std::ostream& out);  ///< text
std::pair<std::string, std::string> bounds_text(const LayerWindow& window);  ///< lowest and highest scale, for a table
nlohmann::ordered_json window_json(const LossScaleWindow& window);

}  // namespace ulpscope::reports
