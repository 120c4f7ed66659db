#include "reports/export/condition_json.h"

#include "reports/export/fields.h"

namespace ulpscope::reports {

nlohmann::ordered_json condition_json(const GpuCondition& c) {
  return {{"phase", c.phase},
          {"samples", c.samples},
          {"core_clock_mhz", figure_json(c.core_clock_mhz)},
          {"memory_clock_mhz", figure_json(c.memory_clock_mhz)},
          {"power_watts", figure_json(c.power_watts)},
          {"temperature_celsius", figure_json(c.temperature_celsius)},
          {"held_down", figure_json(c.slowed)},
          {"why", c.why.empty() ? nlohmann::ordered_json(nullptr) : nlohmann::ordered_json(c.why)}};
}

}  // namespace ulpscope::reports
