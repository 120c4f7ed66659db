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
constexpr double much_swallowed = 0.10;   ///< of the addends, where what is missing is not known
/// Numbers that are kept and added up to find out.
constexpr std::int64_t most_numbers = std::int64_t{1} << 22;
constexpr std::int64_t most_numbers_of_all = std::int64_t{1} << 24;   ///< of all accumulators and micro-batches

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

/// of: what the two are where they are not one sum: " (mean of 2 elements)".
void add_facts(Foreseen& f, double got, double expected, Provenance provenance, const std::string& of = {}) {
  f.facts.push_back(fact("stuck_at", of.empty() ? "stands at" : "comes to", got, amount(got) + of, provenance));
  f.facts.push_back(fact("expected", "sum without rounding", expected, amount(expected) + of, provenance));
  f.facts.push_back(fact("missing", "missing", missing(got, expected), reports::percent(missing(got, expected)), provenance));
}

/// The addends of the rehearsal are made in fp32; those of the run carry the rounding of what they are made of, and the sum that of its last
/// digit, half an ulp each: within that of the bar nobody knows on which side a run will be.
struct Bar {
  double uncertain = 0.0;
  Bar(Format sum, Format in) : uncertain(std::max(info(sum).unit_roundoff, is_16bit(in) ? info(in).unit_roundoff : 0.0)) {}
  bool reached(double share) const { return std::fabs(share) >= much_missing - uncertain; }
  bool near(double share) const { return reached(share) && std::fabs(share) < much_missing + uncertain; }
};

/// "74.9 % will be missing"; rounding upwards makes more of it instead.
std::string lost_words(double got, double expected, const Bar& bar) {
  const double share = missing(got, expected);
  const bool near = bar.near(share);
  const std::string words = share >= 0.0 ? fmt::format("{} {} be missing", reports::percent(share), near ? "may" : "will")
                                         : fmt::format("it {} be {} too large, as partial sums are rounded upwards", near ? "may" : "will", reports::percent(-share));
  if (!near) return words;
  return words + fmt::format(", which is near the bar of {}: rounding of what is added moves that by {} either way", reports::percent(much_missing), reports::percent(bar.uncertain));
}

std::string stuck() { return std::string(name(reports::Kind::sum_stuck)); }

/// The scale of the first step that is applied: one at which the sum of the greatest addends is finite.
double scale_of(const PlanFacts& facts, const Node& node, double greatest, Format format) {
  const bool scaled = node.phase == engine::Phase::backward && engine::scales_loss(facts.mode(), facts.config());
  double scale = scaled ? static_cast<double>(scaling::initial_state(facts.config().scaler).scale) : 1.0;
  if (!std::isfinite(scale) || !(scale > 0.0)) return 1.0;
  while (scaling::is_dynamic(facts.config().scaler) && scale > 0x1p-100 && greatest * scale >= reports::limit(format)) scale /= 2.0;
  return scale;
}

/// What becomes of all the addends of an accumulator, element by element: as the diagnosis counts it.
struct Accumulated {
  std::int64_t addends = 0, swallowed = 0;   ///< that are not zero; of them those that change nothing
  double got = 0.0, expected = 0.0, size = 0.0;   ///< sums over the elements; size: were all addends of one sign
  double worst_got = 0.0, worst_expected = 0.0;   ///< of the element that loses most
  std::int64_t elements = 0;
};

Accumulated add_up(const std::vector<std::vector<float>>& addends, double scale, Format in, Format format) {
  Accumulated a;
  a.elements = std::ssize(addends.front());
  for (std::size_t i = 0; i < addends.front().size(); ++i) {
    float sum = 0.0f;
    double exact = 0.0, size = 0.0;
    for (const std::vector<float>& of_one : addends) {
      const double scaled = static_cast<double>(of_one[i]) * scale;
      const auto addend = static_cast<float>(is_16bit(in) ? reports::rounded_to(scaled, in) : scaled);
      const float next = rounded_to(format, sum + addend);
      a.addends += addend != 0.0f ? 1 : 0;
      a.swallowed += addend != 0.0f && next == sum ? 1 : 0;
      exact += static_cast<double>(addend);
      size += std::fabs(static_cast<double>(addend));
      sum = next;
    }
    a.got += static_cast<double>(sum) / scale;
    a.expected += exact / scale;
    a.size += size / scale;
    const double lost = std::fabs(static_cast<double>(sum) - exact) / scale;
    if (std::fabs(exact) >= 0.1 * size && lost > std::fabs(a.worst_got - a.worst_expected)) a.worst_got = static_cast<double>(sum) / scale, a.worst_expected = exact / scale;
  }
  return a;
}

