#include "reports/run_file/limits.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "reports/run_file/records.h"

namespace ulpscope::reports {
namespace {

constexpr double none = std::numeric_limits<double>::infinity();
constexpr double most = 0x1p53;   ///< whole numbers that a double, and whoever adds 1, can hold
constexpr double most_seconds = 1e10;
/// Exponents of doubles, subnormal ones too.
constexpr int least_exponent = -1074, greatest_exponent = 1023;

struct Column {
  std::string_view table, column;
  Limits limits;
};
constexpr Limits time{0, most_seconds}, magnitude{0, none}, at_least_one{1, most}, any{-none, none}, of_elements{0, most, true};
constexpr auto columns = std::to_array<Column>({
    {"run", "seed", {0, none}},
    {"run", "batch", at_least_one},
    {"run", "micro_batches", at_least_one},
    {"run", "threads", at_least_one},
    {"node", "flops", {0, none}},
    {"node", "bytes_read", {0, none}},
    {"node", "bytes_written", {0, none}},
    {"edge", "from_output", {-1, most}},   // -1: a sum inside the node
    {"tensor", "output", {-1, most}},
    {"step", "learning_rate", magnitude},
    {"step", "loss_scale", magnitude},
    {"step", "gradient_norm", magnitude},
    {"step", "wall_seconds", time},
    {"step", "device_seconds", time},
    {"evaluation", "wall_seconds", time},
    {"timing_sample", "wall_seconds", time},
    {"timing_sample", "device_seconds", time},
    {"node_timing", "seconds", time},
    {"kernel", "correlation", any},
    {"kernel", "stream", any},
    {"kernel", "start_ns", any},
    {"kernel", "tensor_pipe", {0, 1}},
    {"device_sample", "seconds", time},
    {"device_sample", "core_clock_mhz", {0, 1e6}},
    {"device_sample", "memory_clock_mhz", {0, 1e6}},
    {"device_sample", "power_watts", {0, 1e6}},
    {"device_sample", "temperature_celsius", {-300, 1e4}},
    {"tensor_stats", "nan", of_elements},
    {"tensor_stats", "positive_infinite", of_elements},
    {"tensor_stats", "negative_infinite", of_elements},
    {"tensor_stats", "subnormal", of_elements},
    {"tensor_stats", "least_magnitude", magnitude},
    {"tensor_stats", "greatest_magnitude", magnitude},
    {"tensor_stats", "rms", magnitude},
    {"tensor_stats", "rounding_error_rms", magnitude},
    {"tensor_stats", "rounding_error_greatest", magnitude},
    {"tensor_stats", "shadow_error", magnitude},
    {"mend", "time_ratio", magnitude},
    {"mend", "memory_delta_bytes", any},
    {"completeness", "seconds", time},
});

std::string describe(const Limits& limits) {
  if (limits.greatest >= most) return fmt::format("{} or more", limits.least);
  return fmt::format("{} to {}", limits.least, limits.greatest);
}

}  // namespace

Limits limits_of(std::string_view table, std::string_view column, bool floating) {
  const auto* const found = std::find_if(columns.begin(), columns.end(),
                                         [&](const Column& c) { return c.table == table && c.column == column; });
  if (found != columns.end()) return found->limits;
  return floating ? any : Limits{0, most};
}

std::optional<std::string> impossible_count(const Limits& limits, std::int64_t value, Count elements) {
  const auto number = static_cast<double>(value);
  if (number < limits.least) return fmt::format("{}; it takes {}", value, describe(limits));
  if (number > limits.greatest) return fmt::format("{}; it takes at most {:.0f}", value, limits.greatest);
  if (limits.of_elements && elements && value > *elements) return fmt::format("{} of {} elements", value, *elements);
  return std::nullopt;
}

std::optional<std::string> impossible_number(const Limits& limits, double value) {
  // NaN says that something went wrong in the run; a clock or a share has no such value.
  if (std::isnan(value) ? std::isinf(limits.greatest) : value >= limits.least && value <= limits.greatest) return std::nullopt;
  return fmt::format("{}; it takes {}", value, describe(limits));
}

std::optional<std::string> impossible(const std::vector<std::int64_t>& shape) {
  double elements = 1;
  for (const std::int64_t size : shape) {
    elements *= static_cast<double>(size);
    if (size < 0 || elements > most) return fmt::format("a shape with a size of {}", size);
  }
  return std::nullopt;
}

std::optional<std::string> impossible(const std::vector<Signature>& signatures) {
  for (const Signature& signature : signatures) {
    if (auto why = impossible(signature.shape)) return why;
    if (signature.tensor && static_cast<std::int64_t>(*signature.tensor) < 0)
      return fmt::format("tensor {}; an id is 0 or more", static_cast<std::int64_t>(*signature.tensor));
  }
  return std::nullopt;
}

std::optional<std::string> impossible(const ExponentHistogram& histogram, Count elements) {
  const auto bins = static_cast<std::int64_t>(histogram.counts.size());
  if (bins > 0 && (histogram.first < least_exponent || histogram.first + bins - 1 > greatest_exponent))
    return fmt::format("{} exponents from {} on; a number has {} to {}", bins, histogram.first, least_exponent, greatest_exponent);
  double sum = 0;
  for (const std::uint64_t count : histogram.counts) sum += static_cast<double>(count);
  const double greatest = elements ? static_cast<double>(*elements) : most;
  if (sum > greatest) return fmt::format("counts of {:.0f} elements, and there are {:.0f}", sum, greatest);
  return std::nullopt;
}

std::optional<std::string> impossible(const TensorRanges& ranges) {
  for (const TensorRange& range : ranges) {
    const auto id = static_cast<std::int64_t>(range.tensor);
    if (id < 0) return fmt::format("tensor {}; an id is 0 or more", id);
    if (!std::isfinite(range.greatest_magnitude) || range.greatest_magnitude < 0)
      return fmt::format("a greatest magnitude of {} for tensor {}; it takes a finite number, 0 or more", range.greatest_magnitude, id);
  }
  return std::nullopt;
}

}  // namespace ulpscope::reports
