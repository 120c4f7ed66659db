// For spreadsheets: RFC 4180 (CRLF, quotes where needed), UTF-8, one header line, one figure in a row. NaN and
// infinities are NaN, Infinity, -Infinity as in JSON; unknown is empty.
//
// Comparison: tag,mode,device,seed,figure,unit,value,spread,low,high,samples,provenance
//   seed is empty for the figures of a mode; figure is a key of comparison_figures(), or verdict, verdict_reason, note
//   (of a mode), status, message, final_loss … (of a seed), warning (of the whole).
// Summary: section,name,value,detail
// Check: file,rule,mode,seed,finding
#pragma once

#include "reports/export/exporter.h"

namespace ulpscope::reports {

class CsvExporter : public Exporter {
 public:
  void write(const Comparison& comparison, std::ostream& out) const override;
  void write(const Summary& summary, std::ostream& out) const override;
  void write(const CheckResult& result, std::ostream& out) const override;
};

}  // namespace ulpscope::reports
