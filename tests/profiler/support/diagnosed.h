// A made-up experiment, recorded and diagnosed.
#pragma once

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <string>
#include <vector>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "tests/profiler/support/scratch.h"

namespace ulpscope::profiler {

class DiagnosisTrial : public ::testing::Test {
 protected:
  /// train and more: keys and tables of the experiment file; nodes: the graph, whose loss is named so.
  std::vector<reports::RunDiagnosis> all(const std::string& modes, const std::string& train, const std::string& nodes, const std::string& more = "") {
    Settings settings;
    settings.add_text(fmt::format("model = {{kind = \"graph\", loss = \"loss\"}}\ntrain = {{optimizer = \"sgd\", momentum = 0.0, weight_decay = 0.0, {}}}\n"
                                  "run = {{modes = [{}], timing_steps = 0}}\n{}\nnode = [\n{}\n]\n",
                                  train, modes, more, nodes),
                      "made-up.toml");
    record_experiment(settings.build(), scratch_("a.ulp"));
    return reports::diagnose(reports::RunFileReader(scratch_("a.ulp"))).runs;
  }
  static const reports::Cause* find(const reports::RunDiagnosis& run, reports::Kind kind, const std::string& node) {
    for (const reports::Cause& c : run.causes)
      if (c.kind == kind && c.node == node) return &c;
    return nullptr;
  }
  static double value(const reports::Cause& cause, const std::string& key) {
    for (const reports::Fact& fact : cause.facts)
      if (fact.key == key) return fact.value.value_or(NAN);
    return NAN;
  }
  ScratchFolder scratch_;
};

}  // namespace ulpscope::profiler
