// Made-up runs in a file of their own, compared.
#pragma once

#include <string>
#include <vector>

#include "kernels/error.h"
#include "reports/analysis/compare.h"
#include "tests/reports/made_up_runs.h"
#include "tests/reports/scratch.h"

namespace ulpscope::reports {

class ComparedRuns : public Scratch {
 protected:
  Comparison of(const std::vector<MadeUpRun>& runs) {
    const RunFileReader reader = make_run_file(in("a.ulp"), runs);
    return compare({&reader});
  }
  static const ModeResult& mode(const Comparison& comparison, const std::string& name) {
    for (const ModeResult& m : comparison.modes)
      if (m.mode == name) return m;
    throw Error("no mode " + name);
  }
  static std::vector<std::string> order(const Comparison& comparison) {
    std::vector<std::string> names;
    for (const ModeResult& m : comparison.modes) names.push_back(m.tag + m.mode);
    return names;
  }
};

}  // namespace ulpscope::reports
