#include "reports/run_file/rewind.h"

#include <string>

#include "reports/run_file/counter_rows.h"
#include "reports/run_file/sqlite.h"

namespace ulpscope::reports {
namespace {

void remove(Database& database, const std::string& from, const RunRewind& run, bool with_step) {
  Statement statement(database, "DELETE FROM " + from);
  statement.bind(0, static_cast<std::int64_t>(run.run));
  if (with_step) statement.bind(1, run.first_step);
  statement.step();
}

void rewind(Database& database, const RunRewind& run) {
  for (const char* table : {"step", "tensor_stats", "range", "event", "kernel", "device_sample"})
    remove(database, std::string(table) + " WHERE run = ? AND step >= ?", run, true);
  // An evaluation belongs before the step whose number it has: it is made again.
  remove(database, "evaluation WHERE run = ? AND step >= ?", run, true);
  for (const char* table : {"node_timing", "memory"}) remove(database, std::string(table) + " WHERE run = ?", run, false);
  // Steps that stay and whose nodes were counted keep their mark: their times are no steps'.
  const std::string counted = std::string("subject LIKE '") + counted_step_subject + "%' AND count < ?";
  remove(database, "completeness WHERE run = ? AND kind IN ('note', 'observation_cost') AND NOT (" + counted + ")", run, true);
  remove(database, std::string("completeness WHERE run = ? AND kind IN ('refused', 'lost') AND subject LIKE '") + counters_subject + "%'", run, false);
  // A fault of the profiler while it recorded what stays is one of the recording.
  if (run.first_step == 0) remove(database, "completeness WHERE run = ? AND kind = 'fault'", run, false);
}

}  // namespace

void rewind(Database& database, const Rewind& plan) {
  database.execute("BEGIN IMMEDIATE");
  try {
    for (const RunRewind& run : plan.runs) rewind(database, run);
    for (const RunId run : plan.mends) remove(database, "mend WHERE run = ?", {run, 0}, false);
    if (plan.timing) {
      database.execute("DELETE FROM timing_sample");
      database.execute("DELETE FROM device_sample WHERE phase = 'timing'");
      database.execute("DELETE FROM completeness WHERE kind = 'note' AND subject LIKE 'timing%'");
    }
    database.execute("COMMIT");
  } catch (...) {
    if (sqlite3_get_autocommit(database.handle()) == 0)
      sqlite3_exec(database.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
    throw;
  }
}

}  // namespace ulpscope::reports
