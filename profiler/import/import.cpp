#include "profiler/import/import.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>

#include "kernels/error.h"
#include "profiler/experiment/interrupt.h"
#include "profiler/experiment/machine.h"
#include "reports/run_file/writer.h"

namespace ulpscope::profiler {
namespace {

/// Statistics are dropped where the writer's queue is full: it is emptied before that.
constexpr std::size_t between_flushes = 8192;

reports::ExperimentRecord experiment_record(const ImportJob& job) {
  return {.name = fmt::format("imported from {}", std::filesystem::path(job.as.file).filename().string()),
          .configuration = {},   // there is none: nothing can be run again
          .command_line = job.command_line,
          .producer_version = program_version(),
          .producer_commit = program_commit(),
          .created = utc_now()};
}

/// A run file under another name until it is whole: whatever ends an import leaves what was there before as it was. Until begun() it is
/// not this import's: the user's own file of that name, or what another import writes, stays.
class PartFile {
 public:
  explicit PartFile(const std::string& path) : path_(path), part_(path + ".part") {}
  ~PartFile() {
    if (!ours_) return;
    std::error_code error;
    for (const char* of : {"", "-wal", "-shm", "-journal"}) std::filesystem::remove(part_ + of, error);
  }
  PartFile(const PartFile&) = delete;
  PartFile& operator=(const PartFile&) = delete;
  const std::string& path() const { return part_; }
  void begun() { ours_ = true; }
  void keep(bool overwrite) const {
    reports::check_output(path_, overwrite);   // it may have come in between
    // The old log first: beside the new file it would be taken for its log.
    for (const char* suffix : {"-wal", "-shm", "-journal"})
      if (::unlink((path_ + suffix).c_str()) != 0 && errno != ENOENT) throw UsageError(fmt::format("cannot overwrite {}: {}", path_, std::strerror(errno)));
    std::error_code error;
    std::filesystem::rename(part_, path_, error);
    if (error) throw UsageError(fmt::format("{} cannot be put in place: {}", path_, error.message()));
  }

 private:
  std::string path_, part_;
  bool ours_ = false;
};

/// What was asked for and would do nothing.
void refuse_idle_options(ImportFormat format, const ImportJob& job) {
  const bool trace = format == ImportFormat::nsys || format == ImportFormat::kineto;
  const char* const of_logs = !job.log.columns.empty() ? "--column" : job.log.every ? "--every" : nullptr;
  if (trace && of_logs != nullptr) throw UsageError(fmt::format("{}: it is of training logs, and {} is a trace ({}); of a trace there is --step-range", of_logs, job.as.file, name(format)));
  if (!trace && !job.trace.step_range.empty())
    throw UsageError(fmt::format("--step-range {}: it is of traces, and {} is a training log ({}); of a log there are --column and --every", job.trace.step_range, job.as.file, name(format)));
}

}  // namespace

ImportedRun read_recording(Input& input, const ImportJob& job) {
  const ImportFormat format = job.format ? *job.format : recognise(input, job.log);
  refuse_idle_options(format, job);
  switch (format) {
    case ImportFormat::csv:
      return run_of_log(read_csv_log(input, job.log), job.log, job.as);
    case ImportFormat::jsonl:
      return run_of_log(read_json_lines(input, job.log), job.log, job.as);
    case ImportFormat::nsys:
      return run_of_trace(read_nsight(input.name()), job.trace, job.as);
    case ImportFormat::kineto:
      return run_of_trace(read_kineto(input), job.trace, job.as);
    case ImportFormat::trainer_state:
      return run_of_log(read_trainer_state(input, job.log), job.log, job.as);
    case ImportFormat::printed:
      break;
  }
  return run_of_log(read_printed_log(input, job.log), job.log, job.as);
}

std::vector<std::string> import_recording(const ImportJob& job) {
  reports::check_output(job.output, job.force);
  ImportedRun read;
  {
    Input input(job.as.file);
    read = read_recording(input, job);
  }
  PartFile part(job.output);
  {
    const Interrupt interrupt;
    reports::RunFileWriter writer(part.path(), {.overwrite = true, .first = {experiment_record(job), read.run}, .rewind = {}});
    part.begun();
    std::size_t pushed = 0;
    const auto push = [&](reports::Record row) {
      writer.push(std::move(row));
      if (++pushed % between_flushes != 0) return;
      writer.flush();
      if (Interrupt::requested()) throw Interrupted();
    };
    for (reports::Record& row : read.rows) push(std::move(row));
    if (read.more) read.more(push);
    writer.close();
    if (Interrupt::requested()) throw Interrupted();
  }
  part.keep(job.force);
  return std::move(read.words);
}

}  // namespace ulpscope::profiler
