#include "profiler/sweep/sweep.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <memory>
#include <numeric>
#include <random>

#include "kernels/error.h"
#include "kernels/ops/params.h"

namespace ulpscope::profiler {
namespace {

using Clock = std::chrono::steady_clock;
using reports::SweepInput;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

Shape stored_shape(std::int64_t batch, std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? Shape{batch, columns, rows} : Shape{batch, rows, columns};
}

struct Operands {
  Tensor a, b, result, bias;
};

Operands operands_of(const SweptProduct& p) {
  return {Tensor(nullptr, p.a, stored_shape(p.batch, p.rows, p.inner, p.trans_a)), Tensor(nullptr, p.b, stored_shape(p.batch, p.inner, p.columns, p.trans_b)),
          Tensor(nullptr, p.result, Shape{p.batch, p.rows, p.columns}), Tensor(nullptr, p.bias.value_or(Format::fp32), Shape{p.columns})};
}

/// A product that can be launched again and again.
class Entry {
 public:
  std::size_t mode, size;   ///< places in the job
  bool again;
  std::int64_t calls = 1;
  std::string problem{};
  std::vector<double> seconds{}, device_seconds{};

  Entry(const SweptProduct& product, std::size_t mode_place, std::size_t size_place, bool second)
      : mode(mode_place), size(size_place), again(second), product_(product), operands_(operands_of(product)) {
    params_.trans_a = product.trans_a;
    params_.trans_b = product.trans_b;
    params_.multiply = product.multiply;
  }

  std::size_t workspace_bytes(Device& device) {
    const Kernel& kernel = device.kernels().find("matmul", Format::fp32);
    const Launch launch = bound(device);
    return kernel.workspace_bytes == nullptr ? 0 : kernel.workspace_bytes(launch);
  }
  void bind(void* a, void* b, void* result, void* bias, void* workspace) {
    operands_.a.data = a;
    operands_.b.data = b;
    operands_.result.data = result;
    operands_.bias.data = bias;
    workspace_ = workspace;
  }
  void run(Device& device) { device.kernels().find("matmul", Format::fp32).run(bound(device)); }

  const Operands& operands() const { return operands_; }

 private:
  Launch bound(Device& device) {
    in_[0] = operands_.a;
    in_[1] = operands_.b;
    in_[2] = operands_.bias;
    Launch launch;
    launch.in = in_;
    launch.in_count = product_.bias ? 3 : 2;
    launch.out = &operands_.result;
    launch.out_count = 1;
    launch.params = &params_;
    launch.workspace = workspace_;
    launch.threads = device.description().threads;
    launch.stream = device.stream();
    return launch;
  }

