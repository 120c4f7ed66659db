#include "profiler/sweep/bare_products.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "kernels/error.h"
#include "profiler/sweep/sweep.h"
#include "reports/analysis/statistics.h"
#include "reports/analysis/sweep.h"

namespace ulpscope::profiler {
namespace {

using reports::Figure;
using reports::Provenance;

struct All {
  std::vector<std::unique_ptr<TimedProduct>> owned;
  std::vector<TimedProduct*> list;
  std::vector<std::vector<TimedProduct*>> of_mode;   ///< in the order of the mode's products
};

All all_of(const BareJob& job) {
  All all;
  const auto key = [](const SweptProduct& p) { return std::make_tuple(p.batch, p.rows, p.columns, p.inner, p.trans_a, p.trans_b, p.a, p.b, p.result, p.bias, p.multiply); };
  std::map<decltype(key(std::declval<SweptProduct>())), TimedProduct*> known;
  for (const BareJob::Mode& mode : job.modes) {
    std::vector<TimedProduct*>& mine = all.of_mode.emplace_back();
    for (const StepProduct& p : mode.products.products) {
      TimedProduct*& timed = known[key(p.product)];
      if (timed == nullptr) {
        all.owned.push_back(std::make_unique<TimedProduct>(p.product));
        timed = all.owned.back().get();
        all.list.push_back(timed);
      }
      mine.push_back(timed);
    }
  }
  return all;
}

Figure figure_of(const std::vector<double>& sample, Provenance provenance) {
  Figure f;
  if (sample.empty()) return f;
  f.value = reports::median(sample);
  f.low = reports::quantile(sample, 0.25);
  f.high = reports::quantile(sample, 0.75);
  f.spread = reports::standard_deviation(sample);
  f.samples = static_cast<std::int64_t>(sample.size());
  f.provenance = provenance;
  return f;
}

const std::vector<double>& samples_of(const TimedProduct& p) { return p.device_seconds.empty() ? p.seconds : p.device_seconds; }

/// Why the time of a product cannot be true. That of what is emulated is no matrix unit's.
std::string why_invalid(const BareProduct& timed, const TimedProduct& samples, const BareJob::Mode& mode, const std::optional<reports::DevicePeaks>& peaks) {
  if (!timed.seconds.value) return {};
  const SweptProduct& product = timed.product.product;
  const double once = timed.product.flops() / static_cast<double>(timed.product.count);
  const reports::Number tflops = *timed.seconds.value > 0.0 ? reports::Number(1e-12 * once / *timed.seconds.value) : std::nullopt;
  const reports::Number peak = peaks && mode.provenance != Provenance::emulated ? peaks->of(product.compute_format()) : std::nullopt;
  return reports::why_invalid(tflops, peak, reports::median(samples.seconds), reports::median(samples.device_seconds));
}

}  // namespace

BareTimes bare_times_of(const BareJob::Mode& mode, std::span<TimedProduct* const> timed, std::size_t rounds, const std::optional<reports::DevicePeaks>& peaks) {
  BareTimes times{.mode = mode.name, .flops = mode.products.flops, .left_out = mode.products.left_out};
  std::vector<double> totals(rounds, 0.0);
  if (timed.empty()) times.why = "it has no products that can be timed alone";
  for (std::size_t i = 0; i < timed.size(); ++i) {
    const StepProduct& product = mode.products.products[i];
    const std::vector<double>& samples = samples_of(*timed[i]);
    times.by_device = times.by_device || !timed[i]->device_seconds.empty();
    BareProduct& row = times.products.emplace_back(BareProduct{product, figure_of(samples, mode.provenance), timed[i]->problem});
    row.invalid = why_invalid(row, *timed[i], mode, peaks);
    if (!times.why.empty()) continue;
    if (!row.problem.empty()) times.why = fmt::format("{} has no time: {}", product.product.node, row.problem);
    else if (rounds == 0 || samples.size() < rounds) times.why = "it was ended before a round was whole";
    else if (!row.invalid.empty()) times.why = fmt::format("the time of {} is invalid: {}", product.product.node, row.invalid);
    for (std::size_t r = 0; times.why.empty() && r < rounds; ++r) totals[r] += samples[r] * static_cast<double>(product.count);
  }
  if (times.why.empty()) times.seconds = figure_of(totals, mode.provenance);
  return times;
}

std::int64_t bare_bytes(const BareJob& job) {
  const All all = all_of(job);
  return ProductRoom::bytes(all.list);
}

std::vector<BareTimes> bare_times(const BareJob& job, const std::function<void(std::size_t, double)>& told, const std::function<bool()>& stop,
                                  const std::function<std::optional<reports::DevicePeaks>()>& peaks) {
  const All all = all_of(job);
  std::vector<TimedProduct*> sound;
  bool ended = false;
  std::size_t rounds = 0;
  double seconds = 0.0;
  {
    const ProductRoom room(job.device, all.list);
    for (TimedProduct* product : all.list) {
      try {
        seconds += product->warm_up(job.device);
        sound.push_back(product);
      } catch (const Error& error) {
        product->problem = error.what();
      }
      ended = ended || stop();
      if (ended) break;
    }
    if (!ended) told(sound.size(), seconds * static_cast<double>(job.rounds));
    const auto n = std::ssize(sound);
    for (std::int64_t round = 0; !ended && round < job.rounds; ++round) {
      for (std::ptrdiff_t i = 0; !ended && i < n; ++i) {
        sound[static_cast<std::size_t>((i + first_of_round(round, n)) % n)]->sample(job.device);
        ended = stop();
      }
      if (!ended) ++rounds;
    }
  }
  const std::optional<reports::DevicePeaks> known = peaks ? peaks() : std::nullopt;
  std::vector<BareTimes> times;
  for (std::size_t m = 0; m < job.modes.size(); ++m) times.push_back(bare_times_of(job.modes[m], all.of_mode[m], rounds, known));
  return times;
}

}  // namespace ulpscope::profiler
