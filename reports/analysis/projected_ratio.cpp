#include "reports/analysis/projected_ratio.h"

#include <algorithm>
#include <array>

namespace ulpscope::reports {
namespace {

enum End : std::uint8_t { low, likely, high };
constexpr int ends = 3;

double at(const Spread& spread, End end) { return end == low ? spread.low : end == likely ? spread.likely : spread.high; }

/// One combination. Of a share high is fast, of the launch cost low is.
struct Choice {
  End memory = likely, launch = likely;
  std::array<End, rate_count> products{};

  Choice() { products.fill(likely); }
  End& of(Rate rate) { return products[static_cast<std::size_t>(rate)]; }
  End of(Rate rate) const { return products[static_cast<std::size_t>(rate)]; }
};

double seconds_of_step(const std::vector<LaunchParts>& launches, const Attainable& attainable, const Choice& choice) {
  const double launch = at(attainable.launch.spread, choice.launch);
  double sum = 0.0;
  for (const LaunchParts& one : launches) {
    double compute = 0.0;
    if (one.product > 0.0) compute += one.product / at(attainable.of(one.work, one.size).spread, choice.of(one.rate));
    if (one.other > 0.0) compute += one.other / at(attainable.of(WorkClass::fp32_products, one.size).spread, choice.of(Rate::fp32));
    sum += one.calls * std::max({compute, one.bytes / at(attainable.of(WorkClass::memory, one.size).spread, choice.memory), launch});
  }
  return sum;
}

std::array<bool, rate_count> rates_of(const std::vector<LaunchParts>& launches) {
  std::array<bool, rate_count> used{};
  for (const LaunchParts& one : launches) {
    if (one.product > 0.0) used[static_cast<std::size_t>(one.rate)] = true;
    if (one.other > 0.0) used[static_cast<std::size_t>(Rate::fp32)] = true;
  }
  return used;
}

}  // namespace

std::optional<LaunchParts> parts_of(const Work& work, const Gpu& gpu, double calls) {
  const Number ideal = ideal_seconds(work, gpu);
  if (!ideal) return std::nullopt;
  LaunchParts parts{.calls = calls, .work = work.product == WorkClass::memory ? WorkClass::fp32_products : work.product, .rate = work.rate, .size = size_of(*ideal)};
  if (work.product_flops > 0.0) parts.product = work.product_flops / (*work.product_peak * 1e12);
  if (work.other_flops > 0.0) parts.other = work.other_flops / (*gpu.peak_of(Rate::fp32) * 1e12);
  parts.bytes = work.bytes / (*gpu.bandwidth_gbs * 1e9);
  return parts;
}

Figure ratio_of_steps(const std::vector<LaunchParts>& above, const std::vector<LaunchParts>& below, const Attainable& attainable) {
  const auto ratio = [&](const Choice& choice) { return seconds_of_step(above, attainable, choice) / seconds_of_step(below, attainable, choice); };
  if (above.empty() || below.empty()) return {};
  const double value = ratio({});
  double least = value, greatest = value;
  // A format of one mode alone moves its step alone: its ends are enough. What both have is tried at each.
  const auto of_above = rates_of(above), of_below = rates_of(below);
  std::vector<Rate> common;
  Choice slowest, fastest;  // of `above`, beside `below`
  for (const RateInfo& info : rates()) {
    const auto i = static_cast<std::size_t>(info.rate);
    if (of_above[i] && of_below[i]) common.push_back(info.rate);
    else if (of_above[i]) slowest.of(info.rate) = low, fastest.of(info.rate) = high;
    else if (of_below[i]) slowest.of(info.rate) = high, fastest.of(info.rate) = low;
  }
  std::size_t combinations = ends * ends;
  for (std::size_t i = 0; i < common.size(); ++i) combinations *= ends;
  for (std::size_t n = 0; n < combinations; ++n) {
    std::size_t rest = n;
    const auto next = [&] {
      const End end = static_cast<End>(rest % ends);
      rest /= ends;
      return end;
    };
    const End memory = next(), launch = next();
    for (Choice* choice : {&slowest, &fastest}) choice->memory = memory, choice->launch = launch;
    for (const Rate rate : common) slowest.of(rate) = fastest.of(rate) = next();
    greatest = std::max(greatest, ratio(slowest));
    least = std::min(least, ratio(fastest));
  }
  return {.value = value, .low = least, .high = greatest, .provenance = Provenance::projected};
}

}  // namespace ulpscope::reports
