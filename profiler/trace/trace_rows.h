// Rows of completeness as a trace writes them.
#pragma once

#include <string>

#include "profiler/probes/faults.h"

namespace ulpscope::profiler {

class TraceRows {
 public:
  TraceRows(const Sink& sink, reports::RunId run) : sink_(sink), run_(run) {}

  void push(const std::string& kind, const std::string& subject, reports::Count count, const std::string& detail, reports::Number seconds = {},
            reports::Provenance provenance = reports::Provenance::counted) const {
    reports::CompletenessRecord row;
    row.run = run_;
    row.kind = kind;
    row.subject = subject;
    row.count = count;
    row.seconds = seconds;
    row.provenance = provenance;
    row.detail = detail;
    sink_(row);
  }
  /// Only if there is something to say.
  void some(const std::string& kind, const std::string& subject, std::int64_t count, const std::string& detail) const {
    if (count > 0) push(kind, subject, count, detail);
  }

 private:
  const Sink& sink_;
  reports::RunId run_;
};

}  // namespace ulpscope::profiler
