// CUPTI's range profiler as a test wants it: counts by range, refusals at any call, and what it was asked.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "profiler/trace/counters.h"

namespace ulpscope::profiler {

class ForgedCounters : public CounterSource {
 public:
  // What a test sets.
  std::map<std::string, int> codes;               ///< by call: "open", "begin", "end", "push", "pop", "read"
  std::size_t passes = 1;
  std::string chip = "GH100", metric = tensor_pipe_metrics[1];
  double percent = 40.0;                          ///< of every range that nothing else is said of
  std::map<std::uint64_t, double> percent_of;     ///< by id
  std::vector<std::uint64_t> silent;              ///< ids without an answer
  std::vector<RangeCount> more;                   ///< answers that nobody asked for
  std::size_t lost = 0;

  // What it saw.
  std::vector<std::string> calls;
  std::vector<std::uint64_t> pushed;              ///< since begin()
  std::size_t room = 0, opened = 0, closed = 0;
  bool is_open = false, started = false, in_range = false;

  std::size_t count(const std::string& call) const {
    std::size_t n = 0;
    for (const std::string& c : calls) n += c == call ? 1 : 0;
    return n;
  }

  CounterPlan plan(const std::string&, std::span<const char* const>) override { return {}; }
  CounterPlan open(std::span<const char* const>, std::size_t ranges) override {
    CounterPlan plan;
    plan.code = said("open");
    plan.chip = chip;
    if (plan.code != 0) {
      plan.call = "cuptiProfilerGetCounterAvailability";
      return plan;
    }
    plan.metric = metric;
    plan.passes = passes;
    room = ranges;
    is_open = passes == 1;
    opened += is_open ? 1 : 0;
    return plan;
  }
  void close() noexcept override {
    if (is_open) calls.emplace_back("close");
    closed += is_open ? 1 : 0;
    is_open = started = in_range = false;
  }
  int begin() override {
    pushed.clear();
    const int code = said("begin");
    started = code == 0;
    return code;
  }
  int end() override {
    started = false;
    return said("end");
  }
  int push(std::uint64_t id) override {
    if (!started || in_range || pushed.size() >= room) return 7;   // as CUPTI would: ranges do not nest here
    const int code = said("push");
    if (code != 0) return code;
    in_range = true;
    pushed.push_back(id);
    return 0;
  }
  int pop() override {
    if (!in_range) return 7;
    in_range = false;
    return said("pop");
  }
  int read(std::vector<RangeCount>& counts, std::size_t& dropped) override {
    if (const int code = said("read"); code != 0) return code;
    for (const std::uint64_t id : pushed) {
      bool answers = true;
      for (const std::uint64_t s : silent) answers = answers && s != id;
      if (answers) counts.push_back({id, percent_of.contains(id) ? percent_of[id] : percent});
    }
    counts.insert(counts.end(), more.begin(), more.end());
    dropped = lost;
    return 0;
  }
  std::string error_text(int code) const override { return code == 12345 ? "words of\nCUPTI" : ""; }

 private:
  int said(const std::string& call) {
    calls.push_back(call);
    return codes.contains(call) ? codes[call] : 0;
  }
};

}  // namespace ulpscope::profiler
