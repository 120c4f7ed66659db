// What is imported, from its first byte on: gzip, JSON, CSV, what programs print. The first byte says whether its form is recognised or forced.
#include "profiler/import/import.h"

#include <cstddef>
#include <cstdint>
#include <string_view>

#include "kernels/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ulpscope::profiler;
  if (size == 0) return 0;
  constexpr ImportFormat formats[] = {ImportFormat::kineto, ImportFormat::trainer_state, ImportFormat::csv, ImportFormat::jsonl, ImportFormat::printed};
  ImportJob job;
  job.as.file = "x";
  // Digits force a form; of everything else ('r' in the corpus) it is recognised. A database is read from a path alone.
  if (data[0] >= '0' && data[0] < '5') job.format = formats[data[0] - '0'];
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (text.starts_with("SQLite format 3")) return 0;
  try {
    Input input("x", text);
    const ImportedRun run = read_recording(input, job);
    if (run.more) run.more([](const ulpscope::reports::Record&) {});
  } catch (const ulpscope::UsageError&) {
  }
  return 0;
}
