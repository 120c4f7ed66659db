#include "reports/analysis/sweep_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "reports/analysis/statistics.h"

namespace ulpscope::reports::sweep_parts {
namespace {

/// Of a normal distribution: the standard deviation. One wild value in ten (in fewer, too) does not move it; a second cluster does, which
/// the median distance from the median alone does not see as long as it has less than half of the values.
double robust_spread(std::vector<double> values) {
  const double middle = median(values).value_or(0.0);
  std::vector<double> distances;
  for (const double v : values) distances.push_back(std::abs(v - middle));
  const double by_median = 1.4826 * median(distances).value_or(0.0);
  std::sort(values.begin(), values.end(), [&](double a, double b) { return std::abs(a - middle) < std::abs(b - middle); });
  const std::size_t wild = std::max<std::size_t>(1, values.size() / 10);
  values.resize(values.size() > wild ? values.size() - wild : 0);
  return std::max(by_median, standard_deviation(values).value_or(0.0));
}

std::string_view unit(SweepDimension dimension, std::int64_t count) {
  const bool one = count == 1 || count == -1;
  switch (dimension) {
    case SweepDimension::rows:
      return one ? "row" : "rows";
    case SweepDimension::columns:
      return one ? "column" : "columns";
    case SweepDimension::inner:
      return one ? "addend" : "addends";
  }
  return "";
}

std::string duration(double seconds) { return seconds < 1e-3 ? fmt::format("{:.3g} µs", 1e6 * seconds) : fmt::format("{:.3g} ms", 1e3 * seconds); }

}  // namespace

Held hold(const std::vector<double>& seconds, const SweepInput::Timing& given, double share) {
  Held held;
  held.rounds = std::min(std::ssize(seconds), std::ssize(given.seconds));
  if (held.rounds == 0) return held;
  std::vector<double> faster, slower, gains, losses, twins;
  double gained = 0.0, lost = 0.0;   // rounds in which both timings of the given size say so
  for (std::size_t i = 0; i < static_cast<std::size_t>(held.rounds); ++i) {
    const double whole = given.seconds[i], least = std::min(whole, whole * share), most = std::max(whole, whole * share);
    gains.push_back(least - seconds[i]);
    losses.push_back(seconds[i] - most);
    if (seconds[i] > 0.0) faster.push_back(least / seconds[i]);
    if (seconds[i] > 0.0) slower.push_back(most / seconds[i]);
    const double again = i < given.again.size() ? given.again[i] : whole;
    if (i < given.again.size()) twins.push_back(again - whole);
    gained += seconds[i] < std::min(least, std::min(again, again * share)) ? 1.0 : 0.0;
    lost += seconds[i] > std::max(most, std::max(again, again * share)) ? 1.0 : 0.0;
  }
  const double gain = *median(gains), loss = *median(losses);
  held.difference = gain > 0.0 ? gain : loss > 0.0 ? -loss : 0.0;
  held.ratio = gain > 0.0 ? median(faster) : loss > 0.0 ? median(slower) : Number(1.0);
  held.agree = (gain > 0.0 ? gained : lost) / static_cast<double>(held.rounds);
  held.noise = std::max({robust_spread(gain > 0.0 ? gains : losses), robust_spread(twins), std::abs(median(twins).value_or(0.0))});
  return held;
}

SweepVerdict verdict(const Held& held) {
  if (held.rounds < least_rounds || held.agree < least_agreement || !(std::abs(held.difference) > noise_factor * held.noise)) return SweepVerdict::undecided;
  return held.difference > 0.0 ? SweepVerdict::faster : SweepVerdict::slower;
}

void add_facts(Sweep& sweep) {
  const std::int64_t n = sweep.given;
  sweep.facts.push_back(fmt::format("{} mod 8 = {}, mod 64 = {}, mod 128 = {}", n, n % 8, n % 64, n % 128));
  std::int64_t last = n;
  for (const std::int64_t step : {8, 64, 128}) {
    const std::int64_t padded = (n + step - 1) / step * step;
    if (padded == last) continue;
    last = padded;
    sweep.facts.push_back(fmt::format("{} = {} x {}: {} {} of padding, {:.3g} % more work", padded, padded / step, step, padded - n, unit(sweep.dimension, padded - n),
                                      100.0 * static_cast<double>(padded - n) / static_cast<double>(n)));
  }
}

void add_claims(Sweep& sweep) {
  for (std::size_t m = 0; m < sweep.modes.size(); ++m) {
    std::vector<std::pair<double, Sweep::Claim>> found;
    for (const SweepSize& row : sweep.sizes) {
      const SweepTime& t = row.times[m];
      if (t.verdict != SweepVerdict::faster && t.verdict != SweepVerdict::slower) continue;
      const bool faster = t.verdict == SweepVerdict::faster;
      const double ratio = t.ratio.value_or(1.0);
      const bool by_work = (row.more < 0) == faster;   // held against its own share of the work
      const double factor = faster ? ratio : 1.0 / ratio;
      const std::string text =
          fmt::format("{} is {:.3g} x {} than {}{}: {} apart, noise {}; {} {} {}", row.size, factor, faster ? "faster" : "slower", sweep.given, by_work ? " for its work" : "",
                      duration(std::abs(*t.difference)), duration(t.noise.value_or(0.0)), std::abs(row.more), row.more > 0 ? "more" : "fewer", unit(sweep.dimension, row.more));
      found.emplace_back(faster ? factor : -factor, Sweep::Claim{sweep.modes[m].mode, row.size, text, t.seconds.provenance});
    }
    std::stable_sort(found.begin(), found.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (auto& [factor, claim] : found) sweep.claims.push_back(std::move(claim));
  }
}

void add_notes(Sweep& sweep) {
  const auto any = [&](auto&& question) {
    return std::any_of(sweep.sizes.begin(), sweep.sizes.end(), [&](const SweepSize& row) { return std::any_of(row.times.begin(), row.times.end(), question); });
  };
  if (any([](const SweepTime& t) { return t.verdict == SweepVerdict::emulated; }))
    sweep.notes.emplace_back("emulated times come from this processor, which carries the mode out in software: nothing is claimed from them, and they say nothing of a GPU");
  if (sweep.device_kind == "cpu") sweep.notes.emplace_back("what is claimed holds for this processor and its kernels; a GPU chooses others");
  if (sweep.rounds && *sweep.rounds < least_rounds) sweep.notes.push_back(fmt::format("{} timed; a claim needs {}", *sweep.rounds == 1 ? "1 round was" : fmt::format("{} rounds were", *sweep.rounds), least_rounds));
  for (std::size_t m = 0; m < sweep.modes.size(); ++m)
    for (const SweepSize& row : sweep.sizes)
      if (!row.times[m].why.empty()) sweep.notes.push_back(fmt::format("{} at {} is {}: {}", sweep.modes[m].mode, row.size, name(row.times[m].verdict), row.times[m].why));
}

}  // namespace ulpscope::reports::sweep_parts
