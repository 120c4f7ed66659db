#include "profiler/sweep/sweep.h"

#include <algorithm>
#include <chrono>
#include <memory>
#include <numeric>

#include "kernels/error.h"
#include "profiler/sweep/timed_product.h"

namespace ulpscope::profiler {
namespace {

using Clock = std::chrono::steady_clock;
using reports::SweepInput;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

/// A product at one of the sizes, in one of the modes.
struct Entry {
  std::size_t mode, size;   ///< places in the job
  bool again;
  TimedProduct timed;

  Entry(const SweptProduct& product, std::size_t mode_place, std::size_t size_place, bool second)
      : mode(mode_place), size(size_place), again(second), timed(product) {}
};
using Entries = std::vector<std::unique_ptr<Entry>>;

Entries entries_of(const SweepJob& job) {
  Entries entries;
  for (int again = 0; again < 2; ++again)
    for (std::size_t s = 0; s < job.sizes.size(); ++s)
      for (std::size_t m = 0; m < job.modes.size(); ++m) {
        SweptProduct product = job.modes[m].product;
        if (again == 1 && job.sizes[s] != product.size(job.dimension)) continue;
        product.resize(job.dimension, job.sizes[s]);
        entries.push_back(std::make_unique<Entry>(product, m, s, again == 1));
      }
  return entries;
}

std::vector<TimedProduct*> products_of(const Entries& entries) {
  std::vector<TimedProduct*> products;
  for (const auto& entry : entries) products.push_back(&entry->timed);
  return products;
}

SweepInput collected(const SweepJob& job, const Entries& entries) {
  const SweptProduct& given = job.modes.front().product;
  SweepInput in{.experiment = job.experiment, .node = given.node, .operation = given.operation, .device = job.device.description().name};
  in.device_kind = job.device.description().kind == DeviceKind::cpu ? "cpu" : "cuda";
  in.batch = given.batch;
  in.rows = given.rows;
  in.columns = given.columns;
  in.inner = given.inner;
  in.dimension = job.dimension;
  in.sizes = job.sizes;
  for (const SweepJob::Mode& mode : job.modes) {
    in.modes.push_back({.mode = mode.name, .compute_format = mode.product.compute_format(), .formats = mode.product.formats(), .provenance = mode.provenance});
    for (const std::int64_t size : job.sizes) in.modes.back().timings.push_back({.size = size});
  }
  for (const auto& entry : entries) {
    SweepInput::Timing& timing = in.modes[entry->mode].timings[entry->size];
    if (entry->again) {
      timing.again = entry->timed.seconds;
      continue;
    }
    timing.calls = entry->timed.calls;
    timing.seconds = entry->timed.seconds;
    timing.device_seconds = entry->timed.device_seconds;
    timing.problem = entry->timed.problem;
  }
  return in;
}

}  // namespace

std::int64_t first_of_round(std::int64_t round, std::int64_t n) {
  std::int64_t step = 7;
  while (std::gcd(step, n) != 1) ++step;
  return round * step % n;
}

std::int64_t sweep_bytes(const SweepJob& job) {
  const Entries entries = entries_of(job);
  return ProductRoom::bytes(products_of(entries));
}

SweepInput run_sweep(const SweepJob& job, const std::function<void(std::int64_t, double)>& told, const std::function<bool()>& stop) {
  const Entries entries = entries_of(job);
  const std::vector<TimedProduct*> products = products_of(entries);
  const ProductRoom room(job.device, products);
  double seconds = 0.0;
  std::vector<TimedProduct*> sound;
  for (TimedProduct* product : products) {
    try {
      seconds += product->warm_up(job.device);
      sound.push_back(product);
    } catch (const Error& error) {
      product->problem = error.what();
    }
    if (stop()) return collected(job, entries);
  }
  const std::int64_t rounds =
      job.rounds > 0 ? job.rounds : std::clamp<std::int64_t>(static_cast<std::int64_t>(sweep_seconds / std::max(seconds, 1e-9)), fewest_rounds, most_rounds);
  told(rounds, static_cast<double>(rounds) * seconds);
  const Clock::time_point begin = Clock::now();
  for (std::int64_t round = 0; round < rounds; ++round) {
    // The machine has become busier than it was.
    if (job.rounds == 0 && round >= fewest_rounds && seconds_since(begin) > 2 * sweep_seconds) break;
    const auto n = std::ssize(sound);
    for (std::ptrdiff_t i = 0; i < n; ++i) {
      sound[static_cast<std::size_t>((i + first_of_round(round, n)) % n)]->sample(job.device);
      if (!stop()) continue;
      for (TimedProduct* e : sound) {   // the rounds that are whole
        e->seconds.resize(static_cast<std::size_t>(round));
        e->device_seconds.resize(std::min(e->device_seconds.size(), static_cast<std::size_t>(round)));
      }
      return collected(job, entries);
    }
  }
  return collected(job, entries);
}

}  // namespace ulpscope::profiler
