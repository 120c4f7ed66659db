#include "profiler/experiment/checkpoints.h"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>

#include "engine/data/checksums.h"
#include "engine/data/durable_file.h"
#include "kernels/error.h"

namespace ulpscope::profiler {
namespace {

namespace fs = std::filesystem;

/// "run-3.safetensors", and what a kill leaves of one: "run-3.safetensors.tmp".
bool is_checkpoint(const fs::path& file) {
  const std::string name = file.filename().string();
  return name.starts_with("run-") && (name.ends_with(".safetensors") || name.ends_with(".safetensors.tmp"));
}

}  // namespace

std::string Checkpoints::path(reports::RunId run) const {
  return fmt::format("{}/run-{}.safetensors", folder_, static_cast<std::int64_t>(run));
}

std::int64_t Checkpoints::save(const CheckpointLabel& label, const engine::TrainerState& state) const {
  std::error_code error;
  if (fs::create_directory(folder_, error)) engine::sync_folder(fs::path(folder_).parent_path().string());
  if (error) throw Error(fmt::format("cannot make the folder {}: {}", folder_, error.message()));
  engine::TensorFile file = engine::to_file(state);
  file.metadata["mode"] = label.mode;
  file.metadata["seed"] = fmt::format("{}", label.seed);
  file.metadata["experiment"] = label.experiment;
  file.metadata[weights_key] = nlohmann::json(label.weights).dump();
  engine::add_checksums(file);
  return engine::write_safetensors(path(label.run), file);
}

std::optional<engine::TrainerState> Checkpoints::load(const CheckpointLabel& label, std::string* remark) const {
  const std::string file_name = path(label.run);
  std::error_code error;
  if (!fs::exists(file_name, error)) return std::nullopt;
  try {
    engine::TensorFile file = engine::read_safetensors(file_name);
    if (!engine::check_checksums(file, file_name) && remark != nullptr)
      *remark = "its checkpoint has no checksums (an older version wrote it): damage would not be noticed";
    const auto said = [&](const char* key) { return file.metadata.contains(key) ? file.metadata.at(key) : std::string(); };
    if (said("mode") != label.mode || said("seed") != fmt::format("{}", label.seed))
      throw UsageError(fmt::format("{}: it is a checkpoint of {}, seed {}, not of {}, seed {}", file_name, said("mode"), said("seed"),
                                   label.mode, label.seed));
    if (said("experiment") != label.experiment)
      throw UsageError(fmt::format("{}: it is a checkpoint of another experiment, or of other data", file_name));
    return engine::from_file(std::move(file), file_name);
  } catch (const UsageError& problem) {
    throw UsageError(fmt::format("{}; without this file, {}, seed {} begins again", problem.what(), label.mode, label.seed));
  }
}

bool Checkpoints::has(reports::RunId run) const noexcept {
  std::error_code ignored;
  return fs::exists(path(run), ignored);
}

void Checkpoints::remove(reports::RunId run) const noexcept {
  std::error_code ignored;
  try {
    fs::remove(path(run), ignored);
    fs::remove(path(run) + ".tmp", ignored);
  } catch (...) {  // no memory for the name: what stays is replaced by the next run
  }
}

void Checkpoints::clear() const noexcept {
  std::error_code ignored;
  try {
    for (auto entry = fs::directory_iterator(folder_, ignored); !ignored && entry != fs::directory_iterator(); entry.increment(ignored))
      if (is_checkpoint(entry->path())) fs::remove(entry->path(), ignored);
    if (fs::is_directory(folder_, ignored)) fs::remove(folder_, ignored);   // only if empty
  } catch (...) {
  }
}

}  // namespace ulpscope::profiler
