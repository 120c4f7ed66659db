#include "reports/hardware/attainable.h"

#include <algorithm>

namespace ulpscope::reports {
namespace {

constexpr double greatest_published = 271.0 / 312.0;

/// What others reached, as a share of the peak in the same format.
double best_share(const Gpu& gpu) {
  double best = 0.0;
  for (const RateInfo& info : rates()) {
    const auto i = static_cast<std::size_t>(info.rate);
    if (gpu.attainable[i] && gpu.peak[i]) best = std::max(best, *gpu.attainable[i] / *gpu.peak[i]);
  }
  return best > 0.0 ? std::min(best, 1.0) : greatest_published;
}

/// Seconds at the peaks × share; 0 for no work.
double compute_seconds(const Work& work, const Gpu& gpu, double product_share, double fp32_share) {
  double seconds = 0.0;
  if (work.product_flops > 0.0) seconds += work.product_flops / (*work.product_peak * 1e12 * product_share);
  if (work.other_flops > 0.0) seconds += work.other_flops / (*gpu.peak_of(Rate::fp32) * 1e12 * fp32_share);
  return seconds;
}

bool peaks_known(const Work& work, const Gpu& gpu) {
  if (work.product_flops > 0.0 && !work.product_peak) return false;
  return gpu.peak_of(Rate::fp32) && gpu.bandwidth_gbs;
}

}  // namespace

std::string_view name(WorkClass value) {
  constexpr std::string_view names[] = {"matrix_units", "attention", "convolution", "fp32_products", "memory"};
  return names[static_cast<std::size_t>(value)];
}

std::string_view name(WorkSize value) {
  constexpr std::string_view names[] = {"small", "medium", "large"};
  return names[static_cast<std::size_t>(value)];
}

std::string_view name(Limit value) {
  constexpr std::string_view names[] = {"products", "memory", "launch"};
  return names[static_cast<std::size_t>(value)];
}

WorkSize size_of(double ideal) { return ideal < 10e-6 ? WorkSize::small : ideal < 100e-6 ? WorkSize::medium : WorkSize::large; }

Attainable assumed(const Gpu& gpu) {
  const double best = best_share(gpu);
  const Spread large[work_class_count] = {{std::min(0.30, best), std::min(0.60, best), best}, {0.20, 0.40, 0.70}, {0.25, 0.50, 0.80}, {0.50, 0.80, 0.95}, {0.50, 0.75, 0.93}};
  constexpr double filled[work_size_count] = {0.5, 0.8, 1.0};
  Attainable all;
  for (std::size_t c = 0; c < work_class_count; ++c)
    for (std::size_t s = 0; s < work_size_count; ++s)
      all.share[c][s].spread = {large[c].low * filled[s], large[c].likely * filled[s], large[c].high};
  all.launch.spread = {3e-6, 5e-6, 10e-6};
  return all;
}

Number ideal_seconds(const Work& work, const Gpu& gpu) {
  if (!peaks_known(work, gpu)) return std::nullopt;
  return std::max(compute_seconds(work, gpu, 1.0, 1.0), work.bytes / (*gpu.bandwidth_gbs * 1e9));
}

bool limited_by_products(const Work& work, const Gpu& gpu) {
  return peaks_known(work, gpu) && compute_seconds(work, gpu, 1.0, 1.0) >= work.bytes / (*gpu.bandwidth_gbs * 1e9);
}

LaunchSeconds seconds_of(const Work& work, const Gpu& gpu, const Attainable& attainable) {
  LaunchSeconds out;
  const Number ideal = ideal_seconds(work, gpu);
  if (!ideal) return out;
  out.known = true;
  const WorkSize size = size_of(*ideal);
  const WorkClass product = work.product == WorkClass::memory ? WorkClass::fp32_products : work.product;
  const Spread& compute = attainable.of(product, size).spread;
  const Spread& fp32 = attainable.of(WorkClass::fp32_products, size).spread;
  const Spread& bytes = attainable.of(WorkClass::memory, size).spread;
  const double bandwidth = *gpu.bandwidth_gbs * 1e9;
  const auto at = [&](double product_share, double fp32_share, double byte_share, double launch) {
    return std::max({compute_seconds(work, gpu, product_share, fp32_share), work.bytes / (bandwidth * byte_share), launch});
  };
  const Spread& launch = attainable.launch.spread;
  out.seconds = {at(compute.high, fp32.high, bytes.high, launch.low), at(compute.likely, fp32.likely, bytes.likely, launch.likely), at(compute.low, fp32.low, bytes.low, launch.high)};
  const double by_products = compute_seconds(work, gpu, compute.likely, fp32.likely), by_bytes = work.bytes / (bandwidth * bytes.likely);
  out.limit = std::max(by_products, by_bytes) <= launch.likely ? Limit::launch : by_products >= by_bytes ? Limit::products : Limit::memory;
  out.size = size;
  if (out.limit == Limit::products) {
    Work others = work;
    others.product_flops = 0.0;
    out.work = 2.0 * compute_seconds(others, gpu, compute.likely, fp32.likely) > by_products ? WorkClass::fp32_products : product;
  }
  return out;
}

}  // namespace ulpscope::reports
