// Steps launched before the last one has ended: the device goes from one to the next by itself (kernels/ops/step_flow.h), and the host
// reads how a step ended while the next one runs. What is launched is recorded the second time and repeated from then on.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "kernels/command_queue.h"
#include "kernels/device.h"
#include "kernels/ops/step_flow.h"
#include "kernels/tensor.h"

namespace ulpscope::engine {

class StepsAhead {
 public:
  /// What a step consists of. The functions only launch.
  struct Work {
    std::function<void()> passes;   ///< forward and backward pass of a micro-batch
    std::function<void()> check;    ///< unscale, finite flag, norm
    std::function<void()> update;
    std::vector<Tensor> inputs;     ///< device memory of the batch, contiguous
    Tensor loss;                    ///< one element, of a micro-batch; stays until the next
    StepState* state = nullptr;     ///< device memory
    std::int64_t micro_batches = 1;
    bool apply_anyway = false;      ///< as StepFlowParams
    bool latch = false;             ///< a step whose gradients are not finite halts those behind it
    bool latch_loss = false;        ///< one whose loss is not finite, too
  };
  struct Ended {
    StepState state;         ///< before the update
    bool committed = false;
    float loss = 0.0f;       ///< mean over the micro-batches
    std::optional<double> device_seconds;   ///< since the end of the step before; none for the first of a row
  };
  /// Fills host memory of the batch's shapes and formats.
  using FillBatch = std::function<void(std::int32_t micro_batch, std::span<const Tensor>)>;

  /// Allocates what is needed from then on. Device and queue must outlive it.
  StepsAhead(Device& device, CommandQueue& queue, Work work);
  /// Waits for what was launched.
  ~StepsAhead();
  StepsAhead(const StepsAhead&) = delete;
  StepsAhead& operator=(const StepsAhead&) = delete;

  /// How many steps may be launched and not collected.
  static constexpr int most_in_flight = 2;
  /// Its first step has none before it: the next that is launched.
  void begin_row() { first_of_row_ = launched_; }

  /// choices: what the step begins with; its micro_batch is set here.
  void launch(StepChoices choices, const FillBatch& fill);
  /// Waits for the oldest step that was not collected.
  Ended collect();
  std::int64_t in_flight() const { return launched_ - collected_; }

  std::int64_t device_bytes() const { return static_cast<std::int64_t>(flow_.bytes()); }
  bool latches() const { return work_.latch; }
  bool latches_loss() const { return work_.latch_loss; }

 private:
  /// Launches that are the same every time.
  class Repeated {
   public:
    explicit Repeated(std::function<void()> work) : work_(std::move(work)) {}
    void run(CommandQueue& queue);

   private:
    std::function<void()> work_;
    bool ran_ = false;   ///< libraries have chosen and allocated what they need
    std::unique_ptr<LaunchGraph> graph_;
  };
  /// What the host writes for a micro-batch, until the device has it.
  struct Staged {
    HostBuffer memory;
    StepChoices* choices = nullptr;
    std::vector<Tensor> inputs;
    std::unique_ptr<Event> copied;
  };
  /// What the device leaves of a step.
  struct Outcome {
    HostBuffer memory;
    StepFlow* flow = nullptr;
    std::byte* losses = nullptr;
    std::unique_ptr<Event> done;
  };
  const Outcome& outcome(std::int64_t step) const { return outcomes_[static_cast<std::size_t>(step % std::ssize(outcomes_))]; }
  StepFlow* flow() const { return static_cast<StepFlow*>(flow_.data()); }
  void call(const char* operation) const;
  Staged make_staged();
  Outcome make_outcome();

  Device& device_;
  CommandQueue& queue_;
  Work work_;
  Buffer flow_;
  StepFlowParams params_;
  std::size_t loss_bytes_;
  std::array<Staged, 2> staged_;
  std::array<Outcome, most_in_flight + 1> outcomes_;   ///< and the step before the oldest
  Repeated micro_batch_, end_;
  std::int64_t staged_count_ = 0, launched_ = 0, collected_ = 0, first_of_row_ = 0;
};

}  // namespace ulpscope::engine
