#include "profiler/sweep/bare_products.h"

#include <algorithm>
#include <map>
#include <memory>
#include <tuple>

#include "kernels/error.h"
#include "profiler/sweep/sweep.h"
#include "profiler/sweep/timed_product.h"
#include "reports/analysis/statistics.h"

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

BareTimes times_of(const BareJob::Mode& mode, const std::vector<TimedProduct*>& timed, std::size_t rounds) {
  BareTimes times{.mode = mode.name, .flops = mode.products.flops, .left_out = mode.products.left_out};
  std::vector<double> totals(rounds, 0.0);
  bool whole = !timed.empty();
  for (std::size_t i = 0; i < timed.size(); ++i) {
    const StepProduct& product = mode.products.products[i];
    const std::vector<double>& samples = samples_of(*timed[i]);
    times.by_device = times.by_device || !timed[i]->device_seconds.empty();
    times.products.push_back({product, figure_of(samples, mode.provenance), timed[i]->problem});
    whole = whole && timed[i]->problem.empty() && samples.size() >= rounds;
    for (std::size_t r = 0; whole && r < rounds; ++r) totals[r] += samples[r] * static_cast<double>(product.count);
  }
  if (whole) times.seconds = figure_of(totals, mode.provenance);
  return times;
}

}  // namespace

std::int64_t bare_bytes(const BareJob& job) {
  const All all = all_of(job);
  return ProductRoom::bytes(all.list);
}

std::vector<BareTimes> bare_times(const BareJob& job, const std::function<void(std::size_t, double)>& told, const std::function<bool()>& stop) {
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
  std::vector<BareTimes> times;
  for (std::size_t m = 0; m < job.modes.size(); ++m) times.push_back(times_of(job.modes[m], all.of_mode[m], rounds));
  return times;
}

}  // namespace ulpscope::profiler
