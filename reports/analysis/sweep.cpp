#include "reports/analysis/sweep.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "reports/analysis/statistics.h"
#include "reports/analysis/sweep_parts.h"
#include "reports/analysis/time_peaks.h"

namespace ulpscope::reports {
namespace {

using sweep_parts::Held;

Figure figure_of(const std::vector<double>& seconds, Provenance provenance) {
  Figure f;
  f.value = median(seconds);
  if (!f.value) return f;
  f.spread = standard_deviation(seconds);
  f.low = quantile(seconds, 0.25);
  f.high = quantile(seconds, 0.75);
  f.samples = std::ssize(seconds);
  f.provenance = provenance;
  return f;
}

double flops(const SweepInput& in, std::int64_t size) {
  const auto of = [&](SweepDimension d, std::int64_t given) { return static_cast<double>(d == in.dimension ? size : given); };
  return 2.0 * static_cast<double>(in.batch) * of(SweepDimension::rows, in.rows) * of(SweepDimension::columns, in.columns) * of(SweepDimension::inner, in.inner);
}

SweepTime time_of(const SweepInput& in, const SweepInput::Mode& mode, const SweepInput::Timing& timing, const SweepInput::Timing& given) {
  SweepTime time;
  time.seconds = figure_of(timing.seconds, mode.provenance);
  if (!time.seconds.value) {
    time.why = timing.problem.empty() ? "it was not timed" : timing.problem;
    return time;
  }
  if (*time.seconds.value > 0.0) time.tflops = 1e-12 * flops(in, timing.size) / *time.seconds.value;
  const auto peaks = in.device_kind == "cpu" ? std::nullopt : device_peaks(in.device);
  const Number peak = peaks ? peaks->of(mode.compute_format) : std::nullopt;
  if (peak && time.tflops) time.of_peak = *time.tflops / *peak;
  const bool is_given = timing.size == given.size;
  const double share = static_cast<double>(timing.size) / static_cast<double>(given.size);
  if (const Held held = sweep_parts::hold(timing.seconds, given, is_given ? 1.0 : share); held.rounds > 0) {
    time.ratio = is_given ? 1.0 : held.ratio;
    time.difference = is_given ? 0.0 : held.difference;
    time.noise = held.noise;
    time.verdict = sweep_parts::verdict(held);
  }
  if (is_given) time.verdict = SweepVerdict::given;
  if (mode.provenance == Provenance::emulated) time.verdict = SweepVerdict::emulated;
  time.why = why_invalid(time.tflops, peak, time.seconds.value, median(timing.device_seconds));
  if (!time.why.empty()) time.verdict = SweepVerdict::invalid;
  return time;
}

const SweepInput::Timing* timing_of(const SweepInput::Mode& mode, std::int64_t size) {
  const auto found = std::find_if(mode.timings.begin(), mode.timings.end(), [&](const SweepInput::Timing& t) { return t.size == size; });
  return found == mode.timings.end() ? nullptr : &*found;
}

std::int64_t given_size(const SweepInput& in) {
  return in.dimension == SweepDimension::rows ? in.rows : in.dimension == SweepDimension::columns ? in.columns : in.inner;
}

}  // namespace

std::string why_invalid(Number tflops, Number peak, Number host_seconds, Number device_seconds) {
  if (tflops && peak && *tflops > peak_margin * *peak) return fmt::format("{:.4g} TFLOP/s is faster than the hardware ({:.4g})", *tflops, *peak);
  if (device_seconds && host_seconds && std::abs(*device_seconds - *host_seconds) > clocks_apart * *host_seconds)
    return fmt::format("the device's clock says {:.4g} µs and the host's {:.4g} µs", 1e6 * *device_seconds, 1e6 * *host_seconds);
  return {};
}

std::string_view name(SweepDimension dimension) {
  return dimension == SweepDimension::rows ? "rows" : dimension == SweepDimension::columns ? "columns" : "inner";
}

std::string_view name(SweepVerdict verdict) {
  switch (verdict) {
    case SweepVerdict::given:
      return "given";
    case SweepVerdict::faster:
      return "faster";
    case SweepVerdict::slower:
      return "slower";
    case SweepVerdict::undecided:
      return "undecided";
    case SweepVerdict::emulated:
      return "emulated";
    case SweepVerdict::invalid:
      return "invalid";
    case SweepVerdict::unknown:
      break;
  }
  return "unknown";
}

std::vector<std::int64_t> sizes_around(std::int64_t given) {
  std::set<std::int64_t> sizes{given, given - 1, given + 1};
  for (const std::int64_t step : {8, 64, 128}) {
    sizes.insert((given - 1) / step * step);
    sizes.insert((given / step + 1) * step);
  }
  std::vector<std::int64_t> list;
  for (const std::int64_t size : sizes)
    if (size > 0) list.push_back(size);
  return list;
}

Sweep sweep_result(const SweepInput& in) {
  Sweep sweep{.experiment = in.experiment, .node = in.node, .operation = in.operation, .device = in.device, .device_kind = in.device_kind,
              .batch = in.batch, .rows = in.rows, .columns = in.columns, .inner = in.inner, .dimension = in.dimension, .given = given_size(in)};
  static const SweepInput::Timing nothing;
  for (const SweepInput::Mode& mode : in.modes) {
    sweep.modes.push_back({mode.mode, mode.compute_format, mode.formats, mode.provenance});
    if (const SweepInput::Timing* given = timing_of(mode, sweep.given); given != nullptr && !given->seconds.empty() && !sweep.rounds)
      sweep.rounds = std::ssize(given->seconds);
  }
  for (const std::int64_t size : in.sizes) {
    SweepSize row{.size = size, .more = size - sweep.given};
    row.more_work = static_cast<double>(row.more) / static_cast<double>(sweep.given);
    row.mod_8 = size % 8;
    row.mod_64 = size % 64;
    row.mod_128 = size % 128;
    for (const SweepInput::Mode& mode : in.modes) {
      const SweepInput::Timing* timing = timing_of(mode, size);
      const SweepInput::Timing* given = timing_of(mode, sweep.given);
      row.times.push_back(time_of(in, mode, timing == nullptr ? nothing : *timing, given == nullptr ? nothing : *given));
    }
    sweep.sizes.push_back(std::move(row));
  }
  sweep_parts::add_facts(sweep);
  sweep_parts::add_claims(sweep);
  sweep_parts::add_notes(sweep);
  return sweep;
}

}  // namespace ulpscope::reports
