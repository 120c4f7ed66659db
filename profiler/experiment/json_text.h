// JSON as text. Paths and names come from the user and need not be UTF-8: what is not is replaced, never refused.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace ulpscope::profiler {

inline std::string json_text(const nlohmann::json& document, int indent = -1) {
  return document.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace ulpscope::profiler
