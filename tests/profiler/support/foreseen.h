// What is foreseen of a small graph, and what a run of the same file then shows.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "profiler/predict/predict.h"
#include "reports/analysis/diagnosis/diagnosis.h"
#include "tests/profiler/support/scratch.h"

namespace ulpscope::profiler {

/// Of a cause or of what is foreseen; NaN: it has none of that name.
template <class Finding>
double value(const Finding& finding, const std::string& key) {
  for (const reports::Fact& fact : finding.facts)
    if (fact.key == key) return fact.value.value_or(NAN);
  return NAN;
}

struct Told {
  reports::ModePrediction before;
  reports::RunDiagnosis after;

  std::vector<reports::Foreseen> all(const std::string& kind) const {
    std::vector<reports::Foreseen> found;
    for (const reports::Foreseen& f : before.foreseen)
      if (f.kind == kind) found.push_back(f);
    return found;
  }
  reports::Foreseen foreseen(const std::string& kind, const std::string& node) const {
    for (const reports::Foreseen& f : before.foreseen)
      if (f.kind == kind && f.node == node) return f;
    ADD_FAILURE() << kind << " at " << node << " is not foreseen: " << before.verdict;
    return {};
  }
  reports::Cause cause(const std::string& kind, const std::string& node) const {
    for (const reports::Cause& c : after.causes)
      if (reports::name(c.kind) == kind && c.node == node) return c;
    ADD_FAILURE() << kind << " at " << node << " is not found: " << after.verdict;
    return {};
  }
  void expect_both(const char* forecast, reports::Outcome outcome) const {
    EXPECT_EQ(reports::name(before.forecast), forecast) << before.verdict;
    EXPECT_EQ(after.outcome, outcome) << after.verdict;
  }
};

class ForeseenGraph : public ::testing::Test {
 protected:
  /// train: in 3 steps, where it does not say how many.
  Told of(const std::string& mode, const std::string& nodes, const std::string& train, const std::string& more = "") {
    Settings settings;
    settings.add_text(fmt::format("model = {{kind = \"graph\", loss = \"loss\"}}\ntrain = {{{}weight_decay = 0.0, schedule = \"constant\", {}}}\n"
                                  "run = {{modes = [\"{}\"]}}\nobserve = {{every = 1}}\n{}\nnode = [\n{}\n]\n",
                                  train.find("steps") == std::string::npos ? "steps = 3, " : "", train, mode, more, nodes),
                      "made-up.toml");
    Told told;
    for (reports::ModePrediction& m : predict(settings, mode, std::nullopt).modes)
      if (m.mode == mode) told.before = std::move(m);
    record_experiment(settings.build(), scratch_("a.ulp"));
    told.after = reports::diagnose(reports::RunFileReader(scratch_("a.ulp"))).runs.at(0);
    return told;
  }
  /// The gradient of each weight is its x.
  Told slopes(const std::string& mode, const std::string& x, const std::string& train) {
    return of(mode, "{name = \"x\", op = \"input\", values = [" + x + "]}, {name = \"w\", op = \"parameter\", shape = [1, " +
                        std::to_string(1 + std::count(x.begin(), x.end(), ',')) + "], init = 0.25},\n"
                        "{name = \"y\", op = \"linear\", inputs = [\"x\", \"w\"]}, {name = \"loss\", op = \"sum\", inputs = \"y\"}",
              train);
  }
  ScratchFolder scratch_;
};

}  // namespace ulpscope::profiler
