#include "profiler/cli/predict.h"

#include <fmt/format.h>

#include <ostream>

#include "kernels/error.h"
#include "profiler/cli/program.h"
#include "profiler/experiment/interrupt.h"
#include "profiler/predict/predict.h"
#include "reports/export/exporter.h"

namespace ulpscope::profiler {

int predict_experiment(const std::string& path, const std::vector<std::string>& assignments, const std::string& mode,
                       std::optional<std::int64_t> seed, const char* form, const Invocation& call) {
  if (path.ends_with(".ulp"))
    throw UsageError(
        fmt::format("--predict takes an experiment file (.toml), and {} is a run file: leave --predict out", path));
  Settings settings;
  settings.add_file(path);
  for (const std::string& assignment : assignments) settings.add_assignment(assignment);
  const Interrupt interrupt;
  try {
    reports::Prediction prediction = predict(settings, mode, seed, [] { return Interrupt::requested(); });
    prediction.file = path;
    reports::make_exporter(form)->write(prediction, call.out);
  } catch (const Interrupted&) {
    call.err << "interrupted; nothing was predicted\n" << std::flush;
    return Interrupt::exit_code();
  }
  return exit_ok;
}

}  // namespace ulpscope::profiler
