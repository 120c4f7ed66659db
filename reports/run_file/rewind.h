// Taking a run file back to a moment from which its runs are gone on with.
#pragma once

#include <cstdint>
#include <vector>

#include "reports/run_file/records.h"

namespace ulpscope::reports {

class Database;

/// One run: what was recorded from this step on, and what is recorded at a run's end (times by node, memory, notes: what watching
/// cost and counted). Its row, and its plan, stay; faults of the profiler too, unless it begins again; and the marks of steps before it whose
/// nodes were counted (counter_rows.h).
struct RunRewind {
  RunId run{};
  std::int64_t first_step = 0;   ///< iteration; evaluations before it are kept if fewer steps were done
};

struct Rewind {
  std::vector<RunRewind> runs{};
  bool timing = false;   ///< all of the timing phase, too
  std::vector<RunId> mends{};   ///< runs whose mends go
  bool empty() const { return runs.empty() && !timing && mends.empty(); }
};

/// In one transaction. Throws SqliteError.
void rewind(Database& database, const Rewind& plan);

}  // namespace ulpscope::reports
