// What another program recorded becomes a run file: its form is recognised by what is in it, read as a stream, and written through the run file's
// writer. The run is marked as imported (reports/analysis/imported.h).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "profiler/import/log_run.h"
#include "profiler/import/trace.h"

namespace ulpscope::profiler {

enum class ImportFormat : std::uint8_t { nsys, kineto, trainer_state, csv, jsonl, printed };
/// "csv", as --format takes it.
std::string_view name(ImportFormat format);
std::vector<std::string> import_format_names();
/// Throws UsageError that names the choices.
ImportFormat parse_import_format(const std::string& word);

struct ImportJob {
  ImportedAs as{};                        ///< as.file is read
  std::string output{};                   ///< the run file
  bool force = false;                     ///< replace a run file of that name
  std::optional<ImportFormat> format{};   ///< none: by what is in it
  LogOptions log{};
  TraceOptions trace{};
  std::string command_line{};
};

/// By its first bytes. Throws UsageError for what is none of them.
ImportFormat recognise(Input& input, const LogOptions& options);

/// Reads all of it before anything is written, and writes OUTPUT.part, which takes the name of the output once it is whole. What comes back
/// are lines for people: what was read, what was not. Throws Interrupted after Ctrl-C, and what was there before is as it was.
std::vector<std::string> import_recording(const ImportJob& job);

/// The reading alone; input: of job.as.file.
ImportedRun read_recording(Input& input, const ImportJob& job);

}  // namespace ulpscope::profiler
