#include "profiler/experiment/kept_weights.h"

#include <fmt/format.h>

#include <charconv>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "engine/data/checksums.h"
#include "engine/data/durable_file.h"
#include "engine/train/weights.h"
#include "kernels/error.h"

namespace ulpscope::profiler {
namespace {

namespace fs = std::filesystem;
using reports::RunStatus;

/// "fp16-seed0.safetensors", and what a kill leaves of one.
bool is_ours(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.find("-seed") != std::string::npos && (name.ends_with(".safetensors") || name.ends_with(".safetensors.tmp"));
}

std::string said(const engine::TensorFile& file, const char* key) {
  const auto found = file.metadata.find(key);
  return found == file.metadata.end() ? std::string() : found->second;
}

std::int64_t number(const std::string& text) {
  std::int64_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

void refuse_another(const engine::TensorFile& file, const std::string& path, const reports::RunRecord& run, bool other_recording) {
  if (said(file, "mode") == run.mode && said(file, "seed") == fmt::format("{}", run.seed) && !other_recording) return;
  throw UsageError(fmt::format("{}: its weights are of {}, seed {} of another recording", path, said(file, "mode"), said(file, "seed")));
}

WeightsOfRun from_checkpoint(const std::string& path, const reports::RunRecord& run) {
  engine::TensorFile file = engine::read_safetensors(path);
  engine::check_checksums(file, path);
  refuse_another(file, path, run, false);
  const auto names = nlohmann::json::parse(said(file, Checkpoints::weights_key), nullptr, false);
  if (!names.is_array())
    throw UsageError(fmt::format("{}: the checkpoint does not say which of its tensors are weights: an older version wrote it", path));
  const engine::TrainerState state = engine::from_file(std::move(file), path);
  return {engine::weights_file(state, names.get<std::vector<std::string>>()), state.iteration, false};
}

}  // namespace

std::string KeptWeights::path(const std::string& mode, std::int64_t seed) const {
  return fmt::format("{}/{}-seed{}.safetensors", folder_, mode, seed);
}

std::int64_t KeptWeights::save(const CheckpointLabel& label, const std::string& started, const engine::TrainerState& state) const {
  std::error_code error;
  if (fs::create_directory(folder_, error)) engine::sync_folder(fs::path(folder_).parent_path().string());
  if (error) throw Error(fmt::format("cannot make the folder {}: {}", folder_, error.message()));
  engine::TensorFile file = engine::weights_file(state, label.weights);
  // "format" is what readers of PyTorch weights look for.
  file.metadata = {{"format", "pt"},
                   {"mode", label.mode},
                   {"seed", fmt::format("{}", label.seed)},
                   {"step", fmt::format("{}", state.iteration)},
                   {"started", started}};
  engine::add_checksums(file);
  return engine::write_safetensors(path(label.mode, static_cast<std::int64_t>(label.seed)), file);
}

void KeptWeights::clear() const noexcept {
  std::error_code ignored;
  try {
    for (auto entry = fs::directory_iterator(folder_, ignored); !ignored && entry != fs::directory_iterator(); entry.increment(ignored))
      if (is_ours(entry->path())) fs::remove(entry->path(), ignored);
    if (fs::is_directory(folder_, ignored)) fs::remove(folder_, ignored);   // only if empty
  } catch (...) {   // no memory for a name: what stays is told apart by its metadata
  }
}

WeightsOfRun weights_of_run(const std::string& run_file, const reports::RunRecord& run) {
  const std::string kept = KeptWeights(run_file).path(run.mode, run.seed);
  const Checkpoints checkpoints(run_file);
  const bool ended = run.status == RunStatus::finished || run.status == RunStatus::failed;
  std::error_code error;
  WeightsOfRun weights;
  if (fs::exists(kept, error) && (ended || !checkpoints.has(run.id))) {
    weights.file = engine::read_safetensors(kept);
    engine::check_checksums(weights.file, kept);
    refuse_another(weights.file, kept, run, said(weights.file, "started") != run.started);
    weights.step = number(said(weights.file, "step"));
    weights.final = true;
  } else if (checkpoints.has(run.id)) {
    weights = from_checkpoint(checkpoints.path(run.id), run);
  } else if (ended) {
    throw UsageError(fmt::format("{}: the weights of {}, seed {} were not kept, and checkpoints go when a run ends: run it again with "
                                 "--save-weights (run.save_weights = true)", run_file, run.mode, run.seed));
  } else {
    throw UsageError(fmt::format("{}: {}, seed {} has not ended, and has no checkpoint yet: ulpscope run {} --resume goes on; its weights are "
                                 "kept with --save-weights (run.save_weights = true)", run_file, run.mode, run.seed, run_file));
  }
  weights.file.metadata = {{"format", "pt"}, {"mode", run.mode}, {"seed", fmt::format("{}", run.seed)}, {"step", fmt::format("{}", weights.step)}};
  return weights;
}

}  // namespace ulpscope::profiler
