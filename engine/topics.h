// What the engine announces. A listener subscribes to what it needs; a topic without listeners costs one branch.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "engine/graph/ids.h"
#include "kernels/scaling/loss_scaler.h"

namespace ulpscope {
struct RoundingCounts;
}

namespace ulpscope::engine {

/// What a topic knows of a listener.
struct Listening {
  bool paused = false;
};

/// Ends the subscription when it goes out of scope. One owner: it can be moved, not copied.
class Subscription {
 public:
  Subscription() = default;
  explicit Subscription(std::shared_ptr<Listening> held) : held_(std::move(held)) {}
  Subscription(Subscription&&) noexcept = default;
  Subscription& operator=(Subscription&&) noexcept = default;
  Subscription(const Subscription&) = delete;
  Subscription& operator=(const Subscription&) = delete;
  void end() { held_.reset(); }
  /// The listener hears nothing until resume(). Neither allocates, so both may be called in the middle of a step.
  void pause() { set_paused(true); }
  void resume() { set_paused(false); }

 private:
  void set_paused(bool paused) {
    if (held_) held_->paused = paused;
  }
  std::shared_ptr<Listening> held_;
};

/// Listeners may subscribe, end, pause and resume any subscription (their own too) and publish while an event is announced: one that
/// subscribes during an event hears the next one; one that ended or pauses hears nothing more. publish() allocates nothing.
template <class Event>
class Topic {
 public:
  using Listener = std::function<void(const Event&)>;

  [[nodiscard]] Subscription subscribe(Listener listener) {
    auto held = std::make_shared<Held>();
    held->listener = std::move(listener);
    listeners_.push_back(held);
    return Subscription(held);
  }
  /// Nobody would hear an event.
  bool silent() const {
    return std::all_of(listeners_.begin(), listeners_.end(), [](const auto& listener) {
      const auto held = listener.lock();
      return !held || held->paused;
    });
  }
  void publish(const Event& event) {
    if (listeners_.empty()) return;
    const Depth depth(*this);
    const std::size_t count = listeners_.size();
    for (std::size_t i = 0; i < count; ++i)
      if (const auto held = listeners_[i].lock(); held && !held->paused) held->listener(event);
  }

 private:
  struct Held : Listening {
    Listener listener;
  };
  /// Positions stay valid while any event is announced: what has ended is removed after the outermost one.
  class Depth {
   public:
    explicit Depth(Topic& topic) : topic_(topic) { ++topic_.depth_; }
    ~Depth() {
      if (--topic_.depth_ == 0) std::erase_if(topic_.listeners_, [](const auto& l) { return l.expired(); });
    }
    Depth(const Depth&) = delete;
    Depth& operator=(const Depth&) = delete;

   private:
    Topic& topic_;
  };

  std::vector<std::weak_ptr<Held>> listeners_;
  int depth_ = 0;
};

/// What came of running a step again under observation.
enum class Replay : std::uint8_t {
  none,        ///< the step was not run again
  same,        ///< the same loss, gradient norm and finite flag, to the bit
  differs,     ///< not so: the device does not compute the same twice
  no_memory,   ///< there was no memory to observe it with
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
  bool stopped = false;           ///< not finite in a mode without a scaler, or the scaler gave up: training ends here
  std::int64_t tokens = 0;        ///< target tokens (or rows) of the batch
  scaling::ScaleEvent scale_event = scaling::ScaleEvent::unchanged;
  Replay replay = Replay::none;
  /// Between events on the device, from the end of the step before to the end of this one: of steps launched ahead (Trainer::run_ahead).
  std::optional<double> device_seconds = std::nullopt;
};

struct StepBegin {
  std::int64_t iteration = 0;
  bool observed = false;          ///< slower than others
};
/// Which execution of the program an event belongs to.
struct Execution {
  std::int64_t iteration = 0;
  std::int32_t micro_batch = 0;
  std::int32_t attempt = 0;       ///< 0: the first execution of the step, 1: its replay, 2: a rehearsal, after which nothing is taken
};
/// A node is about to run or has run.
struct NodeEvent {
  NodeId node;
  std::int64_t iteration = 0;
  std::int32_t micro_batch = 0;
  std::int32_t attempt = 0;       ///< as in Execution
};
/// An observed output of a node: what rounding did to it; or a value that the step reads: what it holds.
struct TensorEvent {
  NodeId node;                    ///< none: no node of the step computes the value
  ValueId value;                  ///< none: a sum inside the node, see `inner`
  std::int64_t iteration = 0;
  std::int32_t micro_batch = 0;
  std::int32_t attempt = 0;       ///< as in Execution
  const RoundingCounts* counts = nullptr;   ///< perhaps the range alone (range_only); valid during the callback only: copy what is to be kept
  bool inner = false;             ///< what a sum kept in a narrow format lost inside the node: Launch::inner
};

struct Topics {
  Topic<StepBegin> step_begin;
  Topic<StepResult> step_end;
  Topic<NodeEvent> node_begin;
  Topic<NodeEvent> node_end;
  Topic<TensorEvent> tensor;
};

}  // namespace ulpscope::engine
