// Reads a run file: finished, still being written, or cut off by a kill.
//
// Every call is a short read of its own. While a writer is at work the connection is closed again after each call, so
// that the writer can close the file; two calls may therefore see different moments. Records come in the order of their
// keys.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reports/run_file/records.h"

namespace ulpscope::reports {

class Database;

/// Which steps of a run: first <= step < end, at most `limit` rows.
struct StepRange {
  std::int64_t first = 0;
  std::int64_t end = INT64_MAX;
  std::int64_t limit = -1;  ///< -1: no limit
};

class RunFileReader {
 public:
  /// Throws UsageError, one line with the path: missing, a folder, not readable, empty, not a run file, written by a
  /// newer version, cut off or damaged. Every other call throws UsageError if the file turns out to be damaged.
  explicit RunFileReader(const std::string& path);
  ~RunFileReader();
  RunFileReader(RunFileReader&&) noexcept;

  const std::string& path() const { return path_; }
  int schema() const { return schema_; }
  /// True while a writer is at work on the file.
  bool live() const;
  std::int64_t file_bytes() const;  ///< with its write-ahead log

  std::optional<ExperimentRecord> experiment() const;
  std::vector<MachineRecord> machines() const;
  std::vector<RunRecord> runs() const;

  std::vector<NodeRecord> nodes(PlanId plan) const;
  std::vector<EdgeRecord> edges(PlanId plan) const;
  std::vector<TensorRecord> tensors(PlanId plan) const;

  std::vector<StepRecord> steps(RunId run, const StepRange& range = {}) const;
  std::vector<EvaluationRecord> evaluations(RunId run) const;
  std::vector<TimingSample> timing_samples(RunId run) const;
  std::vector<NodeTiming> node_timings(RunId run) const;
  /// By start. Those of no known step only without a range.
  std::vector<KernelRecord> kernels(RunId run, const StepRange& range = {}) const;
  /// Of the whole file, in the order in which they were taken. None in files of schema 3 and before.
  std::vector<DeviceSample> device_samples() const;
  std::vector<TensorStatsRecord> tensor_stats(RunId run, const StepRange& range = {}) const;
  /// Steps that have such rows, ascending. Goes by the index: costs as much as there are steps.
  std::vector<std::int64_t> observed_steps(RunId run) const;
  std::vector<TensorStatsRecord> tensor_history(RunId run, TensorId tensor) const;
  /// None in files of schema 2 and before.
  std::vector<RangeRecord> ranges(RunId run, const StepRange& range = {}) const;
  std::vector<EventRecord> events(RunId run, const StepRange& range = {}) const;
  std::vector<MemoryRecord> memory(RunId run, std::optional<MemoryKind> kind = {}) const;
  std::vector<MendRecord> mends() const;
  std::vector<CompletenessRecord> completeness() const;

  /// Rows of a table.
  std::int64_t rows(const std::string& table) const;

 private:
  class Lease;
  template <class R>
  std::vector<R> select(const std::string& rest, const std::vector<std::int64_t>& parameters) const;
  template <class Body>
  auto guarded(Body&& body) const;

  std::string path_;
  std::string file_name_;  ///< absolute, links followed
  int schema_ = 0;
  mutable std::unique_ptr<Database> connection_;  ///< kept only while no writer is at work
};

}  // namespace ulpscope::reports
