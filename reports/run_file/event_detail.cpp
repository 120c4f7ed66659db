#include <nlohmann/json.hpp>

#include "reports/run_file/records.h"

namespace ulpscope::reports {

std::string to_json(const EventDetail& detail) {
  nlohmann::json object = nlohmann::json::object();
  if (detail.what != nullptr) object["what"] = detail.what;
  if (detail.applied) object["applied"] = *detail.applied;
  if (detail.from) object["from"] = *detail.from;
  if (detail.to) object["to"] = *detail.to;
  if (detail.first_loss) object["first_loss"] = *detail.first_loss;
  return object.empty() ? "" : object.dump();
}

}  // namespace ulpscope::reports