/// Micro-batches whose gradients differ: what is small beside the sum so far is swallowed by it.
std::optional<Foreseen> unequal_micro_batches(const PlanFacts& facts, NodeId id) {
  const Node& node = facts.graph().node(id);
  const std::vector<std::vector<float>>* const addends = facts.numbers_of_every(node.inputs.front());
  const RoundingCounts* const range = facts.range(node.inputs.front());
  if (addends == nullptr || range == nullptr || addends->front().empty()) return std::nullopt;
  const Format format = facts.graph().value(node.outputs.front()).format, in = facts.graph().value(node.inputs.front()).format;
  const double scale = scale_of(facts, node, range->greatest_magnitude * static_cast<double>(addends->size()), format);
  const Accumulated a = add_up(*addends, scale, in, format);
  if (!std::isfinite(a.got) || a.addends == 0 || a.swallowed == 0) return std::nullopt;
  const bool means_say = std::fabs(a.expected) >= 0.1 * a.size;   // of addends that cancel, a share of the sum says nothing
  const double lost = means_say ? missing(a.got, a.expected) : 0.0, share = static_cast<double>(a.swallowed) / static_cast<double>(a.addends);
  const double at_most = static_cast<double>(a.swallowed) / static_cast<double>(a.elements) * info(format).unit_roundoff;
  const Bar bar(format, in);
  const bool by_share = share >= much_swallowed && at_most >= much_missing;
  if (!(means_say && bar.reached(lost)) && !by_share) return std::nullopt;
  Foreseen f = foreseen_at(facts, id, stuck(), by_share || !bar.near(lost) ? Gravity::damage : Gravity::note);
  f.format = name(format);
  f.phase = "backward";
  f.what = fmt::format("{}: gradients of {} micro-batches, which differ, are summed in {}; {} of the addends of the first step ({} of {} that are not 0) are below half an ulp of "
                       "the sum they meet and change nothing",
                       node.name, addends->size(), name(format), reports::percent(share), a.swallowed, a.addends);
  if (means_say) f.what += fmt::format(": of the sum {} (mean of the elements) {}", amount(a.expected / static_cast<double>(a.elements)), lost_words(a.got, a.expected, bar));
  if (a.worst_expected != 0.0 && a.elements > 1)
    f.what += fmt::format("; the element that loses most comes to {} instead of {}", amount(a.worst_got), amount(a.worst_expected));
  f.facts.push_back(fact("swallowed", "addends that change nothing", static_cast<double>(a.swallowed), fmt::format("{} of {}", a.swallowed, a.addends), Provenance::projected));
  f.facts.push_back(fact("swallowed_share", "share of them", share, reports::percent(share), Provenance::projected));
  if (means_say) add_facts(f, a.got / static_cast<double>(a.elements), a.expected / static_cast<double>(a.elements), Provenance::projected,
                           a.elements > 1 ? fmt::format(" (mean of {} elements)", a.elements) : "");
  return f;
}

