#include "reports/run_file/writer.h"

#include <fmt/format.h>

#include <system_error>
#include <utility>

#include "kernels/error.h"
#include "reports/run_file/writer_thread.h"

namespace ulpscope::reports {

RunFileWriter::RunFileWriter(const std::string& path, const WriterOptions& options)
    : path_(path), begun_(!options.append && !options.first.empty()), thread_(start(path, options)) {}

std::unique_ptr<RunFileWriter::Thread> RunFileWriter::start(const std::string& path, const WriterOptions& options) {
  try {
    return std::make_unique<Thread>(path, options);
  } catch (const SqliteError& error) {
    throw UsageError(fmt::format("cannot write {}: {}", path, error.what()));
  } catch (const std::system_error& error) {
    throw UsageError(fmt::format("cannot write {}: no thread can be made for it: {}", path, error.code().message()));
  }
}

RunFileWriter::~RunFileWriter() {
  if (thread_) thread_->join();
}

void RunFileWriter::push(Record record) {
  if (!thread_ || !thread_->queue().push(std::move(record)))
    throw Error(fmt::format("{}: a record was pushed after the file was closed", path_));
}

void RunFileWriter::flush() {
  if (thread_) thread_->flush();
}

std::optional<std::string> RunFileWriter::fault() const { return thread_ ? thread_->fault() : fault_; }
std::int64_t RunFileWriter::dropped() const { return thread_ ? total(thread_->queue().dropped()) : dropped_; }
double RunFileWriter::cpu_seconds() const { return thread_ ? thread_->cpu_seconds() : cpu_seconds_; }
std::int64_t RunFileWriter::lost() const { return thread_ ? thread_->lost() : lost_; }
const std::string& RunFileWriter::path() const { return path_; }

void RunFileWriter::close() {
  if (!thread_) return;
  thread_->join();
  fault_ = thread_->fault();
  dropped_ = dropped();
  lost_ = lost();
  cpu_seconds_ = cpu_seconds();
  thread_.reset();
  if (fault_) throw Error(lost_ > 0 ? fmt::format("{} ({} records are missing)", *fault_, lost_) : *fault_);
}

}  // namespace ulpscope::reports
