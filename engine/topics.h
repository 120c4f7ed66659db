// What the engine announces. A listener subscribes to what it needs; a topic without listeners costs one branch.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "engine/graph/ids.h"
#include "kernels/scaling/loss_scaler.h"

namespace ulpscope {
struct RoundingCounts;
}

namespace ulpscope::engine {

/// Ends the subscription when it goes out of scope.
class Subscription {
 public:
  Subscription() = default;
  explicit Subscription(std::shared_ptr<void> held) : held_(std::move(held)) {}
  void end() { held_.reset(); }

 private:
  std::shared_ptr<void> held_;
};

template <class Event>
class Topic {
 public:
  using Listener = std::function<void(const Event&)>;

  [[nodiscard]] Subscription subscribe(Listener listener) {
    auto held = std::make_shared<Listener>(std::move(listener));
    listeners_.push_back(held);
    return Subscription(held);
  }
  bool silent() const { return listeners_.empty(); }
  void publish(const Event& event) {
    if (listeners_.empty()) return;
    for (std::size_t i = 0; i < listeners_.size();) {
      if (const auto held = listeners_[i].lock()) {
        (*held)(event);
        ++i;
      } else {
        listeners_.erase(listeners_.begin() + static_cast<std::ptrdiff_t>(i));
      }
    }
  }

 private:
  std::vector<std::weak_ptr<Listener>> listeners_;
};

/// What a training step did. Published after its commit (or skip).
struct StepResult {
  std::int64_t iteration = 0;     ///< counts every step from 0
  std::int64_t applied = 0;       ///< committed steps so far, this one included
  float loss = 0.0f;              ///< unscaled, as computed: may be NaN or infinite
  float loss_scale = 1.0f;        ///< S during the step
  float next_loss_scale = 1.0f;   ///< S for the next step
  float learning_rate = 0.0f;
  float gradient_norm = 0.0f;     ///< of the unscaled gradients, before clipping
  float clip_coefficient = 1.0f;
  bool finite = true;             ///< every unscaled parameter gradient was finite
  bool skipped = false;           ///< nothing was committed
  bool stopped = false;           ///< not finite in a mode without a scaler: training ends here
  std::int64_t tokens = 0;        ///< target tokens (or rows) of the batch
  scaling::ScaleEvent scale_event = scaling::ScaleEvent::unchanged;
};

struct StepBegin {
  std::int64_t iteration = 0;
};
/// A node is about to run or has run.
struct NodeEvent {
  NodeId node;
  std::int64_t iteration = 0;
};
/// An observed output of a node: what rounding did to it.
struct TensorEvent {
  NodeId node;
  ValueId value;
  std::int64_t iteration = 0;
  const RoundingCounts* counts = nullptr;
};

struct Topics {
  Topic<StepBegin> step_begin;
  Topic<StepResult> step_end;
  Topic<NodeEvent> node_begin;
  Topic<NodeEvent> node_end;
  Topic<TensorEvent> tensor;
};

}  // namespace ulpscope::engine
