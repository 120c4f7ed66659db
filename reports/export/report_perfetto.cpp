#include "reports/export/report_perfetto.h"

#include <algorithm>

#include "reports/analysis/compare.h"
#include "reports/export/trace_run.h"

namespace ulpscope::reports {

void write_perfetto(const std::vector<const RunFileReader*>& readers, std::ostream& out) {
  const Comparison comparison = compare(readers);
  const std::vector<ReportRun> runs = report_runs(comparison, readers);
  const MemorySection memory = memory_section(runs, comparison);
  TraceEvents trace(out);
  std::int64_t kernels = 0, recorded = 0;
  std::string files;
  for (const RunFileReader* reader : readers) {
    recorded += reader->rows("kernel");
    files += fmt::format("{}{}", files.empty() ? "" : ",", json_text(reader->path()));
  }
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto of_mode = std::find_if(memory.modes.begin(), memory.modes.end(), [&](const ModeMemory& m) { return m.run == i; });
    RunTrace run(runs[i], static_cast<int>(i) + 1, of_mode == memory.modes.end() ? nullptr : &*of_mode, trace);
    run.write();
    kernels += run.kernels();
  }
  trace.end(fmt::format("\"kind\":\"ulpscope trace\",\"files\":[{}],\"kernels\":{},\"kernels_left_out\":{}", files, kernels, std::max<std::int64_t>(0, recorded - kernels)));
}

}  // namespace ulpscope::reports
