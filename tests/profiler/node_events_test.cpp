// Times of nodes between events, on a device whose clock the test turns.
#include "profiler/trace/node_events.h"

#include <gtest/gtest.h>

namespace ulpscope::profiler {
namespace {

struct Moment final : Event {
  explicit Moment(double ms) : milliseconds(ms) {}
  double milliseconds;
};

/// The CPU, with a clock that the test turns.
class ClockedDevice final : public Device {
 public:
  double now = 0.0;
  int events = 0, waits = 0;

  const DeviceDescription& description() const override { return cpu_->description(); }
  const KernelTable& kernels() const override { return cpu_->kernels(); }
  void* allocate(std::size_t bytes) override { return cpu_->allocate(bytes); }
  void release(void* memory) noexcept override { cpu_->release(memory); }
  std::size_t live_bytes() const override { return cpu_->live_bytes(); }
  std::size_t peak_bytes() const override { return cpu_->peak_bytes(); }
  void reset_peak() override { cpu_->reset_peak(); }
  void copy_to_device(void* to, const void* from, std::size_t bytes) override { cpu_->copy_to_device(to, from, bytes); }
  void copy_to_host(void* to, const void* from, std::size_t bytes) override { cpu_->copy_to_host(to, from, bytes); }
  void fill(void* memory, unsigned char byte, std::size_t bytes) override { cpu_->fill(memory, byte, bytes); }
  void* stream() override { return nullptr; }
  std::unique_ptr<Event> record_event() override {
    ++events;
    return std::make_unique<Moment>(now);
  }
  double milliseconds_between(const Event& from, const Event& to) override {
    return static_cast<const Moment&>(to).milliseconds - static_cast<const Moment&>(from).milliseconds;
  }
  void synchronize() override { ++waits; }

 private:
  std::unique_ptr<Device> cpu_ = make_cpu_device({.threads = 1, .instruction_set = {}});
};

void steps(engine::Topics& topics, ClockedDevice& device, std::int64_t first, std::int64_t end) {
  for (std::int64_t i = first; i < end; ++i) {
    topics.step_begin.publish({i});
    for (std::int32_t n = 0; n < 2; ++n) {
      topics.node_begin.publish({engine::NodeId{n}, i});
      device.now += n == 0 ? 1.0 : 0.25;
      topics.node_end.publish({engine::NodeId{n}, i});
      device.now += 5.0;   // between nodes
    }
    engine::StepResult result;
    result.iteration = i;
    topics.step_end.publish(result);
  }
}

TEST(NodeEvents, TimesNodesOnTheDeviceInASampleOfTheSteps) {
  engine::Topics topics;
  Faults faults;
  ClockedDevice device;
  bool wanted = true;
  const NodeEvents nodes(device, topics, faults, 3, 4, 10, [&] { return wanted; });
  steps(topics, device, 0, 25);
  EXPECT_EQ(nodes.sampled_steps(), 3) << "steps 4, 14, 24";
  EXPECT_EQ(device.events, 3 * 2 * 2) << "none in the other steps";
  EXPECT_EQ(device.waits, 3);
  const auto rows = nodes.timings(reports::RunId{7}, reports::Provenance::emulated);
  ASSERT_EQ(rows.size(), 2u) << "the third node never ran";
  EXPECT_EQ(rows[0].run, reports::RunId{7});
  EXPECT_EQ(rows[0].calls, 3);
  EXPECT_EQ(rows[0].sampled_steps, 3);
  EXPECT_DOUBLE_EQ(*rows[0].seconds, 3e-3);
  EXPECT_DOUBLE_EQ(*rows[1].seconds, 0.75e-3);
  EXPECT_EQ(rows[0].provenance, reports::Provenance::emulated) << "of a mode that the device emulates";
  EXPECT_EQ(faults.count(), 0);

  wanted = false;   // kernels are traced: nobody asks
  steps(topics, device, 34, 35);
  EXPECT_EQ(nodes.sampled_steps(), 3);
  EXPECT_EQ(device.events, 12);
}

}  // namespace
}  // namespace ulpscope::profiler
