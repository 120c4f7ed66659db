// Whole numbers that are told apart in fp32 and not in 16 bits: positions, above all. And tables of rotations.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/graph/operator.h"
#include "profiler/predict/checks.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::profiler {
namespace {

using engine::Node;
using engine::NodeId;
using engine::Value;
using engine::ValueId;
using reports::fact;
using reports::Foreseen;
using reports::Gravity;
using reports::Provenance;

std::size_t distinct(std::vector<float> values) {
  std::sort(values.begin(), values.end());
  return static_cast<std::size_t>(std::unique(values.begin(), values.end()) - values.begin());
}

float rounded(float x, Format format) {
  return static_cast<float>(engine::in_scalar_format(static_cast<double>(x), format, engine::ScalarRounding::round));
}

bool whole_numbers(const std::vector<float>& values, Format format) {
  const double most = reports::limit(format);
  return !values.empty() && std::all_of(values.begin(), values.end(), [&](float v) {
    return v == std::floor(v) && std::fabs(static_cast<double>(v)) < most;
  });
}

/// Neighbouring rows of [positions, depth] that become the same.
std::int64_t equal_neighbours(const std::vector<float>& table, std::int64_t depth, Format format) {
  const std::int64_t rows = static_cast<std::int64_t>(table.size()) / depth;
  std::int64_t equal = 0;
  for (std::int64_t r = 1; r < rows; ++r) {
    bool same = true, apart = false;
    for (std::int64_t d = 0; d < depth; ++d) {
      const float a = table[static_cast<std::size_t>((r - 1) * depth + d)],
                  b = table[static_cast<std::size_t>(r * depth + d)];
      same = same && rounded(a, format) == rounded(b, format);
      apart = apart || a != b;
    }
    equal += same && apart ? 1 : 0;
  }
  return equal;
}

void check_numbers(const PlanFacts& facts, ValueId v, FoundFaults& found) {
  const Value& value = facts.graph().value(v);
  const engine::Role role = facts.graph().value(facts.origin(v)).role;
  if (role != engine::Role::constant && role != engine::Role::input) return;
  const std::vector<float>* const numbers = facts.numbers(v);
  if (numbers == nullptr || !whole_numbers(*numbers, value.format)) return;
  std::vector<float> narrow(*numbers);
  for (float& x : narrow) x = rounded(x, value.format);
  const std::size_t before = distinct(*numbers), after = distinct(narrow);
  if (after >= before) return;
  const bool positions = before == numbers->size();  // each is there once: what counts is which one it is
  const double exact = std::ldexp(1.0, info(value.format).mantissa_bits + 1);
  Foreseen f;
  if (value.producer)
    f = foreseen_at(facts, value.producer, "positions_collide", positions ? Gravity::damage : Gravity::note);
  f.kind = "positions_collide";
  f.gravity = positions ? Gravity::damage : Gravity::note;
  f.phase = "forward";
  f.tensor = value.name;
  f.format = name(value.format);
  f.constant = role == engine::Role::constant;
  f.what = fmt::format("{} different whole numbers of {} become {} in {}, which holds each one up to {}", before,
                       value.name, after, name(value.format), exact);
  f.facts.push_back(fact("distinct", "different numbers", static_cast<double>(before),
                         fmt::format("{}, then {}", before, after), Provenance::computed));
  found.push_back(std::move(f));
}

}  // namespace

void check_positions(const PlanFacts& facts, FoundFaults& found) {
  for (std::int32_t i = 0; i < facts.graph().value_count(); ++i) {
    const Value& value = facts.graph().value(ValueId{i});
    if (!is_16bit(value.format)) continue;
    check_numbers(facts, ValueId{i}, found);
    const ValueId origin = facts.origin(ValueId{i});
    const NodeId producer = facts.graph().value(origin).producer;
    if (!producer || facts.graph().node(producer).op->name != "rotary_table" || value.shape.rank != 2) continue;
    const std::vector<float>* const table = facts.numbers(ValueId{i});
    if (table == nullptr) continue;
    const std::int64_t equal = equal_neighbours(*table, value.shape[-1], value.format);
    if (equal == 0) continue;
    Foreseen f = foreseen_at(facts, value.producer, "positions_collide", Gravity::damage);
    f.tensor = value.name;
    f.format = name(value.format);
    f.what = fmt::format("{} of {} neighbouring positions have the same rotations in {}", equal, value.shape[0] - 1,
                         name(value.format));
    f.facts.push_back(fact("equal_neighbours", "equal neighbours", static_cast<double>(equal),
                           fmt::format("{} of {}", equal, value.shape[0] - 1), Provenance::computed));
    found.push_back(std::move(f));
  }
}

std::set<std::string> position_tables(const engine::StepPlan& plan) {
  std::set<std::string> names;
  for (const Node& node : plan.graph.nodes())
    if (node.op->name == "rotary_table")
      for (const ValueId v : node.outputs) names.insert(plan.graph.value(v).name);
  return names;
}

}  // namespace ulpscope::profiler
