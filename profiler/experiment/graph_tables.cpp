#include "profiler/experiment/graph_tables.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "engine/data/npy.h"
#include "kernels/error.h"
#include "kernels/nearest.h"

namespace ulpscope::profiler {
namespace {

namespace fs = std::filesystem;
using engine::GraphNode;
using engine::Numbers;

/// One table of an array: finds its keys, and says what is wrong with them.
class Table {
 public:
  Table(const toml::table& table, std::string_view kind, const std::string& file)
      : table_(table), kind_(kind), where_(fmt::format("{}:{}", file, table.source().begin.line)), file_(file) {}

  const toml::table& toml() const { return table_; }
  const std::string& where() const { return where_; }
  void set_name(const std::string& name) { name_ = name; }
  bool has(std::string_view key) const { return table_.contains(key); }
  const toml::node* find(std::string_view key) const { return table_.get(key); }

  /// At the line of the key, if it has one of its own.
  [[noreturn]] void refuse(const std::string& reason, const toml::node* at = nullptr) const {
    const std::string where = at == nullptr || at->source().begin.line == 0 ? where_ : fmt::format("{}:{}", file_, at->source().begin.line);
    throw UsageError(fmt::format("{}: {}: {}", where, name_.empty() ? fmt::format("[[{}]]", kind_) : fmt::format("{} '{}'", kind_, name_), reason));
  }

  void only(const std::vector<std::string>& keys) const {
    for (const auto& [key, value] : table_) {
      const std::string name(key.str());
      if (std::find(keys.begin(), keys.end(), name) != keys.end()) continue;
      refuse(fmt::format("unknown key {}; did you mean {}? Keys: {}", name, nearest(name, keys), fmt::join(keys, ", ")), &value);
    }
  }

  std::string text(std::string_view key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) refuse(fmt::format("{} is missing", key));
    if (!node->is_string()) refuse(fmt::format("{} must be a text", key), node);
    return node->as_string()->get();
  }
  std::string text_or(std::string_view key, const std::string& fallback) const { return has(key) ? text(key) : fallback; }

  std::vector<std::string> texts(std::string_view key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return {};
    if (node->is_string()) return {node->as_string()->get()};
    std::vector<std::string> list;
    const toml::array* array = node->as_array();
    if (array == nullptr) refuse(fmt::format("{} must be a text or a list of texts", key), node);
    for (const toml::node& element : *array) {
      if (!element.is_string()) refuse(fmt::format("{} must be a text or a list of texts", key), node);
      list.push_back(element.as_string()->get());
    }
    return list;
  }

  double number(std::string_view key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) refuse(fmt::format("{} is missing", key));
    if (!node->is_number()) refuse(fmt::format("{} must be a number", key), node);
    return *node->value<double>();
  }

  std::vector<std::int64_t> integers(std::string_view key) const {
    const toml::node* node = table_.get(key);
    if (node == nullptr) return {};
    if (node->is_integer()) return {node->as_integer()->get()};
    std::vector<std::int64_t> list;
    const toml::array* array = node->as_array();
    if (array == nullptr) refuse(fmt::format("{} must be a list of whole numbers", key), node);
    for (const toml::node& element : *array) {
      if (!element.is_integer()) refuse(fmt::format("{} must be a list of whole numbers", key), node);
      list.push_back(element.as_integer()->get());
    }
    return list;
  }

 private:
  const toml::table& table_;
  std::string kind_, where_, file_, name_;
};

std::vector<Table> tables_of(const toml::node& value, std::string_view kind, const std::string& file) {
  const toml::array* array = value.as_array();
  const std::string where = fmt::format("{}:{}", file, value.source().begin.line);
  if (array == nullptr || !std::all_of(array->begin(), array->end(), [](const toml::node& n) { return n.is_table(); }))
    throw UsageError(fmt::format("{}: {} is a list of tables: write [[{}]]", where, kind, kind));
  std::vector<Table> tables;
  for (const toml::node& element : *array) tables.emplace_back(*element.as_table(), kind, file);
  return tables;
}

// ---- numbers

constexpr std::int64_t most_listed = 1 << 20;
const std::vector<std::string> distributions = {"zeros", "ones", "constant", "normal", "uniform", "integers"};

