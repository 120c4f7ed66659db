// Writes a run file while training goes on: a queue in front, a thread of its own behind.
//
//   RunFileWriter writer("gpt.ulp", {.overwrite = true});
//   writer.push(ExperimentRecord{…});
//   writer.push(StepRecord{…});       // any thread, in the middle of a step: no lock, no allocation, no system call
//   writer.close();                   // one file remains; throws what went wrong on the way
//
// The file is in write-ahead mode until it is closed, so readers can follow; at least once a second everything pushed
// is committed. After a kill the file still opens and lacks moments. If the disk is full or another program holds the
// file, statistics are lost and counted; everything else waits in memory, in its order, and is tried again, and
// training is not disturbed. It is lost, and counted, only if it cannot be written when the file is closed, or if more
// waits than retry_capacity (then the oldest go; a run's own record never does).
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "reports/run_file/records.h"
#include "reports/run_file/rewind.h"

namespace ulpscope::reports {

struct WriterOptions {
  bool overwrite = false;              ///< replace a run file (never a file of another kind, never one being written)
  /// Of a new file: they are in it before an old one gives its place to it.
  std::vector<Record> first{};
  bool append = false;                 ///< add to a run file that is there; rows with the same keys are replaced
  /// With append: called once no other writer can come between, and before anything is changed: it reads what is there and says
  /// which rows are removed first. What it throws comes out, and the file stays as it was.
  std::function<Rewind()> rewind{};
  std::size_t queue_capacity = 16384;  ///< records waiting; as many again may be in the hands of the thread
  std::size_t retry_capacity = 65536;  ///< records that wait in memory while the file cannot be written
  double commit_seconds = 0.25;        ///< longest time a record waits for the thread; at most 1
  double busy_seconds = 5.0;           ///< how long another program may hold the file before that counts as a fault
};

/// Throws the UsageError with which RunFileWriter would refuse the path, as far as a look can tell. Changes nothing.
void check_output(const std::string& path, bool overwrite);

class RunFileWriter {
 public:
  /// Creates the file, or opens it to add to it. A new file is made as NAME-new and renamed: until then what was there
  /// stays. Throws UsageError, one line with the path and the reason: it exists
  /// (to add: it does not, or has another schema), it is being written by another process, the folder is missing or
  /// cannot be written, the path is a folder, the options are out of range.
  explicit RunFileWriter(const std::string& path, const WriterOptions& options = {});
  /// Closes; what close() would throw is lost, so call close().
  ~RunFileWriter();
  RunFileWriter(const RunFileWriter&) = delete;
  RunFileWriter& operator=(const RunFileWriter&) = delete;

  /// Hands a record over (record_queue.h says how little that takes); may be called from any thread. When the queue is full, statistics (is_statistic() in
  /// record_queue.h) are dropped and counted; any other record displaces a waiting statistic, and waits for the thread
  /// if there is none, which is counted ("throttled" in completeness). After close() it throws Error.
  void push(Record record);

  /// Waits until everything pushed before is committed, or a try at it has failed.
  void flush();

  /// The first thing that went wrong on the thread: as long as something waits for another try, and for good if
  /// something was lost. Cheap: may be asked every step.
  std::optional<std::string> fault() const;

  /// Statistics dropped so far because the queue was full, and records lost to a fault.
  std::int64_t dropped() const;
  std::int64_t lost() const;
  /// Processor time that the thread has used, in seconds, as of its last batch.
  double cpu_seconds() const;

  const std::string& path() const;
  /// Whether options.first is in the file.
  bool begun() const { return begun_; }

  /// Writes what is waiting and what was dropped and lost, folds the write-ahead log into the file and leaves
  /// write-ahead mode: one file remains. If a reader holds the file longer than busy_seconds, write-ahead mode stays
  /// and a "note" in completeness says so; nothing is missing. Throws Error with the first fault if
  /// something was lost or the file could not be closed; further calls do nothing.
  void close();

 private:
  class Thread;
  static std::unique_ptr<Thread> start(const std::string& path, const WriterOptions& options);

  std::string path_;
  bool begun_;
  std::unique_ptr<Thread> thread_;    // none after close()
  std::optional<std::string> fault_;  // what remains of it then
  std::int64_t dropped_ = 0;
  std::int64_t lost_ = 0;
  double cpu_seconds_ = 0.0;
};

}  // namespace ulpscope::reports
