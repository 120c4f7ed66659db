// The queue of the emulated device. Nothing is done before somebody waits for it, so that whoever reads too early, writes too early or
// lets go of memory too early is found out.
#pragma once

#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include "kernels/command_queue.h"
#include "kernels/cuda/grid.h"

namespace ulpscope::test {

class LateQueue final : public CommandQueue, cuda::EmulatedQueue {
 public:
  LateQueue();
  ~LateQueue() override;
  LateQueue(const LateQueue&) = delete;
  LateQueue& operator=(const LateQueue&) = delete;

  void* allocate_host(std::size_t bytes) override;
  void release_host(void* memory) noexcept override;
  void copy_to_device_later(void* device_memory, const void* host_memory, std::size_t bytes) override;
  void copy_to_host_later(void* host_memory, const void* device_memory, std::size_t bytes) override;
  std::unique_ptr<Event> make_event() override;
  void record(Event& event) override;
  void wait(const Event& event) override;
  std::unique_ptr<LaunchGraph> capture(const std::function<void()>& work) override;

  /// A millisecond for each piece of work in between. Throws Error for an event that has not passed.
  double milliseconds_between(const Event& from, const Event& to) const;
  /// Throws Error within a capture.
  void finish() override;

 private:
  friend class LateGraph;
  using Work = std::function<void()>;
  void put(Work work) override;
  void run_until(std::int64_t count);

  std::deque<Work> waiting_;
  std::int64_t put_ = 0, done_ = 0;
  std::vector<Work>* captured_ = nullptr;   ///< of the capture that goes on
};

}  // namespace ulpscope::test