  SweptProduct product_;
  Operands operands_;
  MatmulParams params_;
  Tensor in_[3];
  void* workspace_ = nullptr;
};

std::vector<std::unique_ptr<Entry>> entries_of(const SweepJob& job) {
  std::vector<std::unique_ptr<Entry>> entries;
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

struct Bytes {
  std::int64_t a = 0, b = 0, result = 0, bias = 0;
};

Bytes bytes_of(const std::vector<std::unique_ptr<Entry>>& entries) {
  Bytes most;
  for (const auto& entry : entries) {
    const Operands& o = entry->operands();
    most.a = std::max(most.a, o.a.bytes());
    most.b = std::max(most.b, o.b.bytes());
    most.result = std::max(most.result, o.result.bytes());
    most.bias = std::max(most.bias, o.bias.bytes());
  }
  return most;
}

/// Each half word 1 to 2 in fp16, and a number of the same sort in bf16 and fp32; the signs differ, so that sums stay small. What the
/// numbers are moves a GPU's power, and with it its clock: they are not all alike.
void fill(Device& device, const Buffer& buffer) {
  constexpr std::size_t piece = std::size_t{1} << 20;
  std::vector<std::uint16_t> words(std::min(piece, buffer.bytes()) / 2 + 1);
  std::mt19937 random(1);
  for (std::uint16_t& word : words) word = static_cast<std::uint16_t>((random() & 0x83ffu) | 0x3c00u);
  for (std::size_t done = 0; done < buffer.bytes(); done += piece)
    device.copy_to_device(static_cast<std::byte*>(buffer.data()) + done, words.data(), std::min(piece, buffer.bytes() - done));
}

/// One sample: seconds of a product, on the host and on the device.
void sample(Device& device, Entry& entry, std::int64_t calls, bool keep) {
  const bool events = device.description().kind == DeviceKind::cuda;
  device.synchronize();
  const Clock::time_point begin = Clock::now();
  const std::unique_ptr<Event> first = events ? device.record_event() : nullptr;
  for (std::int64_t i = 0; i < calls; ++i) entry.run(device);
  const std::unique_ptr<Event> last = events ? device.record_event() : nullptr;
  device.synchronize();
  const double seconds = seconds_since(begin) / static_cast<double>(calls);
  if (!keep) return;
  entry.seconds.push_back(seconds);
  if (events) entry.device_seconds.push_back(1e-3 * device.milliseconds_between(*first, *last) / static_cast<double>(calls));
}

/// Caches, page faults, the library's choice of an algorithm; and how many calls a sample needs. Seconds that a sample takes.
double warm_up(Device& device, Entry& entry) {
  entry.run(device);
  device.synchronize();
  double best = INFINITY;
  for (int i = 0; i < 2; ++i) {
    const Clock::time_point begin = Clock::now();
    entry.run(device);
    device.synchronize();
    best = std::min(best, seconds_since(begin));
  }
  entry.calls = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(least_sample_seconds / std::max(best, 1e-9))), 1, 10000);
  return best * static_cast<double>(entry.calls);
}

SweepInput collected(const SweepJob& job, const std::vector<std::unique_ptr<Entry>>& entries) {
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
      timing.again = entry->seconds;
      continue;
    }
    timing.calls = entry->calls;
    timing.seconds = entry->seconds;
    timing.device_seconds = entry->device_seconds;
    timing.problem = entry->problem;
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
  const Bytes bytes = bytes_of(entries_of(job));
  return bytes.a + bytes.b + bytes.result + bytes.bias;
}

SweepInput run_sweep(const SweepJob& job, const std::function<void(std::int64_t, double)>& told, const std::function<bool()>& stop) {
  const std::vector<std::unique_ptr<Entry>> entries = entries_of(job);
  const Bytes bytes = bytes_of(entries);
  const auto room = [&](std::int64_t n) { return Buffer(job.device, static_cast<std::size_t>(n)); };
  const Buffer a = room(bytes.a), b = room(bytes.b), result = room(bytes.result), bias = room(bytes.bias);
  for (const Buffer* buffer : {&a, &b, &result, &bias}) fill(job.device, *buffer);
  std::size_t workspace_bytes = 0;
  for (const auto& entry : entries) {
    entry->bind(a.data(), b.data(), result.data(), bias.data(), nullptr);
    workspace_bytes = std::max(workspace_bytes, entry->workspace_bytes(job.device));
  }
  const Buffer workspace(job.device, workspace_bytes);
  double seconds = 0.0;
  std::vector<Entry*> sound;
  for (const auto& entry : entries) {
    entry->bind(a.data(), b.data(), result.data(), bias.data(), workspace.data());
    try {
      seconds += warm_up(job.device, *entry);
      sound.push_back(entry.get());
    } catch (const Error& error) {
      entry->problem = error.what();
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
      Entry& entry = *sound[static_cast<std::size_t>((i + first_of_round(round, n)) % n)];
      sample(job.device, entry, entry.calls, true);
      if (!stop()) continue;
      for (Entry* e : sound) {   // the rounds that are whole
        e->seconds.resize(static_cast<std::size_t>(round));
        e->device_seconds.resize(std::min(e->device_seconds.size(), static_cast<std::size_t>(round)));
      }
      return collected(job, entries);
    }
  }
  return collected(job, entries);
}

}  // namespace ulpscope::profiler