/// Row-major; `shape` grows by the dimensions of the first element.
void flatten(const Table& table, const toml::array& array, std::size_t depth, Numbers& n, std::vector<std::int64_t>& shape) {
  if (shape.size() == depth) shape.push_back(static_cast<std::int64_t>(array.size()));
  if (shape[depth] != static_cast<std::int64_t>(array.size())) table.refuse("rows of a list differ in length", &array);
  for (const toml::node& element : array) {
    if (const toml::array* inner = element.as_array()) {
      flatten(table, *inner, depth + 1, n, shape);
    } else if (element.is_number() && shape.size() == depth + 1) {
      n.list.push_back(static_cast<float>(*element.value<double>()));
    } else {
      table.refuse("a list holds numbers, or lists of equal length", &element);
    }
  }
}

/// {first = [1, 2], rest = 0.5}: a list, its end being the same number again and again.
Numbers read_rest(const Table& table, const toml::table& words, const char* key) {
  const toml::array* first = words.get_as<toml::array>("first");
  const toml::node* rest = words.get("rest");
  if (words.size() != 2 || first == nullptr || rest == nullptr || !rest->is_number())
    table.refuse(fmt::format("{}: write {{first = [numbers], rest = number}}", key), &words);
  std::int64_t elements = 1;
  for (const std::int64_t d : table.integers("shape")) elements = std::min(most_listed + 1, elements * std::clamp(d, std::int64_t{0}, most_listed + 1));
  Numbers n;
  n.kind = Numbers::Kind::list;
  std::vector<std::int64_t> shape;
  flatten(table, *first, 0, n, shape);
  if (static_cast<std::int64_t>(n.list.size()) > elements || elements > most_listed)
    table.refuse(fmt::format("{}: first has {} numbers, and shape takes {} (at most {})", key, n.list.size(), elements, most_listed), &words);
  n.list.resize(static_cast<std::size_t>(elements), static_cast<float>(*rest->value<double>()));
  return n;
}

Numbers read_distribution(const Table& table, const toml::table& words, const char* key) {
  const auto wrong = [&](const std::string& reason) {
    table.refuse(fmt::format("{}: {}. Choices: a number, a list, \"file.npy\", {{{} = …}}", key, reason, fmt::join(distributions, " = …}, {")),
                 &words);
  };
  if (words.contains("first") || words.contains("rest")) return read_rest(table, words, key);
  if (words.size() != 1) wrong("one distribution at a time");
  const std::string name(words.begin()->first.str());
  const toml::node& value = words.begin()->second;
  if (std::find(distributions.begin(), distributions.end(), name) == distributions.end())
    wrong(fmt::format("unknown distribution '{}', did you mean '{}'?", name, nearest(name, distributions)));
  Numbers n;
  n.kind = Numbers::Kind::constant;
  if (name == "zeros" || name == "ones") {
    if (!value.is_boolean() || !value.as_boolean()->get()) wrong(name + " takes true");
    n.low = name == "ones" ? 1.0 : 0.0;
    return n;
  }
  const toml::array* range = value.as_array();
  if (name == "uniform" && range != nullptr && range->size() == 2 && range->get(0)->is_number() && range->get(1)->is_number()) {
    n.kind = Numbers::Kind::uniform;
    n.low = *range->get(0)->value<double>();
    n.high = *range->get(1)->value<double>();
    if (!(n.low < n.high)) wrong("uniform takes [low, high] with low < high");
    return n;
  }
  if (!value.is_number()) wrong(fmt::format("{} takes a number{}", name, name == "uniform" ? " or [low, high]" : ""));
  const double number = *value.value<double>();
  if (name == "constant") {
    n.low = number;
    return n;
  }
  if (!(number > 0)) wrong(name + " takes a number above 0");
  n.high = number;
  if (name == "normal") n.kind = Numbers::Kind::normal;
  if (name == "uniform") n.kind = Numbers::Kind::uniform, n.low = -number;
  if (name == "integers") {
    n.kind = Numbers::Kind::integers;
    if (!value.is_integer() || number > 0x1p24) wrong("integers takes a whole number n of at most 2^24: 0 … n - 1 are drawn");
  }
  return n;
}

/// `shape`: that of the list or file; empty for anything else.
Numbers read_numbers(const Table& table, const toml::node& value, const char* key, const std::string& folder,
                     std::vector<std::int64_t>& shape) {
  Numbers n;
  if (value.is_number()) {
    n.kind = Numbers::Kind::constant;
    n.low = *value.value<double>();
  } else if (const toml::array* array = value.as_array()) {
    n.kind = Numbers::Kind::list;
    flatten(table, *array, 0, n, shape);
  } else if (const toml::table* words = value.as_table()) {
    n = read_distribution(table, *words, key);
  } else if (value.is_string()) {
    n.kind = Numbers::Kind::file;
    n.path = fs::absolute(fs::path(folder) / value.as_string()->get()).lexically_normal().string();
    try {
      const engine::Array array_of_file = engine::read_npy(n.path);
      n.list = array_of_file.numbers();
      shape = array_of_file.shape;
    } catch (const UsageError& error) {
      table.refuse(fmt::format("{}: {}", key, error.what()), &value);
    }
  } else {
    table.refuse(fmt::format("{} takes a number, a list, \"file.npy\" or a distribution", key), &value);
  }
  return n;
}

