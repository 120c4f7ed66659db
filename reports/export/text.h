// For people: at most 80 columns, UTF-8. Control characters in names from the run file are shown as '?'.
#pragma once

#include "reports/export/exporter.h"

namespace ulpscope::reports {

class TextExporter : public Exporter {
 public:
  /// Nodes of a mode that the time report lists; 0: all.
  std::size_t top_nodes = 10;
  /// Nodes of a mode that the comparison of machines lists; 0: all.
  std::size_t nodes_across = 5;

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
