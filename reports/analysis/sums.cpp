#include "reports/analysis/sums.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

namespace ulpscope::reports {

EmulatedSums emulated_sums(const RunRecord& run) {
  EmulatedSums sums;
  const auto attributes = nlohmann::json::parse(run.attributes_json, nullptr, false);
  if (!attributes.is_object() || !attributes.contains("sums") || !attributes["sums"].is_object()) return sums;
  const auto& of = attributes["sums"];
  if (of.contains("as") && of["as"].is_string()) sums.asked = of["as"].get<std::string>();
  if (of.contains("of_unit") && of["of_unit"].is_number_integer() && of["of_unit"].get<std::int64_t>() > 0) sums.unit = sums.asked;
  if (of.contains("words") && of["words"].is_array())
    for (const auto& line : of["words"])
      if (line.is_string()) sums.words.push_back(line.get<std::string>());
  return sums;
}

std::string sums_remark(const RunRecord& run) {
  const std::string unit = emulated_sums(run).unit;
  return unit.empty() ? "" : fmt::format("products have the sums of {}'s matrix units, emulated: the run's times say nothing", unit);
}

std::vector<std::string> sampled_sums(const RunRecord& run) {
  std::vector<std::string> lines;
  const auto attributes = nlohmann::json::parse(run.attributes_json, nullptr, false);
  if (!attributes.is_object() || !attributes.contains("sampled_sums")) return lines;
  const auto& sampled = attributes["sampled_sums"];
  if (!sampled.is_object() || !sampled.contains("units") || !sampled["units"].is_object()) return lines;
  const auto number = [](const nlohmann::json& of, const char* key) {
    return of.is_object() && of.contains(key) && of[key].is_number() ? fmt::format("{:.2g}", of[key].get<double>()) : std::string("unknown");
  };
  for (const auto& [unit, of] : sampled["units"].items()) {
    const auto count = [&of = of](const char* key) -> Count {
      if (!of.is_object() || !of.contains(key) || !of[key].is_number_integer()) return std::nullopt;
      return of[key].get<std::int64_t>();
    };
    const Count elements = count("elements"), not_finite = count("not_finite");
    std::string line = elements == 0 ? fmt::format("sampled: no element could be compared with {}'s sums", unit)
                                     : fmt::format("sampled: {}'s sums of {} elements of matmuls differ from plain ones by {} of their size (RMS), at "
                                                   "most {}, biased by {} [computed]",
                                                   unit, elements ? std::to_string(*elements) : "an unknown number of", number(of, "rms"),
                                                   number(of, "greatest"), number(of, "bias"));
    if (not_finite.value_or(0) > 0) line += fmt::format("; {} more were not finite", *not_finite);
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace ulpscope::reports
