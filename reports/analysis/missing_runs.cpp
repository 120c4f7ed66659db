#include "reports/analysis/missing_runs.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

namespace ulpscope::reports {
namespace {

constexpr std::int64_t most_seeds = 10000;   ///< of an experiment

/// The value of a key of [run] in the words of a configuration, which has a key a line.
std::string_view value_of(std::string_view configuration, std::string_view key) {
  bool inside = false;
  while (!configuration.empty()) {
    const std::size_t end = std::min(configuration.find('\n'), configuration.size());
    const std::string_view line = configuration.substr(0, end);
    configuration.remove_prefix(std::min(end + 1, configuration.size()));
    if (line.starts_with('[')) inside = line == "[run]";
    if (inside && line.starts_with(key) && line.substr(key.size()).starts_with(" = ")) return line.substr(key.size() + 3);
  }
  return {};
}

std::optional<std::int64_t> number_of(std::string_view configuration, std::string_view key) {
  const std::string_view text = value_of(configuration, key);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (text.empty() || error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// ["fp32", "fp16"]: names of modes have no quotes in them.
std::vector<std::string> texts_of(std::string_view configuration, std::string_view key) {
  std::string_view text = value_of(configuration, key);
  std::vector<std::string> texts;
  for (;;) {
    const std::size_t begin = text.find('"');
    const std::size_t end = begin == std::string_view::npos ? begin : text.find('"', begin + 1);
    if (end == std::string_view::npos) return texts;
    texts.emplace_back(text.substr(begin + 1, end - begin - 1));
    text.remove_prefix(end + 1);
  }
}

}  // namespace

std::vector<MissingRuns> missing_runs(const RunFileReader& reader) {
  const std::optional<ExperimentRecord> experiment = reader.experiment();
  if (!experiment) return {};
  const auto seeds = number_of(experiment->configuration, "seeds"), seed = number_of(experiment->configuration, "seed");
  if (!seeds || !seed || *seeds < 1 || *seeds > most_seeds || *seed < 0 || *seed > (std::int64_t{1} << 53)) return {};
  std::set<std::pair<std::string, std::int64_t>> there;
  for (const RunRecord& run : reader.runs()) there.emplace(run.mode, run.seed);
  std::vector<MissingRuns> list;
  for (const std::string& mode : texts_of(experiment->configuration, "modes")) {
    MissingRuns runs{.mode = mode, .planned = *seeds};
    for (std::int64_t i = 0; i < *seeds; ++i) {
      if (there.contains({mode, *seed + i})) continue;
      if (runs.missing++ == 0) runs.first_seed = *seed + i;
    }
    if (runs.missing > 0) list.push_back(std::move(runs));
  }
  return list;
}

}  // namespace ulpscope::reports
