#include "engine/passes/autocast.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "engine/passes/pattern.h"
#include "kernels/error.h"
#include "kernels/nearest.h"

namespace ulpscope::engine {
namespace {

class Autocast {
 public:
  Autocast(const Graph& from, const AutocastOptions& options)
      : from_(from), options_(options), map_(static_cast<std::size_t>(from.value_count())), copies_(map_.size()) {}

  Graph run(std::vector<ValueId>* map) {
    if (options_.check_patterns) check_patterns();
    for (std::int32_t i = 0; i < from_.value_count(); ++i) {
      const Value& v = from_.value(ValueId{i});
      if (!v.producer) map_[static_cast<std::size_t>(i)] = add_source(v);
    }
    for (const Node& node : from_.nodes()) add(node);
    if (map != nullptr) *map = map_;
    return std::move(to_);
  }

 private:
  ValueId add_source(const Value& v) {
    switch (v.role) {
      case Role::input: return to_.add_input(v.name, v.shape, v.format);
      case Role::parameter: return to_.add_parameter(v.name, v.shape, v.initial, v.format);
      case Role::constant: return to_.add_constant(v.name, v.shape, v.initial, v.format);
      default: throw Error(fmt::format("autocast: value '{}' has no producer and is a {}", v.name, name(v.role)));
    }
  }

  void check_patterns() const {
    std::vector<std::string> names;
    for (const Node& node : from_.nodes()) names.push_back(node.name);
    for (const std::string& pattern : options_.keep_fp32) {
      bool used = false;
      for (const std::string& n : names) used |= matches(pattern, n);
      if (!used)
        throw UsageError(fmt::format("keep_fp32: '{}' matches no node; the nearest is '{}', `ulpscope plan` lists them all",
                                     pattern, nearest(pattern, names)));
    }
  }

  const std::string* override_of(const Node& node) const {
    for (const std::string& pattern : options_.keep_fp32)
      if (matches(pattern, node.name)) return &pattern;
    return nullptr;
  }

  /// fp64 and indices are not eligible: autocast leaves them as they are.
  static bool eligible(Format format) { return is_float(format) && format != Format::fp64; }

  /// The value in another format: through the weight's shared copy, or a cast of its own. As PyTorch's cache, only leaves
  /// are shared: a view of a weight is cast for each use.
  ValueId cast_to(ValueId value, Format format, const Node& user, std::size_t input) {
    const Value& v = to_.value(value);
    if (v.format == format || !eligible(v.format)) return value;
    const bool weight = v.role == Role::parameter && !v.producer && !v.same_memory_as && is_16bit(format);
    if (weight && copies_of(value)) return copies_of(value);
    Node cast;
    cast.op = &operators().find("cast");
    cast.name = weight ? fmt::format("{}.{}", v.name, name(format)) : fmt::format("{}.in{}.{}", user.name, input, name(format));
    cast.inputs = {value};
    cast.attributes.set("to", std::string(name(format)));
    cast.why = weight ? fmt::format("autocast: {} copy of the weight, cast once a step", name(format))
                      : fmt::format("autocast: {} reads {}", user.name, name(format));
    const ValueId result = to_.node(to_.add_node(std::move(cast))).outputs.front();
    if (weight) {
      to_.value(result).role = Role::weight_copy;
      copies_.resize(static_cast<std::size_t>(to_.value_count()));
      copies_[static_cast<std::size_t>(value.index)] = result;
    }
    return result;
  }

  ValueId copies_of(ValueId value) const {
    const auto i = static_cast<std::size_t>(value.index);
    return i < copies_.size() ? copies_[i] : ValueId{};
  }

  void cast_inputs(Node& node, Format format) {
    for (std::size_t i = 0; i < node.inputs.size(); ++i) node.inputs[i] = cast_to(node.inputs[i], format, node, i);
  }

  /// i32 if no input is eligible.
  Format widest_eligible_input(const Node& node) const {
    Format widest = Format::i32;
    for (const ValueId v : node.inputs)
      if (eligible(to_.value(v).format)) widest = promote(widest, to_.value(v).format);
    return widest;
  }

  bool reads_fp64(const Node& node) const {
    return std::any_of(node.inputs.begin(), node.inputs.end(), [&](ValueId v) { return to_.value(v).format == Format::fp64; });
  }

  /// "fp16 inputs"; "fp32 and fp16 inputs, the widest wins".
  std::string describe_inputs(const Node& node) const {
    std::vector<std::string> formats;
    for (const ValueId v : node.inputs) {
      const Format format = to_.value(v).format;
      if (is_float(format) && std::find(formats.begin(), formats.end(), name(format)) == formats.end())
        formats.emplace_back(name(format));
    }
    if (formats.empty()) return "indices";
    return fmt::format("{} inputs{}", fmt::join(formats, " and "), formats.size() > 1 ? ", the widest wins" : "");
  }

  void choose_formats(Node& node) {
    const Mode& mode = options_.mode;
    if (const std::string* pattern = override_of(node)) {
      cast_inputs(node, Format::fp32);
      node.why = fmt::format("override: kept in fp32 by '{}'", *pattern);
    } else if (!mode.mixed()) {
      node.why = "no autocast in " + mode.name;
    } else {
      const std::string& listed = node.op->autocast;
      const CastClass c = options_.policy->class_of(listed);
      switch (c) {
        case CastClass::lower:
          cast_inputs(node, mode.lower);
          node.why = fmt::format("{}: {} is on the lower list", options_.policy->name, listed);
          break;
        case CastClass::fp32:
          cast_inputs(node, Format::fp32);
          node.why = fmt::format("{}: {} is on the fp32 list", options_.policy->name, listed);
          break;
        case CastClass::widest:
          cast_inputs(node, widest_eligible_input(node));
          node.why = fmt::format("{}: {} takes the widest input", options_.policy->name, listed);
          break;
        case CastClass::as_it_comes:
          node.why = fmt::format("not listed: as it comes, {}", describe_inputs(node));
          break;
      }
    }
    if (node.op->product && mode.tf32 && widest_eligible_input(node) == Format::fp32 && !reads_fp64(node)) {
      node.multiply = Format::tf32;
      node.why += "; multiplies in tf32";
    }
  }

  void add(const Node& old) {
    Node node = old;
    node.outputs.clear();
    for (ValueId& v : node.inputs) v = map_[static_cast<std::size_t>(v.index)];
    choose_formats(node);
    const NodeId id = to_.add_node(std::move(node));
    for (std::size_t i = 0; i < old.outputs.size(); ++i)
      map_[static_cast<std::size_t>(old.outputs[i].index)] = to_.node(id).outputs[i];
  }

  const Graph& from_;
  const AutocastOptions& options_;
  Graph to_;
  std::vector<ValueId> map_;
  std::vector<ValueId> copies_;   // by new value id: the 16-bit copy of a weight
};

}  // namespace

Graph autocast(const Graph& forward, const AutocastOptions& options, std::vector<ValueId>* map) {
  return Autocast(forward, options).run(map);
}

}  // namespace ulpscope::engine