// ---- [[node]]

engine::Attribute read_attribute(const Table& table, const std::string& name, const toml::node& value) {
  if (const auto* v = value.as_boolean()) return v->get();
  if (const auto* v = value.as_integer()) return v->get();
  if (const auto* v = value.as_floating_point()) return v->get();
  if (const auto* v = value.as_string()) return v->get();
  if (value.is_array()) return table.integers(name);
  table.refuse(fmt::format("{} takes true or false, a number, a text or a list of whole numbers", name), &value);
}

Format read_input_format(const Table& table) {
  const std::string text = table.text_or("format", "fp32");
  if (text == "fp32") return Format::fp32;
  if (text == "i32") return Format::i32;
  table.refuse(fmt::format("format = \"{}\" is not known. Choices: fp32, i32", text), table.find("format"));
}

void read_source(const Table& table, GraphNode& node, const std::string& folder) {
  const bool input = node.op == "input";
  std::vector<std::string> keys{"name", "op", "shape"};
  for (const char* key : input ? std::vector<const char*>{"values", "steps", "format"} : std::vector<const char*>{"init"}) keys.emplace_back(key);
  if (node.op == "constant") keys.emplace_back("format");
  table.only(keys);
  node.format = read_input_format(table);
  std::vector<std::int64_t> shape;
  if (const toml::node* init = table.find("init")) node.init = read_numbers(table, *init, "init", folder, shape);
  if (const toml::node* values = table.find("values")) node.values = {read_numbers(table, *values, "values", folder, shape)};
  if (const toml::node* steps = table.find("steps")) {
    const toml::array* list = steps->as_array();
    if (table.has("values")) table.refuse("values is for all steps, steps for one after the other: one of them", steps);
    if (list == nullptr || list->empty()) table.refuse("steps is a list: what the input holds in each step, the last staying", steps);
    for (const toml::node& step : *list) {
      std::vector<std::int64_t> own;
      node.values.push_back(read_numbers(table, step, "steps", folder, own));
      if (!own.empty()) shape = own;
    }
  }
  node.shape = table.has("shape") ? table.integers("shape") : shape;
}

GraphNode read_node(Table table, const std::string& folder) {
  GraphNode node;
  node.name = table.text("name");
  table.set_name(node.name);
  if (node.name.empty()) table.refuse("a name has at least one character", table.find("name"));
  if (node.name.find_first_of(",*?") != std::string::npos)
    table.refuse("a name has no comma, * or ?: settings name nodes in lists and by patterns, and none could mean this one alone", table.find("name"));
  node.where = table.where();
  node.op = table.text("op");
  const std::vector<std::string>& sources = engine::graph_sources();
  if (std::find(sources.begin(), sources.end(), node.op) != sources.end()) {
    read_source(table, node, folder);
    return node;
  }
  node.inputs = table.texts("inputs");
  for (const auto& [key, value] : table.toml()) {
    const std::string name(key.str());
    if (name != "name" && name != "op" && name != "inputs") node.attributes.set(name, read_attribute(table, name, value));
  }
  return node;
}

/// Of [[override]] and [[rewrite]]: a list of none would change nothing.
std::vector<std::string> node_patterns(const Table& table) {
  const std::vector<std::string> patterns = table.texts("nodes");
  if (patterns.empty())
    table.refuse(fmt::format("nodes is {}: a pattern (*, ?) of node names, or a list of them", table.has("nodes") ? "empty" : "missing"), table.find("nodes"));
  return patterns;
}

// ---- [[override]]

std::optional<engine::OverrideFormat> read_override_format(const Table& table, const char* key) {
  if (!table.has(key)) return std::nullopt;
  const std::string text = table.text(key);
  if (text == "lower") return engine::OverrideFormat{true, Format::fp32};
  std::vector<std::string> choices{"fp32", "fp16", "bf16", "lower"};
  if (key == std::string_view("compute")) choices.emplace_back("tf32");
  if (std::find(choices.begin(), choices.end(), text) == choices.end())
    table.refuse(fmt::format("{} = \"{}\" is not known; did you mean \"{}\"? Choices: {}", key, text, nearest(text, choices), fmt::join(choices, ", ")),
                 table.find(key));
  return engine::OverrideFormat{false, *parse_format(text)};
}

