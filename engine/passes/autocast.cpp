#include "engine/passes/autocast.h"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "engine/graph/operator.h"
#include "engine/passes/lowest_fill.h"
#include "engine/passes/overrides.h"
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
    if (options_.check_patterns) {
      check_patterns();
      check_overrides(from_, options_.overrides);
    }
    for (std::int32_t i = 0; i < from_.value_count(); ++i) {
      const Value& v = from_.value(ValueId{i});
      if (!v.producer) map_[static_cast<std::size_t>(i)] = add_source(v);
    }
    for (const Node& node : from_.nodes()) add(node);
    resolve_lowest_fills(to_);
    if (map != nullptr) *map = map_;
    return std::move(to_);
  }

 private:
  ValueId add_source(const Value& v) {
    switch (v.role) {
      case Role::input: return to_.add_source(v);
      case Role::parameter:
      case Role::constant:
      case Role::buffer: {
        Value source = v;
        source.format = kept_in(options_.kept_by.value_or(options_.mode), v.format);
        return to_.add_source(source);
      }
      default: throw Error(fmt::format("autocast: value '{}' has no producer and is a {}", v.name, name(v.role)));
    }
  }

  /// Pure modes keep everything in 16 bits, first values rounded once.
  static Format kept_in(const Mode& mode, Format format) { return mode.pure && eligible(format) ? mode.lower : format; }

  /// What a value without a producer is used in. A pure mode's weights and buffers that fp32 evaluates are widened.
  Format used_in(Format format) const {
    const bool widens = !options_.mode.pure && options_.kept_by && options_.kept_by->pure && is_16bit(format);
    return widens ? Format::fp32 : kept_in(options_.mode, format);
  }

  /// A batch comes as the dataset makes it, and weights of another mode as that keeps them; pure modes round them once, before
  /// their first use.
  ValueId arrived(ValueId value) {
    const Value& v = to_.value(value);
    const Format used = used_in(v.format);
    if (v.producer || used == v.format) return value;
    const auto [place, first] = arrived_.try_emplace(value);
    if (first) {
      Node cast;
      cast.op = &operators().find("cast");
      cast.name = to_.free_name(fmt::format("{}.{}", v.name, name(used)));
      cast.inputs = {value};
      cast.attributes.set("to", std::string(name(used)));
      cast.why = v.role == Role::input ? fmt::format("{}: the batch is rounded on arrival", options_.mode.name)
                                       : fmt::format("everything in {}: {} from {}", name(used), options_.mode.pure ? "rounded" : "widened", name(v.format));
      place->second = to_.node(to_.add_node(std::move(cast))).outputs.front();
    }
    return place->second;
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
    if (to_.value(to_.memory_owner(value)).role == Role::buffer) return value;   // overwritten where it is, not a copy of it
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

  /// Whether an override says what the node computes in.
  bool compute_override(Node& node) {
    const Override* o = find_override(options_.overrides, node.name, &Override::compute);
    if (o == nullptr || (o->compute->lower && options_.mode.lower == Format::fp32)) return false;
    const Format format = o->compute->in(options_.mode);
    if (format == Format::tf32 && !node.op->product)
      throw UsageError(fmt::format("{}: [[override]] compute = \"tf32\": '{}' ({}) is no matrix product", o->where, node.name, node.op->name));
    cast_inputs(node, format == Format::tf32 ? Format::fp32 : format);
    node.multiply = format == Format::tf32 && !reads_fp64(node) ? Format::tf32 : Format::fp32;
    node.why = fmt::format("override: computes in {} by '{}'", name(format), o->nodes);
    return true;
  }

  /// What the result is rounded to, if an override says so.
  void output_override(Node& node) {
    const Override* o = find_override(options_.overrides, node.name, &Override::output);
    if (o == nullptr || (o->output->lower && options_.mode.lower == Format::fp32)) return;
    const Format format = o->output->in(options_.mode);
    if (!node.op->launches || node.op->overwrites())
      throw UsageError(fmt::format("{}: [[override]] output = \"{}\": '{}' ({}) has no result of its own to round", o->where,
                                   name(format), node.name, node.op->name));
    if (reads_fp64(node)) return;
    node.store = format;
    node.why += fmt::format("; override: result in {} by '{}'", name(format), o->nodes);
  }

  void choose_formats(Node& node) {
    const Mode& mode = options_.mode;
    if (compute_override(node)) return;
    if (const std::string* pattern = override_of(node)) {
      cast_inputs(node, Format::fp32);
      node.why = fmt::format("override: kept in fp32 by '{}'", *pattern);
    } else if (!mode.mixed()) {
      node.why = mode.pure ? fmt::format("{}: everything is kept in {}", mode.name, name(mode.lower)) : "no autocast in " + mode.name;
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

  /// Norms and rotary positions give their first input's format, whatever their weights and tables have.
  void say_what_won(Node& node, Format widest) {
    static constexpr std::string_view claim = ", the widest wins";
    const std::size_t at = node.why.find(claim);
    if (at == std::string::npos || node.outputs.empty() || to_.value(node.outputs.front()).format == widest) return;
    node.why.replace(at, claim.size(), ", the first decides");
  }

  void add(const Node& old) {
    Node node = old;
    node.outputs.clear();
    for (ValueId& v : node.inputs) v = arrived(map_[static_cast<std::size_t>(v.index)]);
    choose_formats(node);
    output_override(node);
    const Format widest = widest_eligible_input(node);
    const NodeId id = to_.add_node(std::move(node));
    say_what_won(to_.node(id), widest);
    for (std::size_t i = 0; i < old.outputs.size(); ++i)
      map_[static_cast<std::size_t>(old.outputs[i].index)] = to_.node(id).outputs[i];
  }

  const Graph& from_;
  const AutocastOptions& options_;
  Graph to_;
  std::vector<ValueId> map_;
  std::map<ValueId, ValueId> arrived_;   // what has no producer: rounded to the format of a pure mode
  std::vector<ValueId> copies_;   // by new value id: the 16-bit copy of a weight
};

}  // namespace

Graph autocast(const Graph& forward, const AutocastOptions& options, std::vector<ValueId>* map) {
  return Autocast(forward, options).run(map);
}

}  // namespace ulpscope::engine
