#include "profiler/experiment/experiment_file.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <utility>

#include "kernels/error.h"
#include "kernels/nearest.h"
#include "profiler/experiment/key_parts.h"
#include "profiler/experiment/load_data.h"

namespace ulpscope::profiler {
namespace {

constexpr std::string_view sqlite_magic = "SQLite format 3";

namespace fs = std::filesystem;

std::string absolute_path(const std::string& path, const fs::path& folder) {
  if (path.empty()) return path;  // refused where data is loaded
  return fs::absolute(folder / path).lexically_normal().string();
}

std::string place(const std::string& path, const toml::node& node) {
  return fmt::format("{}:{}", path, node.source().begin.line);
}

std::vector<std::string> table_names() {
  std::vector<std::string> names;
  for (const Key& key : keys()) {
    std::string table = key.name.substr(0, key.name.rfind('.'));
    if (std::find(names.begin(), names.end(), table) == names.end()) names.push_back(std::move(table));
  }
  return names;
}

KeyValue read_value(const toml::node& node, const Key& key, const std::string& where) {
  if (const auto* value = node.as_boolean()) return value->get();
  if (const auto* value = node.as_integer()) return value->get();
  if (const auto* value = node.as_floating_point()) return value->get();
  if (const auto* value = node.as_string()) return value->get();
  if (const auto* array = node.as_array()) {
    std::vector<std::string> texts;
    for (const toml::node& element : *array) {
      if (!element.is_string()) {
        throw UsageError(
            fmt::format("{}: {} has an element that is not a text: it takes {}", where, key.name, describe_type(key)));
      }
      texts.push_back(element.as_string()->get());
    }
    return texts;
  }
  throw UsageError(fmt::format("{}: {} has the wrong type: it takes {}", where, key.name, describe_type(key)));
}

/// Keys whose value is the path of one file that is read.
bool is_file_key(std::string_view name) { return name == "data.features" || name == "data.labels" || name == "model.weights"; }

bool is_graph_table(const std::string& name) {
  const std::vector<std::string>& names = graph_table_names();
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// Calls `each(name, node)` for every key of the file, nested tables by dotted name.
template <class Each>
void walk(const toml::table& table, const std::string& prefix, const std::string& path, const Each& each) {
  const std::vector<std::string> known = table_names();
  for (const auto& [name, node] : table) {
    const std::string full = prefix.empty() ? std::string(name.str()) : fmt::format("{}.{}", prefix, name.str());
    const toml::table* inner = node.as_table();
    if (inner == nullptr || is_graph_table(full)) {
      each(full, node);
      continue;
    }
    if (std::find(known.begin(), known.end(), full) == known.end()) {
      throw UsageError(fmt::format("{}: unknown table [{}]; did you mean [{}]? Tables: {}; lists of tables: [[{}]]",
                                   place(path, node), full, nearest(full, known), fmt::join(known, ", "),
                                   fmt::join(graph_table_names(), "]], [[")));
    }
    walk(*inner, full, path, each);
  }
}

/// A device or a pipe: it may have no end, or nobody who writes to it.
bool is_special(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored) && !fs::is_regular_file(path, ignored) && !fs::is_directory(path, ignored);
}

std::string read_file(const std::string& path) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) throw UsageError(fmt::format("{} is a folder, not an experiment file", path));
  if (is_special(path)) throw UsageError(fmt::format("{} is not a plain file", path));
  std::ifstream in(path, std::ios::binary);
  if (!in) throw UsageError(fmt::format("cannot read the experiment file {}: {}", path, std::strerror(errno)));
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

}  // namespace

bool is_run_file(const std::string& path) {
  if (is_special(path)) return false;
  std::ifstream in(path, std::ios::binary);
  std::string begin(sqlite_magic.size(), ' ');
  return in.read(begin.data(), static_cast<std::streamsize>(begin.size())) && begin == sqlite_magic;
}

void Settings::add_file(const std::string& path) {
  const std::string text = read_file(path);
  if (text.starts_with(sqlite_magic))
    throw UsageError(fmt::format("{} is a run file, not an experiment file: ulpscope run {} --resume goes on with it, ulpscope info {} shows "
                                 "what is in it", path, path, path));
  add_text(text, path);
}

