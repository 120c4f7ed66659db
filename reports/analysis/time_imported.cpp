// Times of a trace that another program recorded.
#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "reports/analysis/imported.h"
#include "reports/analysis/kernel_precision.h"
#include "reports/analysis/time_parts.h"

namespace ulpscope::reports::time_parts {
namespace {

constexpr std::size_t most_ranges = 8;

std::string milliseconds(double seconds) { return fmt::format("{:.4g} ms", 1e3 * seconds); }

/// A range of the trace, from its event.
struct Range {
  std::string name;
  double calls = 0.0, host = 0.0, device = 0.0, kernels = 0.0;
};

std::vector<Range> ranges_of(const ModeTime& mode, const RunFileReader& reader) {
  std::vector<Range> list;
  for (const EventRecord& event : reader.events(mode.run.id)) {
    if (event.kind != "range" || !event.value) continue;
    const auto detail = nlohmann::json::parse(event.detail_json, nullptr, false);
    const auto number = [&](const char* key) { return detail.contains(key) && detail[key].is_number() ? detail[key].get<double>() : 0.0; };
    if (!detail.is_object() || !detail.contains("range") || !detail["range"].is_string()) continue;
    list.push_back({detail["range"].get<std::string>(), number("calls"), number("host_seconds"), *event.value, number("kernels")});
  }
  std::stable_sort(list.begin(), list.end(), [](const Range& a, const Range& b) { return std::pair(a.device, a.host) > std::pair(b.device, b.host); });
  return list;
}

/// Kernels of one name are a row: what the name says stands where a plan would say it.
void add_formats(ModeTime& mode) {
  bool any = false;
  for (NodeTime& row : mode.nodes) {
    if (row.node || row.operation != "kernel") continue;
    const KernelPrecision precision = kernel_precision(row.name);
    row.compute_format = precision.reads;
    row.formats = precision.known() ? fmt::format("{}{} (inferred: {})", precision.reads, precision.sums.empty() ? "" : " > " + precision.sums + " sums", precision.why)
                                    : fmt::format("unknown: {}", precision.why);
    any = true;
  }
  if (any) mode.notes.emplace_back("formats of kernels (in) are inferred from their names; - where a name does not say it. Whether tensor cores worked is not concluded from names");
}

}  // namespace

void add_imported(ModeTime& mode, const RunFileReader& reader) {
  const auto other = imported(mode.run);
  if (!other) return;
  if (other->trace) add_formats(mode);
  const std::vector<Range> ranges = ranges_of(mode, reader);
  for (std::size_t i = 0; i < ranges.size() && i < most_ranges; ++i) {
    const Range& r = ranges[i];
    mode.notes.push_back(fmt::format("range {}: {:.0f} x, {} on the host; {:.0f} kernels and copies launched in it took {} [measured, over the whole trace]", r.name, r.calls, milliseconds(r.host), r.kernels, milliseconds(r.device)));
  }
  if (ranges.size() > most_ranges) mode.notes.push_back(fmt::format("{} more ranges took less: events of kind range in the file", ranges.size() - most_ranges));
  for (const std::string& note : imported_notes(mode.run)) mode.notes.push_back(note);
}

}  // namespace ulpscope::reports::time_parts
