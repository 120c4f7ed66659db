// CUPTI as a test wants it: launches that leave records, or do not; refusals; calls into the listener from anywhere.
#pragma once

#include <algorithm>
#include <cstring>
#include <deque>
#include <functional>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "profiler/trace/activity.h"
#include "profiler/trace/activity_gate.h"

namespace ulpscope::profiler {

/// A launch as a test forges it.
struct Forged {
  std::uint32_t correlation = 0;
  std::uint64_t start = 0, end = 0;
  std::uint32_t stream = 7;
  std::uint64_t graph_node = 0;
  std::uint32_t inner = 0;      ///< id of the driver's call inside the runtime's
  bool record = true;           ///< false: it leaves none
  bool heard = true;            ///< false: launch_begin and launch_end are not called
};

class ForgedSource : public ActivitySource {
 public:
  // What a test sets.
  int attach_code = 0, count_code = 0, flush_code = 0, push_code = 0, now_code = 0;
  std::map<ActivityKind, int> enable_codes;
  std::uint64_t clock = 1000;
  std::function<void(const std::string&)> on_call;   ///< in the middle of every call
  bool own_thread = true;                            ///< buffers are completed by another thread

  // What it saw.
  std::vector<ActivityKind> enabled, disabled;
  std::vector<std::uint64_t> stack;
  bool attached = false, counting = false;
  std::size_t lost = 0;

  bool on(ActivityKind kind) const {
    return std::count(enabled.begin(), enabled.end(), kind) > std::count(disabled.begin(), disabled.end(), kind);
  }

  // What a test makes the GPU do.
  void launch(const Forged& forged) {
    if (forged.heard && counting) gate.with([&](ActivityListener& l) { l.launch_begin(forged.correlation); });
    if (forged.inner != 0) gate.with([&](ActivityListener& l) { l.launch_begin(forged.inner); });
    if (!stack.empty() && on(ActivityKind::external_correlation))
      external(stack.back(), forged.inner != 0 ? forged.inner : forged.correlation);
    if (forged.inner != 0) gate.with([&](ActivityListener& l) { l.launch_end(false); });
    if (forged.heard && counting) gate.with([&](ActivityListener& l) { l.launch_end(false); });
    if (forged.record && on(ActivityKind::kernel)) kernel(forged);
  }
  virtual void kernel(const Forged& f) {
    KernelActivity k;
    k.correlation = f.correlation;
    k.start = f.start;
    k.end = f.end;
    k.stream = f.stream;
    k.graph_node = f.graph_node;
    k.name = "kernel";   // one for all: nothing may be found by it
    k.grid = {4, 2, 1};
    k.block = {256, 1, 1};
    k.registers = 40;
    k.static_shared_bytes = 16;
    k.dynamic_shared_bytes = 1024;
    ActivityBatch batch;
    batch.kernels.push_back(k);
    emit(std::move(batch));
  }
  virtual void external(std::uint64_t id, std::uint32_t correlation) {
    ActivityBatch batch;
    batch.externals.push_back({id, correlation});
    emit(std::move(batch));
  }
  void emit(ActivityBatch batch) {
    const std::size_t index = batches_.size();
    batches_.push_back(std::move(batch));
    emit_bytes(std::as_bytes(std::span(&index, 1)));
  }
  void emit_bytes(std::span<const std::byte> record) {
    if (used_ + record.size() > buffer_.size()) complete();
    if (buffer_.empty()) gate.with([&](ActivityListener& l) { buffer_ = l.buffer_requested(); });
    if (buffer_.size() < record.size()) {
      ++lost;
      return;
    }
    std::memcpy(buffer_.data() + used_, record.data(), record.size());
    used_ += record.size();
  }

  int attach(ActivityListener& listener) override {
    said("attach");
    if (attach_code == 0) attached = gate.open(listener);
    return attach_code;
  }
  void detach() noexcept override {
    gate.close();
    attached = false;
  }
  int enable(ActivityKind kind) override {
    said("enable");
    if (enable_codes.contains(kind)) return enable_codes[kind];
    enabled.push_back(kind);
    return 0;
  }
  int disable(ActivityKind kind) override {
    said("disable");
    disabled.push_back(kind);
    return 0;
  }
  int count_launches(bool on) override {
    said("count_launches");
    counting = on && count_code == 0;
    return count_code;
  }
  int flush() override {
    said("flush");
    complete();
    return flush_code;
  }
  int push(std::uint64_t id) override {
    said("push");
    if (push_code == 0) stack.push_back(id);
    return push_code;
  }
  int pop(std::uint64_t& id) override {
    said("pop");
    if (stack.empty()) return 18;
    id = stack.back();
    stack.pop_back();
    return 0;
  }
  int dropped(std::size_t& records) override {
    said("dropped");
    records = std::exchange(lost, 0);
    return 0;
  }
  int now(std::uint64_t& nanoseconds) override {
    said("now");
    nanoseconds = clock;
    return now_code;
  }
  void read(const std::byte* buffer, std::size_t valid, ActivityBatch& into) override {
    said("read");
    for (std::size_t at = 0; at + sizeof(std::size_t) <= valid; at += sizeof(std::size_t)) {
      std::size_t index = 0;
      std::memcpy(&index, buffer + at, sizeof index);
      into.append(ActivityBatch(batches_[index]));
    }
  }
  std::string error_text(int code) const override { return code == 12345 ? "words of\nCUPTI" : ""; }
  std::string version() const override { return "forged"; }

  /// Hands the buffer back, as CUPTI does: from a thread of its own.
  void complete() {
    if (buffer_.empty()) return;
    const std::span<std::byte> full = std::exchange(buffer_, {});
    const std::size_t valid = std::exchange(used_, 0);
    const auto hand_back = [this, full, valid] {
      gate.with([&](ActivityListener& l) { l.buffer_completed(full.data(), valid); });
    };
    if (own_thread)
      std::thread(hand_back).join();
    else
      hand_back();
  }

  ListenerGate gate;

 protected:
  void said(const char* call) {
    if (on_call) on_call(call);
  }

 private:
  std::deque<ActivityBatch> batches_;
  std::span<std::byte> buffer_;
  std::size_t used_ = 0;
};

}  // namespace ulpscope::profiler