void Settings::add_text(std::string_view toml, const std::string& path) {
  if (const auto line = line_of_long_key(toml))
    throw UsageError(fmt::format("{}:{}: a key of more than {} parts: there is none that has as many", path, *line, most_key_parts));
  toml::table table;
  try {
    table = toml::parse(toml, path);
  } catch (const toml::parse_error& error) {
    const std::string_view words = error.description();
    // toml++'s words for a well-formed number that no double holds
    const bool too_large = words.find("floating-point") != std::string_view::npos &&
                           words.find("could not be interpreted as a value") != std::string_view::npos;
    throw UsageError(fmt::format("{}:{}: {}: {}", path, error.source().begin.line,
                                 too_large ? "a number is out of range" : "not valid TOML", words));
  }
  const fs::path folder = fs::path(path).parent_path();
  walk(table, "", path, [&](const std::string& name, const toml::node& node) {
    if (is_graph_table(name)) return read_graph_table(name, node, path, folder.string(), tables_);
    const std::string where = place(path, node);
    const Key& key = find_key(name, where);
    KeyValue value = read_value(node, key, where);
    if (is_file_key(key.name)) {
      if (auto* file = std::get_if<std::string>(&value)) *file = absolute_path(*file, folder);
    }
    if (key.name == "data.path") {
      if (auto* one = std::get_if<std::string>(&value)) value = std::vector<std::string>{*one};
      if (auto* paths = std::get_if<std::vector<std::string>>(&value)) {
        for (std::string& p : *paths) p = absolute_path(p, folder);
      }
    }
    given_.push_back({&key, std::move(value), where});
  });
  name_ = fs::path(path).stem().string();
}

void Settings::add_words(std::string_view name, std::string_view words, const std::string& where) {
  const Key& key = find_key(name, where);
  given_.push_back({&key, parse_words(key, words, where), where});
}

void Settings::add_value(std::string_view name, KeyValue value, const std::string& where) {
  given_.push_back({&find_key(name, where), std::move(value), where});
}

void Settings::add_assignment(const std::string& assignment) {
  const std::string where = "--set " + assignment;
  const std::size_t equals = assignment.find('=');
  if (equals == std::string::npos) {
    throw UsageError(
        fmt::format("{}: there is no value: write --set {}=VALUE", where, assignment.empty() ? "KEY" : assignment));
  }
  add_words(std::string_view(assignment).substr(0, equals), std::string_view(assignment).substr(equals + 1), where);
}

bool Settings::has(std::string_view key) const {
  return std::any_of(given_.begin(), given_.end(), [&](const Given& g) { return g.key->name == key; });
}

/// "keep_fp32: …" of the engine as "gpt.toml:12: train.keep_fp32: …".
std::string Settings::with_place(const std::string& message) const {
  constexpr std::array<std::pair<std::string_view, std::string_view>, 6> keys_of{{{"keep_fp32: ", "train."},
                                                                                  {"recompute: ", "train."},
                                                                                  {"threads: ", "run."},
                                                                                  {"observe.nodes: ", ""},
                                                                                  {"model.weights: ", ""},
                                                                                  {"train.accumulate_as: ", ""}}};
  for (const auto& [beginning, table] : keys_of) {
    if (!message.starts_with(beginning)) continue;
    const std::string key = fmt::format("{}{}", table, beginning.substr(0, beginning.size() - 2));
    const auto last = std::find_if(given_.rbegin(), given_.rend(), [&](const Given& g) { return g.key->name == key; });
    return fmt::format("{}{}{}", last == given_.rend() ? "" : last->where + ": ", table, message);
  }
  return message;
}

