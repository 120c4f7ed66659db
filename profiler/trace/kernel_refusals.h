// What CUPTI says when it will not do something, and what can be done about it.
#pragma once

#include <string>

namespace ulpscope::profiler {

/// The codes of CUptiResult that are known here (cupti_result.h; part of CUPTI's ABI).
namespace cupti_code {
inline constexpr int invalid_context = 3;
inline constexpr int out_of_memory = 8;
inline constexpr int not_compatible = 14;
inline constexpr int not_initialized = 15;
inline constexpr int invalid_metric_name = 17;
inline constexpr int invalid_kind = 21;
inline constexpr int disabled = 23;
inline constexpr int hardware_busy = 26;
inline constexpr int not_supported = 27;
inline constexpr int virtualized_device = 33;
inline constexpr int insufficient_privileges = 35;
inline constexpr int legacy_profiler = 38;
inline constexpr int multiple_subscribers = 39;
inline constexpr int virtualized_privileges = 40;
inline constexpr int confidential_computing = 41;
inline constexpr int mining_processor = 42;
inline constexpr int multi_instance = 43;
inline constexpr int linked_devices = 44;
inline constexpr int windows_subsystem = 45;
inline constexpr int invalid_chip_name = 46;
inline constexpr int unknown = 999;
}  // namespace cupti_code

/// One line: what was refused, why, and the remedy. `what`: "kernel trace", "hardware counters"; `own_words`: CUPTI's, may be empty.
std::string refusal_line(const std::string& what, int code, const std::string& own_words);

}  // namespace ulpscope::profiler
