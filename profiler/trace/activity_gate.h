// Who listens, for threads that may ask at any moment.
#pragma once

#include <atomic>

#include "profiler/trace/activity.h"

namespace ulpscope::profiler {

/// Lets calls through to a listener without a lock, so that a listener may call anything in the middle of one.
class ListenerGate {
 public:
  /// False: there is one already.
  bool open(ActivityListener& listener) {
    ActivityListener* nobody = nullptr;
    return listener_.compare_exchange_strong(nobody, &listener);
  }
  /// Returns when no call is under way any more.
  void close() noexcept {
    listener_.store(nullptr);
    for (int calls = calls_.load(); calls != 0; calls = calls_.load()) calls_.wait(calls);
  }
  /// False: nobody listens.
  template <class Call>
  bool with(Call&& call) {
    // Counted before it is looked at: close() either sees the count or has taken the listener away already.
    calls_.fetch_add(1);
    ActivityListener* const listener = listener_.load();
    if (listener != nullptr) call(*listener);
    calls_.fetch_sub(1);
    calls_.notify_all();
    return listener != nullptr;
  }

 private:
  std::atomic<ActivityListener*> listener_{nullptr};
  std::atomic<int> calls_{0};
};

}  // namespace ulpscope::profiler
