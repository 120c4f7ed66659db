#include "profiler/capsule/capsule.h"

#include <fmt/format.h>

#include <bit>
#include <charconv>
#include <cmath>
#include <span>
#include <utility>

#include "engine/data/draw.h"
#include "kernels/error.h"
#include "profiler/experiment/experiment_file.h"

namespace ulpscope::profiler {
namespace {

constexpr const char* kind_key = "capsule";
constexpr int newest_version = 1;
constexpr const char* state_prefix = "state/";
constexpr const char* version_prefix = "version.";
constexpr const char* gradient_prefix = "gradient.";

std::string batch_prefix(std::size_t micro_batch) { return fmt::format("batch/{}/", micro_batch); }

[[noreturn]] void damaged(const std::string& path, const std::string& why) {
  throw UsageError(fmt::format("{}: the capsule is damaged: {}", path, why));
}

template <class Number>
std::optional<Number> parsed(const std::string& text, int base) {
  Number number{};
  const char* const end = text.data() + text.size();
  const std::from_chars_result result = std::from_chars(text.data(), end, number, base);
  if (result.ec != std::errc() || result.ptr != end) return std::nullopt;
  return number;
}

/// Floats as the bits they are: NaN comes back, too.
std::string bits_text(float value) { return fmt::format("{:08x}", std::bit_cast<std::uint32_t>(value)); }

class Metadata {
 public:
  Metadata(const std::map<std::string, std::string>& all, const std::string& path) : all_(all), path_(path) {}

  const std::string& text(const char* key) const {
    const auto found = all_.find(key);
    if (found == all_.end()) damaged(path_, fmt::format("its {} is missing", key));
    return found->second;
  }
  template <class Number>
  Number number(const char* key, int base = 10) const {
    const auto value = parsed<Number>(text(key), base);
    if (!value) damaged(path_, fmt::format("its {} is no number", key));
    return *value;
  }
  float bits(const char* key) const { return std::bit_cast<float>(number<std::uint32_t>(key, 16)); }

