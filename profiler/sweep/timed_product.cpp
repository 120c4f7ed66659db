#include "profiler/sweep/timed_product.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <random>

namespace ulpscope::profiler {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point begin) { return std::chrono::duration<double>(Clock::now() - begin).count(); }

Shape stored_shape(std::int64_t batch, std::int64_t rows, std::int64_t columns, bool transposed) {
  return transposed ? Shape{batch, columns, rows} : Shape{batch, rows, columns};
}

/// Each half word 1 to 2 in fp16, and a number of the same sort in bf16 and fp32; the signs differ, so that sums stay small.
void fill(Device& device, const Buffer& buffer) {
  constexpr std::size_t piece = std::size_t{1} << 20;
  std::vector<std::uint16_t> words(std::min(piece, buffer.bytes()) / 2 + 1);
  std::mt19937 random(1);
  for (std::uint16_t& word : words) word = static_cast<std::uint16_t>((random() & 0x83ffu) | 0x3c00u);
  for (std::size_t done = 0; done < buffer.bytes(); done += piece)
    device.copy_to_device(static_cast<std::byte*>(buffer.data()) + done, words.data(), std::min(piece, buffer.bytes() - done));
}

}  // namespace

TimedProduct::TimedProduct(const SweptProduct& p)
    : product_(p),
      in_{Tensor(nullptr, p.a, stored_shape(p.batch, p.rows, p.inner, p.trans_a)), Tensor(nullptr, p.b, stored_shape(p.batch, p.inner, p.columns, p.trans_b)),
          Tensor(nullptr, p.bias.value_or(Format::fp32), Shape{p.columns})},
      result_(nullptr, p.result, Shape{p.batch, p.rows, p.columns}) {
  params_.trans_a = p.trans_a;
  params_.trans_b = p.trans_b;
  params_.multiply = p.multiply;
}

Launch TimedProduct::bound(Device& device) {
  Launch launch;
  launch.in = in_;
  launch.in_count = product_.bias ? 3 : 2;
  launch.out = &result_;
  launch.out_count = 1;
  launch.params = &params_;
  launch.workspace = workspace_;
  launch.threads = device.description().threads;
  launch.stream = device.stream();
  return launch;
}

void TimedProduct::run(Device& device) { device.kernels().find("matmul", Format::fp32).run(bound(device)); }

double TimedProduct::warm_up(Device& device) {
  run(device);
  device.synchronize();
  double best = INFINITY;
  for (int i = 0; i < 2; ++i) {
    const Clock::time_point begin = Clock::now();
    run(device);
    device.synchronize();
    best = std::min(best, seconds_since(begin));
  }
  calls = std::clamp<std::int64_t>(static_cast<std::int64_t>(std::ceil(least_sample_seconds / std::max(best, 1e-9))), 1, 10000);
  return best * static_cast<double>(calls);
}

void TimedProduct::sample(Device& device) {
  const bool events = device.description().kind == DeviceKind::cuda;
  device.synchronize();
  const Clock::time_point begin = Clock::now();
  const std::unique_ptr<Event> first = events ? device.record_event() : nullptr;
  for (std::int64_t i = 0; i < calls; ++i) run(device);
  const std::unique_ptr<Event> last = events ? device.record_event() : nullptr;
  device.synchronize();
  seconds.push_back(seconds_since(begin) / static_cast<double>(calls));
  if (events) device_seconds.push_back(1e-3 * device.milliseconds_between(*first, *last) / static_cast<double>(calls));
}

ProductRoom::Bytes ProductRoom::greatest(std::span<TimedProduct* const> products) {
  Bytes most;
  for (const TimedProduct* p : products) {
    most.a = std::max(most.a, p->in_[0].bytes());
    most.b = std::max(most.b, p->in_[1].bytes());
    most.bias = std::max(most.bias, p->in_[2].bytes());
    most.result = std::max(most.result, p->result_.bytes());
  }
  return most;
}

std::int64_t ProductRoom::bytes(std::span<TimedProduct* const> products) {
  const Bytes most = greatest(products);
  return most.a + most.b + most.result + most.bias;
}

ProductRoom::ProductRoom(Device& device, std::span<TimedProduct* const> products) {
  const Bytes most = greatest(products);
  const auto room = [&](std::int64_t n) { return Buffer(device, static_cast<std::size_t>(n)); };
  a_ = room(most.a);
  b_ = room(most.b);
  result_ = room(most.result);
  bias_ = room(most.bias);
  for (const Buffer* buffer : {&a_, &b_, &result_, &bias_}) fill(device, *buffer);
  const Kernel& kernel = device.kernels().find("matmul", Format::fp32);
  std::size_t workspace = 0;
  for (TimedProduct* p : products) {
    p->in_[0].data = a_.data();
    p->in_[1].data = b_.data();
    p->in_[2].data = bias_.data();
    p->result_.data = result_.data();
    if (kernel.workspace_bytes != nullptr) workspace = std::max(workspace, kernel.workspace_bytes(p->bound(device)));
  }
  workspace_ = Buffer(device, workspace);
  for (TimedProduct* p : products) p->workspace_ = workspace_.data();
}

}  // namespace ulpscope::profiler