void read_override(const Table& table, std::vector<engine::Override>& list) {
  table.only({"nodes", "output", "compute", "accumulate", "order", "scalar"});
  engine::Override o;
  o.where = table.where();
  o.output = read_override_format(table, "output");
  o.compute = read_override_format(table, "compute");
  o.accumulate = read_override_format(table, "accumulate");
  o.scalar = read_override_format(table, "scalar");
  if (table.has("order")) {
    o.order = parse_sum_order(table.text("order"));
    if (!o.order)
      table.refuse(fmt::format("order = \"{}\" is not known. Choices: tree, serial, pairwise, lanes32", table.text("order")), table.find("order"));
  }
  if (!o.output && !o.compute && !o.accumulate && !o.scalar && !o.order)
    table.refuse("says nothing: output, compute, accumulate, order or scalar");
  for (const std::string& pattern : node_patterns(table)) {
    o.nodes = pattern;
    list.push_back(o);
  }
}

// ---- [[rewrite]]

void read_rewrite(const Table& table, std::vector<engine::Rewrite>& list) {
  table.only({"kind", "nodes", "factor", "limit"});
  const std::string text = table.text("kind");
  const auto kind = engine::parse_rewrite(text);
  const std::vector<std::string>& choices = engine::rewrite_names();
  if (!kind)
    table.refuse(fmt::format("kind = \"{}\" is not known; did you mean \"{}\"? Choices: {}", text, nearest(text, choices), fmt::join(choices, ", ")), table.find("kind"));
  engine::Rewrite rewrite{.kind = *kind, .where = table.where()};
  const bool rescale = *kind == engine::Rewrite::Kind::rescale;
  if (!rescale && table.has("factor")) table.refuse(fmt::format("factor is for rescale, not for {}", text), table.find("factor"));
  if (rescale) rewrite.factor = table.number("factor");
  if (rescale && (!engine::is_power_of_two(rewrite.factor) || rewrite.factor >= 1.0))
    table.refuse(fmt::format("factor = {:g}: it must be a power of two below 1, such as 0.5", rewrite.factor), table.find("factor"));
  const bool clamp = *kind == engine::Rewrite::Kind::clamp;
  if (!clamp && table.has("limit")) table.refuse(fmt::format("limit is for clamp, not for {}", text), table.find("limit"));
  if (clamp && table.has("limit")) rewrite.limit = table.number("limit");
  if (!(rewrite.limit > 0.0) || !std::isfinite(rewrite.limit))
    table.refuse(fmt::format("limit = {:g}: it must be above 0 and finite, such as 65504", rewrite.limit), table.find("limit"));
  for (const std::string& pattern : node_patterns(table)) {
    rewrite.nodes = pattern;
    list.push_back(rewrite);
  }
}

// ---- [[inject]]

engine::Injection read_injection(const Table& table) {
  table.only({"step", "value", "index", "number"});
  engine::Injection injection;
  injection.where = table.where();
  const std::vector<std::int64_t> step = table.integers("step");
  if (step.size() != 1 || step.front() < 0) table.refuse("step must be a whole number, at least 0", table.find("step"));
  injection.step = step.front();
  injection.value = table.text("value");
  injection.elements = table.integers("index");
  injection.number = table.number("number");
  return injection;
}

}  // namespace

const std::vector<std::string>& graph_table_names() {
  static const std::vector<std::string> names{"node", "override", "rewrite", "inject"};
  return names;
}

void read_graph_table(std::string_view name, const toml::node& value, const std::string& file, const std::string& folder,
                      GraphTables& tables) {
  const std::vector<Table> list = tables_of(value, name, file);
  if (name == "node") {
    tables.nodes.emplace();
    for (const Table& table : list) tables.nodes->push_back(read_node(table, folder));
  } else if (name == "override") {
    tables.overrides.emplace();
    for (const Table& table : list) read_override(table, *tables.overrides);
  } else if (name == "rewrite") {
    tables.rewrites.emplace();
    for (const Table& table : list) read_rewrite(table, *tables.rewrites);
  } else {
    tables.injections.emplace();
    for (const Table& table : list) tables.injections->push_back(read_injection(table));
  }
}

}  // namespace ulpscope::profiler
