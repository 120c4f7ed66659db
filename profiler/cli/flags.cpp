#include "profiler/cli/flags.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <array>
#include <functional>

#include "kernels/error.h"
#include "kernels/nearest.h"
#include "profiler/cli/arguments.h"
#include "profiler/cli/text.h"

namespace ulpscope::profiler {
namespace {

constexpr const char* own_group = "Experiment (a flag writes the key of the experiment file in brackets)";
constexpr const char* hf_group = "As in the Hugging Face trainer";

/// `apply` is for flags that are more than another name of a key.
struct KeyFlag {
  const char* name;  // with _; accepted with - too
  const char* value;
  const char* key;
  const char* doc;
  void (*apply)(Settings&, const std::string& words, const std::string& where) = nullptr;
};

/// Hugging Face's linear and cosine schedules end at 0; its "constant" has no warm-up.
void apply_scheduler(Settings& settings, const std::string& words, const std::string& where) {
  const std::vector<std::string> names = {"linear", "cosine", "constant", "constant_with_warmup"};
  if (std::find(names.begin(), names.end(), words) == names.end()) {
    throw UsageError(fmt::format("{}: unknown schedule; did you mean {}? Schedules: {}", where, nearest(words, names),
                                 fmt::join(names, ", ")));
  }
  settings.add_words("train.schedule", words == "constant_with_warmup" ? "constant" : words, where);
  if (words == "constant") settings.add_value("train.warmup", KeyValue(std::int64_t{0}), where);
  if (words == "linear" || words == "cosine") settings.add_value("train.final_fraction", KeyValue(0.0), where);
}

void apply_optimizer(Settings& settings, const std::string& words, const std::string& where) {
  const std::vector<std::string> names = {"adamw_torch", "sgd"};
  if (std::find(names.begin(), names.end(), words) == names.end()) {
    throw UsageError(fmt::format("{}: unknown optimizer; did you mean {}? Optimizers: {}", where, nearest(words, names),
                                 fmt::join(names, ", ")));
  }
  settings.add_words("train.optimizer", words == "sgd" ? "sgd" : "adamw", where);
  if (words == "sgd") settings.add_value("train.momentum", KeyValue(0.0), where);  // torch.optim.SGD's default
}

void refuse_output_dir(Settings&, const std::string&, const std::string& where) {
  throw UsageError(fmt::format("{}: a run is one file, not a folder: give it with -o NAME.ulp", where));
}

constexpr std::array<KeyFlag, 16> own_flags{{
    {"model", "KIND", "model.kind", "the model: gpt, llama, encoder, cnn, mlp, graph"},
    {"data", "PATH", "data.path", "text files and folders to train on; several times or with commas"},
    {"features", "FILE", "data.features", "features instead of a text: .npy or IDX"},
    {"labels", "FILE", "data.labels", "of the features"},
    {"init", "FILE", "model.weights", "initial weights, a safetensors file"},
    {"modes", "LIST", "run.modes", "precision modes, with commas: fp32,tf32,fp16,bf16"},
    {"steps", "N", "train.steps", "training steps"},
    {"seeds", "N", "run.seeds", "runs of each mode with different seeds; a verdict needs 3"},
    {"seed", "S", "run.seed", "the first seed"},
    {"threads", "N", "run.threads", "threads; 0: all processors this process may use"},
    {"keep_fp32", "PATTERN", "train.keep_fp32",
     "nodes that stay fp32, by name (* and ?); several times or with commas"},
    {"recompute", "WHAT", "train.recompute",
     "activations computed again instead of kept: none, blocks, or patterns of node names; several times or with commas"},
    {"accumulate", "UNIT", "train.accumulate_as",
     "products with the sums of a GPU generation's matrix units, emulated: v100, turing, ampere, ada, hopper, blackwell"},
    {"observe_every", "N", "observe.every", "steps from one whose tensors are counted to the next; 0: never"},
    {"observe", "PATTERN", "observe.nodes", "nodes whose results are counted, by name (* and ?); several times or with commas"},
    {"timing_steps", "N", "run.timing_steps", "timed steps of each mode after training, at least 10; 0: none"},
}};

constexpr std::array<KeyFlag, 12> hf_flags{{
    {"learning_rate", "LR", "train.lr", "learning rate after warm-up"},
    {"max_steps", "N", "train.steps", "training steps"},
    {"per_device_train_batch_size", "N", "train.batch", "sequences (or samples) in a step"},
    {"warmup_steps", "N", "train.warmup", "steps in which the learning rate rises from 0"},
    {"lr_scheduler_type", "NAME", "train.schedule",
     "linear, cosine (both end at 0), constant (no warm-up), constant_with_warmup", apply_scheduler},
    {"weight_decay", "X", "train.weight_decay", "pulls weights towards 0"},
    {"max_grad_norm", "X", "train.clip", "greatest norm of the unscaled gradients; 0: no clipping"},
    {"adam_beta1", "X", "train.beta1", "decay of the mean gradient"},
    {"adam_beta2", "X", "train.beta2", "decay of the mean squared gradient"},
    {"adam_epsilon", "X", "train.epsilon", "added to the divisor"},
    {"optim", "NAME", "train.optimizer", "adamw_torch, or sgd (without momentum)", apply_optimizer},
    {"output_dir", "DIR", "", "refused: use -o", refuse_output_dir},
}};

/// Lists may be given in several flags: their parts are put together.
std::string together(const std::vector<std::string>& words, const Key& key) {
  if (key.type != KeyType::texts) return words.back();
  return fmt::format("{}", fmt::join(words, ","));
}

/// As the help writes them: Hugging Face's with underscores, our own with dashes.
std::string shown_name(const KeyFlag& flag) {
  std::string name = flag.name;
  const bool own = std::any_of(own_flags.begin(), own_flags.end(), [&](const KeyFlag& o) { return &o == &flag; });
  if (own) std::replace(name.begin(), name.end(), '_', '-');
  return name;
}

void apply(Settings& settings, const KeyFlag& flag, const std::vector<std::string>& words) {
  const bool list = flag.key[0] != '\0' && find_key(flag.key, "").type == KeyType::texts;
  std::string where = fmt::format("--{} {}", shown_name(flag), list ? fmt::format("{}", fmt::join(words, ",")) : words.back());
  if (!list && words.size() > 1) where += fmt::format(" (given {} times, the last counts)", words.size());
  if (flag.apply != nullptr) {
    flag.apply(settings, words.back(), where);
    return;
  }
  settings.add_words(flag.key, together(words, find_key(flag.key, where)), where);
}

}  // namespace

void ExperimentFlags::declare_flag(CLI::App& app, const std::string& name, const std::string& value,
                                   const std::string& doc, const std::string& group, bool optional_value) {
  std::string names = "--" + name, dashed = name;
  std::replace(dashed.begin(), dashed.end(), '_', '-');
  if (dashed != name)
    names = optional_value || group == hf_group ? names + ",--" + dashed : "--" + dashed + "," + names;
  if (name == "modes") names += ",--mode";  // as every other command calls one
  auto held = std::make_shared<Given>();
  given_[name] = held;
  CLI::Option* option = nullptr;
  if (optional_value) {
    option = app.add_flag(names, held->truth, doc)->multi_option_policy(CLI::MultiOptionPolicy::TakeLast);
  } else {
    option = app.add_option_function<std::vector<std::string>>(
        names,
        [held](const std::vector<std::string>& words) {
          held->words.insert(held->words.end(), words.begin(), words.end());
        },
        doc);
    take_one_at_a_time(*option->type_name(value));
  }
  option->group(group);
}

void ExperimentFlags::declare_last(CLI::App& app) {
  app.add_flag("--widen", widen_, "16-bit weights of --init get an fp32 master copy, in mixed modes [train.widen]")
      ->group(own_group);
  app.add_flag("--no-fusion", no_fusion_, "every operation in a launch of its own; the bits are the same [train.fusion]")
      ->group(own_group);
  app.add_flag("--no-replay", no_replay_, "a bad step is not run again under observation [observe.replay]")->group(own_group);
  app.add_flag("--ranges", ranges_, "how far the backward pass reaches is recorded in every step, for ulpscope scale [observe.ranges]")
      ->group(own_group);
  app.add_flag("--shadow", shadow_, "observed steps are run in fp32, too: each tensor's error against it [observe.shadow]")
      ->group(own_group);
  declare_set(app);
}

void ExperimentFlags::declare_set(CLI::App& app) {
  CLI::Option* set = app.add_option("--set", assignments_,
                                    "sets any key of the experiment file; overrides everything else; several times");
  take_one_at_a_time(*set->type_name("KEY=VALUE")->group(own_group));
}

void ExperimentFlags::declare_some(CLI::App& app, const std::vector<std::string>& names) {
  app.add_option("FILE", file_, "experiment file (TOML); see examples/")->type_name("");
  for (const KeyFlag& flag : own_flags)
    if (std::find(names.begin(), names.end(), flag.name) != names.end())
      declare_flag(app, flag.name, flag.value, fmt::format("{} [{}]", flag.doc, flag.key), own_group, false);
}

void ExperimentFlags::declare_for_plan(CLI::App& app) {
  declare_some(app, {"model", "threads", "keep_fp32", "recompute", "accumulate"});
  declare_last(app);
}

void ExperimentFlags::declare_for_sweep(CLI::App& app) {
  declare_some(app, {"model", "threads", "keep_fp32", "accumulate"});
  app.get_option("--accumulate")->group("");   // not in the help
  declare_set(app);
}

void ExperimentFlags::declare_for_run(CLI::App& app) {
  app.add_option("FILE", file_, "experiment file (TOML); see examples/")->type_name("");
  for (const KeyFlag& flag : own_flags) {
    declare_flag(app, flag.name, flag.value, fmt::format("{} [{}]", flag.doc, flag.key), own_group, false);
  }
  declare_last(app);
  app.add_flag("--save-weights", save_weights_, "final weights stay beside the run file, for ulpscope export [run.save_weights]")
      ->group(own_group);
  declare_flag(app, "bf16", "", "[true|false] one mode: bf16; with --tf32 bf16+tf32 [run.modes]", hf_group, true);
  declare_flag(app, "fp16", "", "[true|false] one mode: fp16; with --tf32 fp16+tf32 [run.modes]", hf_group, true);
  declare_flag(app, "tf32", "", "[true|false] products that stay fp32 multiply in tf32 [run.modes]", hf_group, true);
  for (const std::string format : {"bf16", "fp16"})
    declare_flag(app, format + "_full_eval", "",
                 fmt::format("[true|false] held-out evaluation with weights and everything in {} [train.evaluation_format]", format),
                 hf_group, true);
  for (const KeyFlag& flag : hf_flags) {
    const std::string doc = flag.key[0] == '\0' ? flag.doc : fmt::format("{} [{}]", flag.doc, flag.key);
    declare_flag(app, flag.name, flag.value, doc, hf_group, false);
  }
}

bool ExperimentFlags::given(const std::string& name) const {
  const auto found = given_.find(name);
  return found != given_.end() && (!found->second->words.empty() || !found->second->truth.empty());
}

bool ExperimentFlags::more_than_a_file() const {
  return no_fusion_ || no_replay_ || ranges_ || shadow_ || widen_ || save_weights_ || !assignments_.empty() ||
         std::any_of(given_.begin(), given_.end(), [&](const auto& flag) { return given(flag.first); });
}

bool ExperimentFlags::wanted(const std::string& name) const {
  if (!given(name)) return false;
  const std::string& word = given_.at(name)->truth;
  if (!is_flag_value(word)) throw UsageError(fmt::format("--{} {}: it takes true or false", name, word));
  return word == "true" || word == "True";
}

void ExperimentFlags::choose_evaluation(Settings& settings) const {
  const bool bf16 = wanted("bf16_full_eval"), fp16 = wanted("fp16_full_eval");
  if (bf16 && fp16) throw UsageError("at most one of --fp16_full_eval and --bf16_full_eval can be true, but not both");
  for (const std::string format : {"bf16", "fp16"})
    if (format == "bf16" ? bf16 : fp16)
      settings.add_value("train.evaluation_format", KeyValue(format), fmt::format("--{}_full_eval", format));
}

/// --bf16, --fp16 and --tf32 choose the one mode that the Hugging Face trainer would train in.
void ExperimentFlags::choose_mode(Settings& settings) const {
  if (!given("bf16") && !given("fp16") && !given("tf32")) return;
  const bool bf16 = wanted("bf16"), fp16 = wanted("fp16"), tf32 = wanted("tf32");
  if (fp16 && bf16) {
    throw UsageError("at most one of --fp16 and --bf16 can be true, but not both; to compare them: --modes fp16,bf16");
  }
  if (given("modes")) {
    throw UsageError(
        fmt::format("--modes {} does not go with --bf16, --fp16 and --tf32, which choose one mode: give the one or the "
                    "others",
                    fmt::join(given_.at("modes")->words, ",")));
  }
  const std::string lower = bf16 ? "bf16" : fp16 ? "fp16" : "";
  const std::string mode = lower.empty() ? (tf32 ? "tf32" : "fp32") : lower + (tf32 ? "+tf32" : "");
  settings.add_value("run.modes", KeyValue(std::vector<std::string>{mode}),
                     fmt::format("--{}", lower.empty() ? "tf32" : lower));
}

Settings ExperimentFlags::settings() const {
  Settings settings;
  if (!file_.empty()) settings.add_file(file_);
  const auto apply_all = [&](const auto& flags) {
    for (const KeyFlag& flag : flags) {
      if (given(flag.name)) apply(settings, flag, given_.at(flag.name)->words);
    }
  };
  apply_all(own_flags);
  apply_all(hf_flags);
  choose_mode(settings);
  choose_evaluation(settings);
  if (widen_) settings.add_value("train.widen", KeyValue(true), "--widen");
  if (no_fusion_) settings.add_value("train.fusion", KeyValue(false), "--no-fusion");
  if (save_weights_) settings.add_value("run.save_weights", KeyValue(true), "--save-weights");
  if (no_replay_) settings.add_value("observe.replay", KeyValue(false), "--no-replay");
  if (ranges_) settings.add_value("observe.ranges", KeyValue(true), "--ranges");
  if (shadow_) settings.add_value("observe.shadow", KeyValue(true), "--shadow");
  for (const std::string& assignment : assignments_) settings.add_assignment(assignment);
  if (file_.empty() && !settings.has("model.kind")) {
    throw UsageError(fmt::format("no experiment file and no model: give a file, or --model with one of {}",
                                 fmt::join(engine::model_names(), ", ")));
  }
  return settings;
}

std::string keys_help() {
  std::string text = "Keys of the experiment file, for --set too [default]:\n";
  Experiment gpt, mlp;
  mlp.model = engine::MlpConfig{};
  for (const Key& key : keys()) {
    std::string line = fmt::format("  {:<26} {}", key.name, key.doc);
    if (key.choices) line += fmt::format(": {}", fmt::join(key.choices(), ", "));
    std::optional<KeyValue> value = key.get(gpt);
    if (!value) value = key.get(mlp);
    if (value) line += fmt::format(" [{}]", to_toml(*value));
    text += wrapped(line, std::string(29, ' ')) + "\n";
  }
  return text;
}

}  // namespace ulpscope::profiler
