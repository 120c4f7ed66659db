// Sums that will swallow what is added to them, as the mode makes them from the numbers of the rehearsal: micro-batches in a narrow
// accumulator, rows of an embedding that many positions look up, long serial sums.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "engine/graph/operator.h"
#include "kernels/ops/narrow_sum.h"
#include "profiler/predict/checks.h"
#include "reports/analysis/diagnosis/words.h"

namespace ulpscope::profiler {
namespace {

using engine::Node;
using engine::NodeId;
using engine::Value;
using engine::ValueId;
using reports::amount;
using reports::fact;
using reports::Foreseen;
using reports::Gravity;
using reports::Provenance;

/// Of a sum: less is how rounding is. As the diagnosis has it (sum_stuck).
constexpr double much_missing = 0.01;
/// Numbers that are kept and added up to find out.
constexpr std::int64_t most_numbers = std::int64_t{1} << 22;

bool narrow(Format format) { return format != Format::fp32 && format != Format::fp64; }

/// Addends one after the other.
struct Serial {
  double sum = 0.0;
  std::int64_t moved = 0;  ///< addends up to the last one that changed the sum
};
template <class Load>
Serial added_up(Format format, std::int64_t n, Load load) {
  Serial s;
  float sum = 0.0f;
  for (std::int64_t i = 0; i < n; ++i) {
    const float next = rounded_to(format, sum + load(i));
    if (next != sum) s.moved = i + 1;
    sum = next;
  }
  s.sum = static_cast<double>(sum);
  return s;
}

double missing(double got, double expected) { return expected == 0.0 ? 0.0 : 1.0 - got / expected; }

void add_facts(Foreseen& f, double got, double expected, Provenance provenance) {
  f.facts.push_back(fact("stuck_at", "stands at", got, amount(got), provenance));
  f.facts.push_back(fact("expected", "sum without rounding", expected, amount(expected), provenance));
  f.facts.push_back(fact("missing", "missing", missing(got, expected), reports::percent(missing(got, expected)), provenance));
}

/// "74.9 % will be missing"; rounding upwards makes more of it instead.
std::string lost_words(double got, double expected) {
  const double share = missing(got, expected);
  return share >= 0.0 ? reports::percent(share) + " will be missing" : fmt::format("it will be {} too large, as partial sums are rounded upwards", reports::percent(-share));
}

std::string stuck() { return std::string(name(reports::Kind::sum_stuck)); }

/// Gradients of micro-batches. Where every element of every micro-batch is the same, that is what happens; else it is what would happen
/// to those that agree.
std::optional<Foreseen> micro_batches(const PlanFacts& facts, NodeId id) {
  const Node& node = facts.graph().node(id);
  const Format format = facts.graph().value(node.outputs.front()).format;
  const std::int64_t k = facts.plan().micro_batches;
  const RoundingCounts* const addends = node.op->name == "accumulate" ? facts.range(node.inputs.front()) : nullptr;
  if (addends == nullptr || !narrow(format) || k < 2 || !(addends->greatest_magnitude > 0.0)) return std::nullopt;
  const double each = addends->greatest_magnitude;
  const Serial sum = added_up(format, k, [each](std::int64_t) { return static_cast<float>(each); });
  const double expected = each * static_cast<double>(k);
  if (std::fabs(missing(sum.sum, expected)) < much_missing || sum.moved == k) return std::nullopt;
  const bool equal = addends->least_magnitude == each && addends->zero == 0 &&
                     std::fabs(std::fabs(addends->sum) - each * static_cast<double>(addends->elements)) <= 1e-6 * each * static_cast<double>(addends->elements);
  Foreseen f = foreseen_at(facts, id, stuck(), equal ? Gravity::damage : Gravity::note);
  f.format = name(format);
  f.phase = "backward";
  f.what = fmt::format("{}: gradients of {} micro-batches are summed in {}; ", node.name, k, name(format));
  if (equal)
    f.what += fmt::format("all of them are {} in the first step, and after {} addends the sum stands at {}: {} of the sum {} will be missing",
                          amount(each), sum.moved, amount(sum.sum), reports::percent(missing(sum.sum, expected)), amount(expected));
  else
    f.what += fmt::format("equal ones stand still after {} (at {} for addends of {}, the greatest of the first step): an element on whose sign the "
                          "micro-batches agree loses up to {} of its sum",
                          sum.moved, amount(sum.sum), amount(each), reports::percent(missing(sum.sum, expected)));
  f.facts.push_back(fact("addends", "addends before it stands still", static_cast<double>(sum.moved),
                         fmt::format("{} of {}", sum.moved, k), Provenance::computed));
  add_facts(f, sum.sum, expected, Provenance::projected);
  return f;
}

/// A sum that overflows loses nothing of this kind.
bool loses_much(float sum, double exact) { return std::isfinite(sum) && std::fabs(missing(static_cast<double>(sum), exact)) >= much_missing; }

/// The greatest of the sums that lose much, and how many there are.
struct Rows {
  double got = 0.0, expected = 0.0;
  std::int64_t addends = 0, moved = 0, row = -1;
  std::int64_t losing = 0, all = 0;  ///< rows with an addend

