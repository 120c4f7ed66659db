// Reads a GPU's clocks, power, temperature and throttling about once a second while an experiment runs, in a thread of its own.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "profiler/probes/faults.h"
#include "profiler/trace/gpu_state.h"

namespace ulpscope::profiler {

/// Samples are handed to the sink while runs are trained; those of the timing phase, in which nothing is written, when it has ended.
class GpuWatch {
 public:
  /// source: null if there is none, then `problem` says why. The sink must outlive it, and may be called from another thread.
  GpuWatch(std::unique_ptr<GpuStateSource> source, std::string problem, Sink sink,
           std::chrono::milliseconds every = std::chrono::milliseconds(1000));
  ~GpuWatch();
  GpuWatch(const GpuWatch&) = delete;
  GpuWatch& operator=(const GpuWatch&) = delete;

  /// What samples belong to from now on: one that is under way belongs to nothing, and the first is taken at once. When they return, the sink
  /// has what was before. step() takes no lock that is held for long; it is called in every step.
  void begin_run(reports::RunId run, std::int64_t step);
  void step(std::int64_t iteration);
  void end_run();
  void begin_timing();
  void end_timing();

  /// Ends the thread and says in completeness what was refused, and how often the GPU was slowed down. Once.
  void finish();

 private:
  enum class Phase : std::uint8_t { none, training, timing };
  void work(std::chrono::milliseconds every);
  void sample(std::int64_t place);
  void move_to(Phase phase, std::optional<reports::RunId> run, std::int64_t step);

  std::unique_ptr<GpuStateSource> source_;
  std::string problem_;
  Sink sink_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();

  std::mutex handing_over_;   ///< held while a sample goes to the sink; taken before mutex_
  std::mutex mutex_;   ///< of all that follows
  std::condition_variable moved_;
  Phase phase_ = Phase::none;
  std::int64_t moves_ = 0;   ///< from one phase or run to another
  std::optional<reports::RunId> run_{};
  std::int64_t step_ = 0;
  bool ending_ = false, finished_ = false;
  std::vector<reports::DeviceSample> held_;   ///< of the timing phase
  std::int64_t samples_ = 0, known_ = 0, slowed_ = 0;
  std::vector<std::int64_t> reasons_;         ///< of the slowed samples
  Faults faults_;
  std::thread thread_;
};

/// Of the GPU with this PCI bus id (empty: unknown), through NVML.
std::unique_ptr<GpuWatch> watch_gpu(const std::string& pci_bus_id, const Sink& sink);

}  // namespace ulpscope::profiler