/// Gradients of micro-batches. Where every element of every micro-batch is the same, that is what happens; else it is what would happen
/// to those that agree.
std::optional<Foreseen> micro_batches(const PlanFacts& facts, NodeId id) {
  const Node& node = facts.graph().node(id);
  const Format format = facts.graph().value(node.outputs.front()).format;
  const std::int64_t k = facts.plan().micro_batches;
  const RoundingCounts* const addends = node.op->name == "accumulate" ? facts.range(node.inputs.front()) : nullptr;
  if (addends == nullptr || !narrow(format) || k < 2 || !(addends->greatest_magnitude > 0.0)) return std::nullopt;
  const double each = addends->greatest_magnitude;
  const bool equal = addends->least_magnitude == each && addends->zero == 0 &&
                     std::fabs(std::fabs(addends->sum) - each * static_cast<double>(addends->elements)) <= 1e-6 * each * static_cast<double>(addends->elements);
  if (!equal)
    if (std::optional<Foreseen> f = unequal_micro_batches(facts, id)) return f;
  const Serial sum = added_up(format, k, [each](std::int64_t) { return static_cast<float>(each); });
  const double expected = each * static_cast<double>(k);
  if (std::fabs(missing(sum.sum, expected)) < much_missing || sum.moved == k) return std::nullopt;
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
bool loses_much(float sum, double exact, const Bar& bar) { return std::isfinite(sum) && bar.reached(missing(static_cast<double>(sum), exact)); }

/// The greatest of the sums that lose much, and how many there are.
struct Rows {
  double got = 0.0, expected = 0.0;
  std::int64_t addends = 0, moved = 0, row = -1;
  std::int64_t losing = 0, nearly = 0, all = 0;  ///< rows that lose much; that may, as they are near the bar; with an addend
  bool certain = false;   ///< one of them is not near the bar

  void take(std::int64_t r, const Arithmetic& arithmetic, double exact, std::int64_t n, float sum, std::int64_t last, const Bar& bar) {
    if (!loses_much(sum, exact, bar)) return;
    const bool beyond = !bar.near(missing(static_cast<double>(sum), exact));
    const bool first = row < 0 || (beyond && !certain);
    if (certain && !beyond) return;
    certain = beyond;
    if (first || std::fabs(exact) > std::fabs(expected)) {
      got = static_cast<double>(sum);
      expected = exact;
      addends = n;
      row = r;
      moved = arithmetic.order == SumOrder::serial ? last : n;
    }
  }
};

/// "1 of 8 rows that are looked up is off by more than 1 %, 7 are near that bar".
std::string how_many(const Rows& rows) {
  const auto are = [](std::int64_t n) { return n == 1 ? "is" : "are"; };
  std::string words = fmt::format("{} of {} that {} looked up {} ", rows.losing > 0 ? rows.losing : rows.nearly, reports::counted(rows.all, "row"), are(rows.all),
                                  are(rows.losing > 0 ? rows.losing : rows.nearly));
  if (rows.losing == 0) return words + fmt::format("near the bar of {}", reports::percent(much_missing));
  words += fmt::format("off by more than {}", reports::percent(much_missing));
  return rows.nearly > 0 ? words + fmt::format(", {} {} near that bar", rows.nearly, are(rows.nearly)) : words;
}

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
  const Bar bar(node.arithmetic.accumulate, in);
  Rows rows;
  for (std::size_t r = 0; r < positions.size(); ++r) {
    const auto n = static_cast<std::int64_t>(positions[r].size());
    bool beyond = false, near = false;
    for (std::int64_t c = 0; c < columns && n > 0; ++c) {
      const auto load = [&](std::int64_t i) {
        return static_cast<float>(as_stored(facts, node, in, static_cast<double>((*gradient)[static_cast<std::size_t>(positions[r][static_cast<std::size_t>(i)] * columns + c)])));
      };
      double exact = 0.0, size = 0.0;
      for (std::int64_t i = 0; i < n; ++i) exact += static_cast<double>(load(i)), size += std::fabs(static_cast<double>(load(i)));
      if (std::fabs(exact) < 0.1 * size) continue;  // of addends that cancel, a share of the sum says nothing
      const float sum = narrow_sum(node.arithmetic, n, load);
      rows.take(static_cast<std::int64_t>(r), node.arithmetic, exact, n, sum, added_up(node.arithmetic.accumulate, n, load).moved, bar);
      const bool loses = loses_much(sum, exact, bar), certain = loses && !bar.near(missing(static_cast<double>(sum), exact));
      beyond = beyond || certain;
      near = near || (loses && !certain);
    }
    rows.losing += beyond ? 1 : 0;
    rows.nearly += near && !beyond ? 1 : 0;
    rows.all += n > 0 ? 1 : 0;
  }
  if (rows.losing + rows.nearly == 0) return std::nullopt;
  Foreseen f = foreseen_at(facts, id, stuck(), rows.certain ? Gravity::damage : Gravity::note);
  f.format = name(node.arithmetic.accumulate);
  f.what = fmt::format("{}: the gradient of a row is a sum kept in {}; row {} gets {} addends in the first step and {} at {}: {} would be right, {}; {}",
                       node.name, f.format, rows.row, rows.addends,
                       rows.moved < rows.addends ? fmt::format("stands still after {} of them", rows.moved) : "ends", amount(rows.got),
                       amount(rows.expected), lost_words(rows.got, rows.expected, bar), how_many(rows));
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
  if (!std::isfinite(sum) || std::fabs(exact) < 0.1 * size) return std::nullopt;
  const Bar bar(node.arithmetic.accumulate, in);
  if (!bar.reached(missing(sum, exact))) return std::nullopt;
  const Gravity grave = bar.near(missing(sum, exact)) ? Gravity::note : Gravity::damage;
  Foreseen f = foreseen_at(facts, id, stuck(), facts.feeds_loss(node.outputs.front()) ? grave : Gravity::contained);
  f.format = name(node.arithmetic.accumulate);
  const std::int64_t moved = node.arithmetic.order == SumOrder::serial ? added_up(node.arithmetic.accumulate, n, load).moved : n;
  f.what = fmt::format("{}: {} numbers are added up in {}, and the sum {} at {}: {} would be right, {}", node.name, n, f.format,
                       moved < n ? fmt::format("stands still after {} of them", moved) : "ends", amount(sum), amount(exact), lost_words(sum, exact, bar));
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

std::set<std::string> micro_batch_addends(const engine::StepPlan& plan) {
  std::set<std::string> names;
  std::int64_t left = most_numbers_of_all;
  for (const Node& node : plan.graph.nodes()) {
    if (node.op->name != "accumulate" || !narrow(plan.graph.value(node.outputs.front()).format) || plan.micro_batches < 2) continue;
    const std::int64_t numbers = plan.graph.value(node.inputs.front()).shape.elements() * plan.micro_batches;
    if (numbers > left) continue;
    left -= numbers;
    add_origins(plan.graph, node.inputs.front(), names);
  }
  return names;
}

std::set<std::string> narrow_addends(const engine::StepPlan& plan) {
  std::set<std::string> names;
  const auto add = [&](ValueId v) {
    if (plan.graph.value(v).shape.elements() <= most_numbers) add_origins(plan.graph, v, names);
  };
  for (const Node& node : plan.graph.nodes()) {
    if (!narrow(node.arithmetic.accumulate)) continue;
    if (node.op->name == "embedding_backward") add(node.inputs[0]), add(node.inputs[1]);
    if (node.op->name == "sum" || node.op->name == "mean" || keeps_narrow_squares(node)) add(node.inputs.front());
  }
  return names;
}

}  // namespace ulpscope::profiler
