#include "engine/train/ahead.h"

#include <utility>

#include "engine/graph/initialise.h"
#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

constexpr std::size_t lines_of(std::size_t bytes) { return (bytes + 63) / 64 * 64; }

std::size_t bytes_of(const Tensor& tensor) {
  return static_cast<std::size_t>(tensor.shape.elements() * storage_bytes(tensor.format));
}

}  // namespace

void StepsAhead::Repeated::run(CommandQueue& queue) {
  if (!std::exchange(ran_, true)) return work_();
  if (graph_ == nullptr) graph_ = queue.capture(work_);
  graph_->launch();
}

StepsAhead::StepsAhead(Device& device, CommandQueue& queue, Work work)
    : device_(device),
      queue_(queue),
      work_(std::move(work)),
      flow_(device, sizeof(StepFlow)),
      params_{flow(), work_.loss.data, work_.loss.format, work_.apply_anyway, work_.latch, work_.latch_loss},
      loss_bytes_(bytes_of(work_.loss)),
      staged_{make_staged(), make_staged()},
      outcomes_{make_outcome(), make_outcome(), make_outcome()},
      micro_batch_([this] {
        call("begin_step");
        work_.passes();
      }),
      end_([this] {
        work_.check();
        call("settle_step");
        work_.update();
      }) {}

StepsAhead::~StepsAhead() {
  try {
    device_.synchronize();   // the queue reads and writes what goes now
  } catch (const std::exception&) {   // it has failed: nothing is read or written any more
  }
}

StepsAhead::Staged StepsAhead::make_staged() {
  std::size_t bytes = lines_of(sizeof(StepChoices));
  for (const Tensor& input : work_.inputs) bytes += lines_of(bytes_of(input));
  Staged staged{HostBuffer(queue_, bytes), nullptr, {}, queue_.make_event()};
  auto* next = static_cast<std::byte*>(staged.memory.data());
  staged.choices = new (next) StepChoices;
  next += lines_of(sizeof(StepChoices));
  for (const Tensor& input : work_.inputs) {
    staged.inputs.emplace_back(next, input.format, input.shape);
    next += lines_of(bytes_of(input));
  }
  return staged;
}

StepsAhead::Outcome StepsAhead::make_outcome() {
  const std::size_t losses = static_cast<std::size_t>(work_.micro_batches) * loss_bytes_;
  Outcome outcome{HostBuffer(queue_, lines_of(sizeof(StepFlow)) + losses), nullptr, nullptr, queue_.make_event()};
  auto* memory = static_cast<std::byte*>(outcome.memory.data());
  outcome.flow = new (memory) StepFlow;
  outcome.losses = memory + lines_of(sizeof(StepFlow));
  return outcome;
}

void StepsAhead::call(const char* operation) const {
  Launch launch;
  launch.params = &params_;
  launch.state = work_.state;
  launch.stream = device_.stream();
  device_.kernels().find(operation, Format::fp32).run(launch);
}

void StepsAhead::launch(StepChoices choices, const FillBatch& fill) {
  if (in_flight() == most_in_flight) throw Error("a step is launched before those in flight are collected");
  const Outcome& to = outcome(launched_);
  for (std::int64_t m = 0; m < work_.micro_batches; ++m) {
    const Staged& staged = staged_[static_cast<std::size_t>(staged_count_++ % std::ssize(staged_))];
    queue_.wait(*staged.copied);   // the device has what was in it
    choices.micro_batch = static_cast<std::int32_t>(m);
    *staged.choices = choices;
    fill(choices.micro_batch, staged.inputs);
    for (std::size_t i = 0; i < work_.inputs.size(); ++i)
      queue_.copy_to_device_later(work_.inputs[i].data, staged.inputs[i].data, bytes_of(work_.inputs[i]));
    queue_.copy_to_device_later(&flow()->choices, staged.choices, sizeof(StepChoices));
    queue_.record(*staged.copied);
    micro_batch_.run(queue_);
    queue_.copy_to_host_later(to.losses + static_cast<std::size_t>(m) * loss_bytes_, work_.loss.data, loss_bytes_);
  }
  end_.run(queue_);
  queue_.copy_to_host_later(to.flow, flow(), sizeof(StepFlow));
  queue_.record(*to.done);
  ++launched_;
}

StepsAhead::Ended StepsAhead::collect() {
  if (in_flight() == 0) throw Error("no step is in flight");
  const std::int64_t step = collected_++;
  const Outcome& from = outcome(step);
  queue_.wait(*from.done);
  double sum = 0.0;
  for (std::int64_t m = 0; m < work_.micro_batches; ++m) {
    float loss = 0.0f;
    load(work_.loss.format, from.losses + static_cast<std::size_t>(m) * loss_bytes_, {&loss, 1});
    sum += static_cast<double>(loss);
  }
  Ended ended{from.flow->ended, from.flow->committed != 0, static_cast<float>(sum / static_cast<double>(work_.micro_batches)), std::nullopt};
  if (step > first_of_row_) ended.device_seconds = 1e-3 * device_.milliseconds_between(*outcome(step - 1).done, *from.done);
  return ended;
}

}  // namespace ulpscope::engine
