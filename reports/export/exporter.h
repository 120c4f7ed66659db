// Forms of output: each writes every section, from the same struct.
//
// To add a form: one class here, one line in exporter.cpp. To add a section: one struct in analysis/, one function
// here, and the compiler names the forms that still lack it.
#pragma once

#include <memory>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "reports/analysis/advice.h"
#include "reports/analysis/break_even.h"
#include "reports/analysis/check.h"
#include "reports/analysis/compare.h"
#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/mends.h"
#include "reports/analysis/scale_replay.h"
#include "reports/analysis/prediction.h"
#include "reports/analysis/summary.h"
#include "reports/analysis/sweep.h"
#include "reports/analysis/time.h"

namespace ulpscope::reports {

class Exporter {
 public:
  virtual ~Exporter() = default;
  virtual void write(const Comparison& comparison, std::ostream& out) const = 0;
  virtual void write(const Summary& summary, std::ostream& out) const = 0;
  virtual void write(const CheckResult& result, std::ostream& out) const = 0;
  virtual void write(const Diagnosis& diagnosis, std::ostream& out) const = 0;
  virtual void write(const Prediction& prediction, std::ostream& out) const = 0;
  virtual void write(const Mends& mends, std::ostream& out) const = 0;
  virtual void write(const ScaleReplay& replay, std::ostream& out) const = 0;
  virtual void write(const TimeReport& report, std::ostream& out) const = 0;
  virtual void write(const BreakEven& result, std::ostream& out) const = 0;
  virtual void write(const Sweep& sweep, std::ostream& out) const = 0;
  virtual void write(const Advice& advice, std::ostream& out) const = 0;
};

/// "text", "json" or "csv". Throws UsageError listing the forms there are.
std::unique_ptr<Exporter> make_exporter(std::string_view form);
const std::vector<std::string>& exporter_names();

}  // namespace ulpscope::reports