 private:
  const std::map<std::string, std::string>& all_;
  const std::string& path_;
};

void check_kind(const engine::TensorFile& file, const std::string& path) {
  const auto said = file.metadata.find(kind_key);
  if (said == file.metadata.end()) {
    const bool checkpoint = file.metadata.contains("ulpscope");
    throw UsageError(fmt::format("{}: it is {}, not a capsule (ulpscope diagnose RUN.ulp --capsule FILE makes one)",
                                 path, checkpoint ? "a checkpoint of ulpscope" : "a safetensors file"));
  }
  const auto version = parsed<int>(said->second, 10);
  if (!version || *version < 1) damaged(path, "its version is no number");
  if (*version > newest_version)
    throw UsageError(
        fmt::format("{}: it is a capsule of version {}, and this program reads up to {}: a newer ulpscope is needed",
                    path, *version, newest_version));
}

/// Numbers that came from a file stand in the experiment itself.
void take_in(engine::Numbers& numbers) {
  if (numbers.kind != engine::Numbers::Kind::file) return;
  numbers.kind = engine::Numbers::Kind::list;
  numbers.path.clear();
}

std::string self_contained_toml(Experiment experiment) {
  experiment.train.weights.clear();
  experiment.run.output.clear();
  if (auto* graph = std::get_if<engine::GraphConfig>(&experiment.model))
    for (engine::GraphNode& node : graph->nodes) {
      take_in(node.init);
      for (engine::Numbers& numbers : node.values) take_in(numbers);
    }
  return to_toml(experiment);
}

Experiment experiment_of(const std::string& toml, const std::string& name, const std::string& path) {
  try {
    Settings settings;
    settings.add_text(toml, path);
    Experiment experiment = settings.build();
    experiment.name = name;
    return experiment;
  } catch (const UsageError& error) {
    damaged(path, fmt::format("its experiment cannot be read: {}", error.what()));
  }
}

/// Some policies grow to infinity, or fall to 0, step by step; in a step that went well there was neither.
void check_scale(float scale, bool finite, const std::string& path) {
  if (scale >= 0.0f && !(finite && (scale == 0.0f || std::isinf(scale)))) return;
  damaged(path, fmt::format("no step has the loss scale {:g}{}", scale, scale >= 0.0f ? " and finite gradients" : ""));
}

/// Counters of steps; "none yet" is -1 where a policy knows that. Megatron's hysteresis falls with every overflow.
void check_counters(const engine::TrainerState& state, const std::string& path) {
  const scaling::ScalerState& s = state.scaler;
  const struct {
    const char* name;
    std::int64_t number, least;
  } counters[] = {{"scaler.growth_tracker", s.growth_tracker, 0}, {"scaler.hysteresis", s.hysteresis, -state.iteration},
                  {"scaler.step", s.step, 0},                  {"scaler.last_overflow", s.last_overflow, -1},
                  {"scaler.last_rescale", s.last_rescale, -1}, {"scaler.overflows", s.overflows, 0}};
  for (const auto& counter : counters)
    if (counter.number < counter.least) damaged(path, fmt::format("its {} is {}: no run counts below {}", counter.name, counter.number, counter.least));
}

std::vector<GradientPrint> gradients_of(const std::map<std::string, std::string>& said, const std::string& path) {
  std::vector<GradientPrint> gradients;
  for (const auto& [key, print] : said) {
    if (!key.starts_with(gradient_prefix)) continue;
    if (print.size() != 16 || !parsed<std::uint64_t>(print, 16)) damaged(path, fmt::format("its {} is no print: 16 hexadecimal digits", key));
    gradients.push_back({key.substr(std::string_view(gradient_prefix).size()), print});
  }
  return gradients;
}

}  // namespace

std::string plan_fingerprint(const engine::StepPlan& plan) {
  engine::Fnv1a sum;
  const std::string text = engine::to_string(plan.graph);
  sum.bytes(std::as_bytes(std::span(text)));
  return fmt::format("{:016x}", sum.value());
}

std::int64_t save_capsule(const std::string& path, const Capsule& capsule) {
  engine::TensorFile file = engine::to_file(capsule.state);  // its numbers, and "ulpscope"
  for (engine::NamedTensor& tensor : file.tensors) tensor.name = state_prefix + tensor.name;
  for (std::size_t m = 0; m < capsule.batches.size(); ++m)
    for (const engine::NamedTensor& input : capsule.batches[m]) {
      file.tensors.push_back(input);
      file.tensors.back().name = batch_prefix(m) + input.name;
    }
  std::map<std::string, std::string>& said = file.metadata;
  said[kind_key] = fmt::format("{}", newest_version);
  said["experiment"] = self_contained_toml(capsule.experiment);
  said["name"] = capsule.experiment.name;
  said["mode"] = capsule.mode;
  said["seed"] = fmt::format("{}", capsule.seed);
  said["micro_batches"] = fmt::format("{}", capsule.batches.size());
  said["recorded.loss"] = bits_text(capsule.recorded.loss);
  said["recorded.loss_scale"] = bits_text(capsule.recorded.loss_scale);
  said["recorded.finite"] = capsule.recorded.finite ? "1" : "0";
  for (const GradientPrint& g : capsule.recorded.gradients) said[gradient_prefix + g.parameter] = g.print;
  said["way"] = capsule.way;
  said["plan"] = capsule.plan;
  said["generator"] =
      "philox4x32-10: key from the seed and a name, counter from the element, the iteration and the micro-batch";
  for (const auto& [name, version] : capsule.versions) said[version_prefix + name] = version;
  return engine::write_safetensors(path, file);
}

Capsule load_capsule(const std::string& path) {
  if (is_run_file(path))
    throw UsageError(fmt::format("{} is a run file, not a capsule: ulpscope diagnose {} --capsule NAME.capsule makes one of a step", path, path));
  engine::TensorFile file = engine::read_safetensors(path);
  check_kind(file, path);
  const Metadata said(file.metadata, path);
  Capsule capsule;
  capsule.experiment = experiment_of(said.text("experiment"), said.text("name"), path);
  capsule.mode = said.text("mode");
  try {
    engine::find_mode(capsule.mode);
  } catch (const UsageError& error) {
    damaged(path, error.what());
  }
  capsule.seed = said.number<std::uint64_t>("seed");
  capsule.recorded = {said.bits("recorded.loss"), said.bits("recorded.loss_scale"),
                      said.number<int>("recorded.finite") != 0, gradients_of(file.metadata, path)};
  capsule.way = said.text("way");
  capsule.plan = said.text("plan");
  for (const auto& [key, text] : file.metadata)
    if (key.starts_with(version_prefix)) capsule.versions[key.substr(std::string_view(version_prefix).size())] = text;
  const auto micro_batches = said.number<std::size_t>("micro_batches");
  if (micro_batches < 1 || static_cast<std::int64_t>(micro_batches) != capsule.experiment.train.micro_batches)
    damaged(path, fmt::format("it has {} micro-batches, its experiment {}", micro_batches,
                              capsule.experiment.train.micro_batches));
  capsule.batches.resize(micro_batches);
  engine::TensorFile state{{}, file.metadata};
  for (engine::NamedTensor& tensor : file.tensors) {
    if (tensor.name.starts_with(state_prefix)) {
      tensor.name.erase(0, std::string_view(state_prefix).size());
      state.tensors.push_back(std::move(tensor));
      continue;
    }
    bool known = false;
    for (std::size_t m = 0; m < micro_batches && !known; ++m) {
      const std::string prefix = batch_prefix(m);
      if (!tensor.name.starts_with(prefix)) continue;
      known = true;
      tensor.name.erase(0, prefix.size());
      capsule.batches[m].push_back(std::move(tensor));
    }
    if (!known) damaged(path, fmt::format("nothing is known of its tensor '{}'", tensor.name));
  }
  capsule.state = engine::from_file(std::move(state), path);
  check_counters(capsule.state, path);
  check_scale(capsule.recorded.loss_scale, capsule.recorded.finite, path);
  check_scale(capsule.state.scaler.scale, capsule.recorded.finite, path);
  return capsule;
}

}  // namespace ulpscope::profiler