Experiment Settings::build() const {
  Experiment experiment;
  check_fixed_scale();
  // What decides which other keys there are comes first.
  const auto decides = [](const Given& given) { return given.key->name == "model.kind" || given.key->name == "train.scaler.policy"; };
  for (const Given& given : given_) {
    if (decides(given)) set_key(experiment, *given.key, given.value, given.where);
  }
  std::string model_place;
  for (const Given& given : given_) {
    if (!decides(given)) set_key(experiment, *given.key, given.value, given.where);
    if (given.key->name.starts_with("model.")) model_place = given.where.substr(0, given.where.find(':')) + ": ";
  }
  set_tables(experiment);
  set_graph_batch(experiment);
  for (std::string& path : experiment.data.paths) path = absolute_path(path, fs::current_path());
  for (std::string* path : {&experiment.data.features, &experiment.data.labels, &experiment.train.weights})
    *path = absolute_path(*path, fs::current_path());
  for (const Given& given : given_)
    if (given.key->name == "model.classes") experiment.data.classes = std::get<std::int64_t>(given.key->get(experiment).value_or(KeyValue(std::int64_t{0})));
  scaling::check(experiment.train.scaler, "train.scaler");
  engine::check(experiment.train, "train");
  experiment.train.schedule.steps = experiment.train.steps;
  experiment.name = name_.empty() ? std::string(engine::name(experiment.model)) : name_;
  try {
    engine::build_model(experiment.model, experiment.train.batch, true);
  } catch (const UsageError& error) {
    const bool node_place = std::holds_alternative<engine::GraphConfig>(experiment.model) && !std::string_view(error.what()).starts_with("model.");
    throw UsageError((node_place ? "" : model_place) + error.what());
  }
  return experiment;
}

void Settings::set_tables(Experiment& experiment) const {
  if (tables_.nodes) {
    auto* graph = std::get_if<engine::GraphConfig>(&experiment.model);
    if (graph == nullptr)
      throw UsageError(fmt::format("{}: a [[node]] needs model.kind = \"graph\", not \"{}\"",
                                   tables_.nodes->empty() ? "[[node]]" : tables_.nodes->front().where, engine::name(experiment.model)));
    graph->nodes = *tables_.nodes;
  }
  if (tables_.overrides) experiment.train.overrides = *tables_.overrides;
  if (tables_.rewrites) experiment.train.rewrites = *tables_.rewrites;
  if (!tables_.injections) return;
  experiment.train.injections = *tables_.injections;
  for (const engine::Injection& i : experiment.train.injections)
    if (i.step >= experiment.train.steps)
      throw UsageError(fmt::format("{}: [[inject]] step = {} is never reached: there are {} steps, counted from 0", i.where, i.step,
                                   experiment.train.steps));
}

void Settings::set_graph_batch(Experiment& experiment) const {
  if (!makes_own_data(experiment)) return;
  std::int64_t batch = 1;
  for (const engine::GraphNode& node : std::get<engine::GraphConfig>(experiment.model).nodes) {
    if (node.op != "input") continue;
    if (!node.shape.empty()) batch = node.shape.front();
    break;
  }
  const auto given = std::find_if(given_.rbegin(), given_.rend(), [](const Given& g) { return g.key->name == "train.batch"; });
  if (given != given_.rend() && experiment.train.batch != batch)
    throw UsageError(fmt::format("{}: train.batch = {} does not fit the graph, whose first input has a batch of {}: leave it out",
                                 given->where, experiment.train.batch, batch));
  experiment.train.batch = batch;
}

void Settings::check_fixed_scale() const {
  const auto fixed =
      std::find_if(given_.begin(), given_.end(), [](const Given& g) { return g.key->name == "train.scaler.fixed"; });
  if (fixed == given_.end()) return;
  for (const Given& given : given_) {
    if (given.key == fixed->key || !given.key->name.starts_with("train.scaler.")) continue;
    if (given.key->name == "train.scaler.policy" && given.value == KeyValue(std::string("fixed"))) continue;
    throw UsageError(fmt::format("{}: {} does not go with train.scaler.fixed ({}): a scale is fixed or dynamic",
                                 given.where, given.key->name, fixed->where));
  }
}

std::string to_toml(const Experiment& experiment) {
  std::string text, table;
  for (const Key& key : keys()) {
    const std::optional<KeyValue> value = key.get(experiment);
    if (!value) continue;
    const std::size_t dot = key.name.rfind('.');
    if (key.name.substr(0, dot) != table) {
      table = key.name.substr(0, dot);
      text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", table);
    }
    text += fmt::format("{} = {}\n", key.name.substr(dot + 1), to_toml(*value));
  }
  return text + node_tables_toml(experiment) + change_tables_toml(experiment);
}

}  // namespace ulpscope::profiler
