// ulpscope export: a run's weights as a safetensors file.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <system_error>

#include "engine/train/weights.h"
#include "kernels/error.h"
#include "kernels/nearest.h"
#include "profiler/cli/command.h"
#include "profiler/cli/output_file.h"
#include "profiler/cli/program.h"
#include "profiler/cli/text.h"
#include "profiler/experiment/kept_weights.h"
#include "profiler/experiment/machine.h"
#include "reports/run_file/reader.h"

namespace ulpscope::profiler {
namespace {

struct ExportArguments {
  std::string path;
  std::string mode;
  std::optional<std::int64_t> seed;
  std::string output;
  std::string format;
  bool force = false;
};

using Runs = std::vector<reports::RunRecord>;

template <class Of>
std::vector<std::string> different(const Runs& runs, Of&& of) {
  std::vector<std::string> words;
  for (const reports::RunRecord& run : runs)
    if (const std::string word = fmt::format("{}", of(run)); std::find(words.begin(), words.end(), word) == words.end()) words.push_back(word);
  return words;
}

/// The one run that is meant.
reports::RunRecord choose(Runs runs, const ExportArguments& arguments) {
  if (runs.empty()) throw UsageError(fmt::format("there is no run in {}", arguments.path));
  const auto mode_of = [](const reports::RunRecord& run) { return run.mode; };
  const auto seed_of = [](const reports::RunRecord& run) { return run.seed; };
  const std::vector<std::string> modes = different(runs, mode_of);
  if (arguments.mode.empty() && modes.size() > 1)
    throw UsageError(fmt::format("{} has several modes: say whose weights with --mode: {}", arguments.path, fmt::join(modes, ", ")));
  if (!arguments.mode.empty()) std::erase_if(runs, [&](const auto& run) { return run.mode != arguments.mode; });
  if (runs.empty())
    throw UsageError(fmt::format("{} has no run in the mode {}; did you mean {}? Its modes: {}", arguments.path, arguments.mode,
                                 nearest(arguments.mode, modes), fmt::join(modes, ", ")));
  const std::vector<std::string> seeds = different(runs, seed_of);
  if (!arguments.seed && seeds.size() > 1)
    throw UsageError(fmt::format("{} has several seeds of {}: say whose weights with --seed: {}", arguments.path, runs.front().mode,
                                 fmt::join(seeds, ", ")));
  if (arguments.seed) std::erase_if(runs, [&](const auto& run) { return run.seed != *arguments.seed; });
  if (runs.empty())
    throw UsageError(fmt::format("{} has no run with the seed {}; its seeds: {}", arguments.path, *arguments.seed, fmt::join(seeds, ", ")));
  return runs.front();
}

std::optional<Format> chosen_format(const std::string& word) {
  if (word.empty()) return std::nullopt;
  const std::vector<std::string> names{"fp32", "fp16", "bf16"};
  for (const Format format : {Format::fp32, Format::fp16, Format::bf16})
    if (word == name(format)) return format;
  throw UsageError(fmt::format("--format {}: unknown format; did you mean {}? Formats: {}", word, nearest(word, names), fmt::join(names, ", ")));
}

std::string dtypes_of(const engine::TensorFile& file) {
  std::vector<std::string> words;
  for (const engine::NamedTensor& tensor : file.tensors)
    if (std::find(words.begin(), words.end(), tensor.dtype) == words.end()) words.push_back(tensor.dtype);
  return fmt::format("{}", fmt::join(words, ", "));
}

int export_weights(const ExportArguments& arguments, const Invocation& call) {
  const std::optional<Format> format = chosen_format(arguments.format);
  check_output_file(arguments.output, arguments.force, {arguments.path});
  std::error_code error;
  if (std::filesystem::exists(arguments.output, error) && !std::filesystem::is_regular_file(arguments.output, error))
    throw UsageError(fmt::format("-o {}: that is no file that could be replaced; give another name", arguments.output));
  const reports::RunRecord run = choose(reports::RunFileReader(arguments.path).runs(), arguments);
  check_output_file(arguments.output, arguments.force,
                    {KeptWeights(arguments.path).path(run.mode, run.seed), Checkpoints(arguments.path).path(run.id)});
  WeightsOfRun weights = weights_of_run(arguments.path, run);
  std::int64_t flushed = 0, numbers = 0;
  if (format) weights.file = engine::in_format(weights.file, *format, flushed);
  weights.file.metadata["producer"] = fmt::format("ulpscope {}", program_version());
  for (const engine::NamedTensor& tensor : weights.file.tensors) numbers += tensor.elements();
  const std::int64_t bytes = engine::write_safetensors(arguments.output, weights.file);
  std::string text = fmt::format("{}: {} tensors, {} numbers in {}, {} bytes; {}, seed {}, after step {}{}", arguments.output,
                                 weights.file.tensors.size(), numbers, dtypes_of(weights.file), bytes, run.mode, run.seed, weights.step,
                                 weights.final ? "" : " (the checkpoint of a run that has not ended)");
  if (flushed > 0) text += fmt::format("; {} numbers are too small for {} and became 0", flushed, name(*format));
  call.out << wrapped(text, "  ") << '\n' << std::flush;
  return exit_ok;
}

}  // namespace

Action declare_export(CLI::App& app) {
  auto arguments = std::make_shared<ExportArguments>();
  app.add_option("RUN", arguments->path, "run file (.ulp)")->required()->type_name("");
  app.add_option("--mode", arguments->mode, "whose weights, where there are several modes")->type_name("MODE");
  app.add_option("--seed", arguments->seed, "whose weights, where there are several seeds")->type_name("S");
  app.add_option("-o,--output", arguments->output, "the safetensors file")->required()->type_name("FILE");
  app.add_option("--format", arguments->format,
                 "fp32, fp16 or bf16, rounded to nearest; without it each tensor as it was trained (fp32 in the mixed modes)")
      ->type_name("FORMAT");
  app.add_flag("--force", arguments->force, "replace the file if it is there");
  app.footer("Weights and buffers come from what a run kept (ulpscope run --save-weights), or from the checkpoint of one that broke off.\n"
             "Back in: ulpscope run --init FILE.");
  return [arguments](const Invocation& call) { return export_weights(*arguments, call); };
}

}  // namespace ulpscope::profiler
