// [[node]], [[override]], [[rewrite]] and [[inject]] as TOML.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>

#include "profiler/experiment/graph_tables.h"
#include "profiler/experiment/keys.h"

namespace ulpscope::profiler {
namespace {

using engine::GraphNode;
using engine::Numbers;

std::string quoted_text(const std::string& text) { return to_toml(KeyValue(text)); }

/// The fewest digits that read back to the same number, by way of a double.
std::string number_text(float value) {
  const std::string text = to_toml(KeyValue(static_cast<double>(value)));
  const std::string few = fmt::format("{}", value);
  double back = 0.0;
  const auto [end, error] = std::from_chars(few.data(), few.data() + few.size(), back);
  const bool same = error == std::errc() && end == few.data() + few.size() && static_cast<float>(back) == value;
  return same ? few : text;
}

std::string list_text(const std::vector<std::int64_t>& list) { return fmt::format("[{}]", fmt::join(list, ", ")); }

std::string numbers_text(const Numbers& n) {
  const auto number = [](double v) { return to_toml(KeyValue(v)); };
  switch (n.kind) {
    case Numbers::Kind::none:
      return "0";
    case Numbers::Kind::constant:
      return number(n.low);
    case Numbers::Kind::list: {
      std::vector<std::string> texts;
      for (const float v : n.list) texts.push_back(number_text(v));
      return fmt::format("[{}]", fmt::join(texts, ", "));
    }
    case Numbers::Kind::normal:
      return fmt::format("{{normal = {}}}", number(n.high));
    case Numbers::Kind::uniform:
      return n.low == -n.high ? fmt::format("{{uniform = {}}}", number(n.high))
                              : fmt::format("{{uniform = [{}, {}]}}", number(n.low), number(n.high));
    case Numbers::Kind::integers:
      return fmt::format("{{integers = {}}}", static_cast<std::int64_t>(n.high));
    case Numbers::Kind::file:
      return quoted_text(n.path);
  }
  return "0";
}

struct AttributeText {
  std::string operator()(std::int64_t v) const { return to_toml(KeyValue(v)); }
  std::string operator()(double v) const { return to_toml(KeyValue(v)); }
  std::string operator()(bool v) const { return to_toml(KeyValue(v)); }
  std::string operator()(const std::string& v) const { return quoted_text(v); }
  std::string operator()(const std::vector<std::int64_t>& v) const { return list_text(v); }
};

std::string node_text(const GraphNode& node) {
  std::string text = fmt::format("\n[[node]]\nname = {}\nop = {}\n", quoted_text(node.name), quoted_text(node.op));
  const std::vector<std::string>& sources = engine::graph_sources();
  if (std::find(sources.begin(), sources.end(), node.op) == sources.end()) {
    text += fmt::format("inputs = {}\n", to_toml(KeyValue(node.inputs)));
    for (const auto& [name, value] : node.attributes.all()) text += fmt::format("{} = {}\n", quoted_text(name), std::visit(AttributeText{}, value));
    return text;
  }
  text += fmt::format("shape = {}\n", list_text(node.shape));
  if (node.format != Format::fp32) text += fmt::format("format = \"{}\"\n", name(node.format));
  if (node.init.kind != Numbers::Kind::none) text += fmt::format("init = {}\n", numbers_text(node.init));
  if (node.values.size() == 1) text += fmt::format("values = {}\n", numbers_text(node.values.front()));
  if (node.values.size() > 1) {
    std::vector<std::string> steps;
    for (const Numbers& n : node.values) steps.push_back(numbers_text(n));
    text += fmt::format("steps = [{}]\n", fmt::join(steps, ", "));
  }
  return text;
}

std::string format_text(const char* key, const std::optional<engine::OverrideFormat>& format) {
  if (!format) return "";
  return fmt::format("{} = \"{}\"\n", key, format->lower ? "lower" : name(format->format));
}

std::string override_text(const engine::Override& o) {
  std::string text = fmt::format("\n[[override]]\nnodes = {}\n", quoted_text(o.nodes));
  text += format_text("output", o.output) + format_text("compute", o.compute) + format_text("accumulate", o.accumulate);
  if (o.order) text += fmt::format("order = \"{}\"\n", name(*o.order));
  return text + format_text("scalar", o.scalar);
}

std::string rewrite_text(const engine::Rewrite& r) {
  std::string text = fmt::format("\n[[rewrite]]\nkind = \"{}\"\nnodes = {}\n", engine::name(r.kind), quoted_text(r.nodes));
  if (r.kind == engine::Rewrite::Kind::rescale) text += fmt::format("factor = {}\n", to_toml(KeyValue(r.factor)));
  if (r.kind == engine::Rewrite::Kind::clamp) text += fmt::format("limit = {}\n", to_toml(KeyValue(r.limit)));
  return text;
}

std::string injection_text(const engine::Injection& i) {
  std::string text = fmt::format("\n[[inject]]\nstep = {}\nvalue = {}\n", i.step, quoted_text(i.value));
  if (!i.elements.empty()) text += fmt::format("index = {}\n", list_text(i.elements));
  return text + fmt::format("number = {}\n", to_toml(KeyValue(i.number)));
}

}  // namespace

std::string node_tables_toml(const Experiment& experiment) {
  std::string text;
  if (const auto* graph = std::get_if<engine::GraphConfig>(&experiment.model))
    for (const GraphNode& node : graph->nodes) text += node_text(node);
  return text;
}

std::string change_tables_toml(const Experiment& experiment) {
  std::string text;
  for (const engine::Override& o : experiment.train.overrides) text += override_text(o);
  for (const engine::Rewrite& r : experiment.train.rewrites) text += rewrite_text(r);
  for (const engine::Injection& i : experiment.train.injections) text += injection_text(i);
  return text;
}

}  // namespace ulpscope::profiler
