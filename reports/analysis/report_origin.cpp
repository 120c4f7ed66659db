#include "reports/analysis/report_origin.h"

#include <map>

namespace ulpscope::reports {

OriginSection origin_section(const std::vector<const RunFileReader*>& readers) {
  OriginSection section;
  for (const RunFileReader* reader : readers) {
    FileOrigin origin{.summary = summarise(*reader), .missing = missing_runs(*reader)};
    std::map<std::string, std::vector<DeviceSample>> phases;
    for (DeviceSample& sample : reader->device_samples()) phases[sample.phase].push_back(std::move(sample));
    for (const auto& [phase, samples] : phases) {
      origin.conditions.push_back(gpu_condition(samples));
      origin.conditions.back().phase = phase;
    }
    section.files.push_back(std::move(origin));
  }
  return section;
}

}  // namespace ulpscope::reports
