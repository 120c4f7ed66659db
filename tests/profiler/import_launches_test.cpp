// Which call of a trace launched what: calls are offered in any order, and none is kept.
#include <gtest/gtest.h>

#include <algorithm>

#include "profiler/import/trace_launches.h"

namespace ulpscope::profiler {
namespace {

constexpr std::int32_t own = 7, other = 8, unknown = -1;

/// Work with these correlations and processes, at 10, 20, 30 …
Trace trace_of(const std::vector<std::pair<std::int64_t, std::int32_t>>& work) {
  Trace trace;
  for (const auto& [correlation, process] : work)
    trace.work.push_back({.start = 10 * (std::ssize(trace.work) + 1), .duration = 1, .correlation = correlation, .shape = trace.shapes.id({.name = trace.names.id("k"), .process = process})});
  return trace;
}

/// When each piece of work was launched, in the order of time; -1: unknown.
std::vector<std::int64_t> launched(Trace trace, std::vector<TraceLaunch> calls) {
  std::vector<std::int64_t> first;
  for (int turn = 0; turn < 2; ++turn) {
    LaunchMatcher matcher(trace);
    for (const TraceLaunch& call : calls) matcher.offer(call);
    matcher.finish();
    std::sort(trace.work.begin(), trace.work.end(), [](const TraceWork& a, const TraceWork& b) { return a.start < b.start; });
    std::vector<std::int64_t> at;
    for (TraceWork& work : trace.work) {
      at.push_back(work.launched() ? work.launched_at : -1);
      work.caller = TraceWork::no_caller;
    }
    if (turn == 0) first = at;
    EXPECT_EQ(at, first) << "the order of the calls does not matter";
    std::reverse(calls.begin(), calls.end());
  }
  return first;
}

using At = std::vector<std::int64_t>;

TEST(Launches, ByCorrelationAndOfSeveralTheFirst) {
  EXPECT_EQ(launched(trace_of({{5, own}, {6, own}, {5, own}, {9, own}}), {{6, 300, 1, own}, {5, 200, 1, own}, {5, 100, 2, own}, {7, 50, 1, own}}), (At{100, 300, 100, -1}));
  EXPECT_EQ(launched(trace_of({{-1, own}, {5, own}}), {{-1, 100, 1, own}}), (At{-1, -1})) << "without a correlation nothing is known";
  EXPECT_EQ(launched(trace_of({}), {{5, 100, 1, own}}), At{});
}

TEST(Launches, TheOwnProcessGoesBeforeAnUnknownOne) {
  EXPECT_EQ(launched(trace_of({{5, own}}), {{5, 100, 1, unknown}, {5, 200, 1, own}}), At{200});
  EXPECT_EQ(launched(trace_of({{5, own}}), {{5, 100, 1, unknown}, {5, 50, 1, unknown}}), At{50});
  // Of another process than the run's nothing counts.
  EXPECT_EQ(launched(trace_of({{5, own}, {6, own}}), {{5, 100, 1, other}, {6, 100, 1, own}}), (At{-1, 100}));
}

TEST(Launches, WhereTheProcessIsUnknownOneAloneMayHaveTheCorrelation) {
  EXPECT_EQ(launched(trace_of({{5, unknown}, {6, unknown}}), {{5, 100, 1, own}, {5, 50, 1, own}, {6, 100, 1, own}, {6, 200, 1, other}}), (At{50, -1}));
  EXPECT_EQ(launched(trace_of({{5, own}, {5, unknown}, {6, own}}), {{5, 100, 1, own}, {6, 70, 1, own}}), (At{100, 100, 70})) << "both kinds of work in one trace";
}

TEST(Launches, WorkOfOthersIsTakenOut) {
  Trace trace = trace_of({{5, own}, {6, own}, {5, other}});
  keep_one(trace);
  EXPECT_EQ(trace.work.size(), 2u);
  EXPECT_EQ(trace.kept->others_work, 1);
  EXPECT_EQ(trace.kept->process, own);
  keep_one(trace);
  EXPECT_EQ(trace.kept->others_work, 1) << "once";
}

}  // namespace
}  // namespace ulpscope::profiler