  void take(std::int64_t r, const Arithmetic& arithmetic, double exact, std::int64_t n, float sum, std::int64_t last) {
    if (!loses_much(sum, exact)) return;
    if (losing == 0 || std::fabs(exact) > std::fabs(expected)) {
      got = static_cast<double>(sum);
      expected = exact;
      addends = n;
      row = r;
      moved = arithmetic.order == SumOrder::serial ? last : n;
    }
  }
};

/// What of a scaled backward pass is stored in 16 bits has the scale of the first step.
double as_stored(const PlanFacts& facts, const Node& node, Format format, double x) {
  if (!is_16bit(format)) return x;
  const bool scaled = node.phase == engine::Phase::backward && engine::scales_loss(facts.mode(), facts.config());
  const double scale = scaled ? static_cast<double>(scaling::initial_state(facts.config().scaler).scale) : 1.0;
  return scale > 0.0 && std::isfinite(scale) ? reports::rounded_to(x * scale, format) / scale : x;
}

/// Rows of a table that positions look up: each gets the sum of their gradients.
std::optional<Foreseen> looked_up(const PlanFacts& facts, NodeId id) {
  const Node& node = facts.graph().node(id);
  if (node.op->name != "embedding_backward" || !narrow(node.arithmetic.accumulate)) return std::nullopt;
  const std::vector<float>* const gradient = facts.numbers(node.inputs[0]);
  const auto indices = facts.rehearsal().values.find(facts.graph().value(node.inputs[1]).name);  // they have no ranges
  const std::vector<float>* const index = indices == facts.rehearsal().values.end() ? nullptr : &indices->second;
  const Value& table = facts.graph().value(node.outputs.front());
  if (gradient == nullptr || index == nullptr || index->empty() || table.shape.rank != 2 || gradient->size() % index->size() != 0) return std::nullopt;
  std::vector<std::vector<std::int64_t>> positions(static_cast<std::size_t>(table.shape[0]));
  for (std::size_t p = 0; p < index->size(); ++p)
    if ((*index)[p] >= 0.0f && static_cast<std::size_t>((*index)[p]) < positions.size())
      positions[static_cast<std::size_t>((*index)[p])].push_back(static_cast<std::int64_t>(p));
  const auto columns = static_cast<std::int64_t>(gradient->size() / index->size());
  const Format in = facts.graph().value(node.inputs[0]).format;
  Rows rows;
  for (std::size_t r = 0; r < positions.size(); ++r) {
    const auto n = static_cast<std::int64_t>(positions[r].size());
    bool loses = false;
    for (std::int64_t c = 0; c < columns && n > 0; ++c) {
      const auto load = [&](std::int64_t i) {
        return static_cast<float>(as_stored(facts, node, in, static_cast<double>((*gradient)[static_cast<std::size_t>(positions[r][static_cast<std::size_t>(i)] * columns + c)])));
      };
      double exact = 0.0, size = 0.0;
      for (std::int64_t i = 0; i < n; ++i) exact += static_cast<double>(load(i)), size += std::fabs(static_cast<double>(load(i)));
      if (std::fabs(exact) < 0.1 * size) continue;  // of addends that cancel, a share of the sum says nothing
      const float sum = narrow_sum(node.arithmetic, n, load);
      rows.take(static_cast<std::int64_t>(r), node.arithmetic, exact, n, sum, added_up(node.arithmetic.accumulate, n, load).moved);
      loses = loses || loses_much(sum, exact);
    }
    rows.losing += loses ? 1 : 0;
    rows.all += n > 0 ? 1 : 0;
  }
  if (rows.losing == 0) return std::nullopt;
  Foreseen f = foreseen_at(facts, id, stuck(), Gravity::damage);
  f.format = name(node.arithmetic.accumulate);
  f.what = fmt::format("{}: the gradient of a row is a sum kept in {}; row {} gets {} addends in the first step and {} at {}: {} would be right, {}; "
                       "{} of {} that {} looked up {} off by more than 1 %",
                       node.name, f.format, rows.row, rows.addends,
                       rows.moved < rows.addends ? fmt::format("stands still after {} of them", rows.moved) : "ends", amount(rows.got),
                       amount(rows.expected), lost_words(rows.got, rows.expected), rows.losing, reports::counted(rows.all, "row"), rows.all == 1 ? "is" : "are",
                       rows.losing == 1 ? "is" : "are");
  f.facts.push_back(fact("addends", "addends before it stands still", static_cast<double>(rows.moved), fmt::format("{} of {}", rows.moved, rows.addends),
                         Provenance::computed));
  add_facts(f, rows.got, rows.expected, Provenance::projected);
  return f;
}

/// A reduction to one number whose addends are known.
std::optional<Foreseen> reduced(const PlanFacts& facts, NodeId id) {
  const Node& node = facts.graph().node(id);
  const std::string& op = node.op->name;
  if ((op != "sum" && op != "mean") || !narrow(node.arithmetic.accumulate) || facts.graph().value(node.outputs.front()).shape.elements() != 1)
    return std::nullopt;
  const std::vector<float>* const numbers = facts.numbers(node.inputs.front());
  if (numbers == nullptr || numbers->empty()) return std::nullopt;
  const Format in = facts.graph().value(node.inputs.front()).format;
  const auto n = std::ssize(*numbers);
  const auto load = [&](std::int64_t i) { return static_cast<float>(as_stored(facts, node, in, static_cast<double>((*numbers)[static_cast<std::size_t>(i)]))); };
  double exact = 0.0, size = 0.0;
  for (std::int64_t i = 0; i < n; ++i) exact += static_cast<double>(load(i)), size += std::fabs(static_cast<double>(load(i)));
  const auto sum = static_cast<double>(narrow_sum(node.arithmetic, n, load));
  if (!std::isfinite(sum) || std::fabs(exact) < 0.1 * size || std::fabs(missing(sum, exact)) < much_missing) return std::nullopt;
  Foreseen f = foreseen_at(facts, id, stuck(), facts.feeds_loss(node.outputs.front()) ? Gravity::damage : Gravity::contained);
  f.format = name(node.arithmetic.accumulate);
  const std::int64_t moved = node.arithmetic.order == SumOrder::serial ? added_up(node.arithmetic.accumulate, n, load).moved : n;
  f.what = fmt::format("{}: {} numbers are added up in {}, and the sum {} at {}: {} would be right, {}", node.name, n, f.format,
                       moved < n ? fmt::format("stands still after {} of them", moved) : "ends", amount(sum), amount(exact), lost_words(sum, exact));
  f.facts.push_back(fact("addends", "addends before it stands still", static_cast<double>(moved), fmt::format("{} of {}", moved, n), Provenance::computed));
  add_facts(f, sum, exact, Provenance::projected);
  return f;
}

/// One setting is behind all accumulators: of those that are no more than possible, one stands for all.
void gather(std::vector<Foreseen> accumulators, FoundFaults& found) {
  std::int64_t others = 0;
  std::optional<Foreseen> example;
  for (Foreseen& f : accumulators) {
    if (f.gravity == Gravity::damage)
      found.push_back(std::move(f));
    else if (!example)
      example = std::move(f);
    else
      ++others;
  }
  if (!example) return;
  if (others > 0) example->what += fmt::format("; {} of other weights likewise", reports::counted(others, "accumulator"));
  found.push_back(std::move(*example));
}

}  // namespace

void check_stuck_sums(const PlanFacts& facts, FoundFaults& found) {
  std::vector<Foreseen> accumulators;
  for (std::int32_t n = 0; n < facts.graph().node_count(); ++n) {
    const Node& node = facts.graph().node(NodeId{n});
    if (node.inputs.empty() || node.outputs.empty()) continue;
    if (std::optional<Foreseen> f = micro_batches(facts, NodeId{n})) accumulators.push_back(std::move(*f));
    for (const auto& check : {looked_up, reduced})
      if (std::optional<Foreseen> f = check(facts, NodeId{n})) {
        std::erase_if(found, [&](const Foreseen& other) { return other.kind == f->kind && other.node == f->node; });  // of its length alone
        found.push_back(std::move(*f));
      }
  }
  gather(std::move(accumulators), found);
}

std::set<std::string> narrow_addends(const engine::StepPlan& plan) {
  std::set<std::string> names;
  const auto add = [&](ValueId v) {
    while (plan.graph.value(v).producer && plan.graph.node(plan.graph.value(v).producer).op->name == "cast")
      v = plan.graph.node(plan.graph.value(v).producer).inputs.front();
    if (plan.graph.value(v).shape.elements() <= most_numbers) names.insert(plan.graph.value(v).name);
  };
  for (const Node& node : plan.graph.nodes()) {
    if (!narrow(node.arithmetic.accumulate)) continue;
    if (node.op->name == "embedding_backward") add(node.inputs[0]), add(node.inputs[1]);
    if (node.op->name == "sum" || node.op->name == "mean" || keeps_narrow_squares(node)) add(node.inputs.front());
  }
  return names;
}

}  // namespace ulpscope::profiler
