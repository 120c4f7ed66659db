// For programs. Valid JSON whatever the numbers: NaN and infinities are the strings "NaN", "Infinity", "-Infinity";
// unknown is null. Counts, bytes and loss scales are whole numbers, durations seconds.
#pragma once

#include "reports/export/exporter.h"

namespace ulpscope::reports {

class JsonExporter : public Exporter {
 public:
  void write(const Comparison& comparison, std::ostream& out) const override;
  void write(const Summary& summary, std::ostream& out) const override;
  void write(const CheckResult& result, std::ostream& out) const override;
  void write(const Diagnosis& diagnosis, std::ostream& out) const override;
  void write(const Prediction& prediction, std::ostream& out) const override;
  void write(const Mends& mends, std::ostream& out) const override;
  void write(const ScaleReplay& replay, std::ostream& out) const override;
  void write(const TimeReport& report, std::ostream& out) const override;
  void write(const BreakEven& result, std::ostream& out) const override;
  void write(const Sweep& sweep, std::ostream& out) const override;
  void write(const Advice& advice, std::ostream& out) const override;
};

}  // namespace ulpscope::reports
