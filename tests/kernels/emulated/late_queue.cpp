#include "tests/kernels/emulated/late_queue.h"

#include <cstdlib>
#include <cstring>
#include <utility>

#include "kernels/error.h"

namespace ulpscope::test {
namespace {

struct Point final : Event {
  std::int64_t at = 0;
  std::int64_t passed = -1;   ///< how much was done before it
};

}  // namespace

class LateGraph final : public LaunchGraph {
 public:
  LateGraph(LateQueue& queue, std::vector<std::function<void()>> work) : queue_(queue), work_(std::move(work)) {}
  void launch() override {
    for (const auto& work : work_) queue_.put(work);
  }

 private:
  LateQueue& queue_;
  std::vector<std::function<void()>> work_;
};

LateQueue::LateQueue() { cuda::emulated_queue = this; }
LateQueue::~LateQueue() { cuda::emulated_queue = nullptr; }

void* LateQueue::allocate_host(std::size_t bytes) {
  void* memory = std::malloc(bytes);
  if (memory == nullptr) throw Error("emulated device: no host memory");
  std::memset(memory, 0xff, bytes);
  return memory;
}
void LateQueue::release_host(void* memory) noexcept { std::free(memory); }

void LateQueue::copy_to_device_later(void* device_memory, const void* host_memory, std::size_t bytes) {
  if (captured_ != nullptr) throw Error("emulated device: a copy within a capture");
  put([=] {
    const cuda::EmulatedAccess open;
    std::memcpy(device_memory, host_memory, bytes);
  });
}
void LateQueue::copy_to_host_later(void* host_memory, const void* device_memory, std::size_t bytes) {
  copy_to_device_later(host_memory, device_memory, bytes);
}

std::unique_ptr<Event> LateQueue::make_event() { return std::make_unique<Point>(); }
void LateQueue::record(Event& event) {
  auto& point = dynamic_cast<Point&>(event);
  put([this, &point] { point.passed = done_; });
  point.at = put_;
}
double LateQueue::milliseconds_between(const Event& from, const Event& to) const {
  const auto &begin = dynamic_cast<const Point&>(from), &end = dynamic_cast<const Point&>(to);
  if (begin.at > done_ || end.at > done_ || begin.passed < 0 || end.passed < 0) throw Error("emulated device: time of an event that has not passed");
  return static_cast<double>(end.passed - begin.passed);
}
void LateQueue::wait(const Event& event) { run_until(dynamic_cast<const Point&>(event).at); }

std::unique_ptr<LaunchGraph> LateQueue::capture(const std::function<void()>& work) {
  std::vector<Work> captured;
  captured_ = &captured;
  try {
    work();
  } catch (...) {
    captured_ = nullptr;
    throw;
  }
  captured_ = nullptr;
  return std::make_unique<LateGraph>(*this, std::move(captured));
}

void LateQueue::put(Work work) {
  if (captured_ != nullptr) return captured_->push_back(std::move(work));
  waiting_.push_back(std::move(work));
  ++put_;
}

void LateQueue::run_until(std::int64_t count) {
  if (captured_ != nullptr) throw Error("emulated device: the host waits within a capture");
  while (done_ < count) {
    const Work work = std::move(waiting_.front());
    waiting_.pop_front();
    ++done_;
    work();
  }
}

void LateQueue::finish() { run_until(put_); }

}  // namespace ulpscope::test
