// Rows of nodes: seconds from kernels or from the clock, rates, tensor cores, and sums by category.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <set>

#include "reports/analysis/tensor_use.h"
#include "reports/analysis/time_parts.h"

namespace ulpscope::reports::time_parts {
namespace {

std::string formats_text(const NodeRecord& node) {
  const auto distinct = [](const std::vector<Signature>& list) {
    std::vector<std::string> names;
    for (const Signature& s : list)
      if (std::find(names.begin(), names.end(), s.format) == names.end()) names.push_back(s.format);
    return fmt::format("{}", fmt::join(names, ", "));
  };
  return fmt::format("{} > {}", distinct(node.inputs), distinct(node.outputs));
}

NodeTime row_of(const Plan& plan, NodeId lead) {
  const NodeRecord& node = plan.node(lead);
  NodeTime row{.node = lead, .name = node.name, .operation = node.operation, .category = time_category(node.operation), .phase = node.phase};
  row.compute_format = node.compute_format;
  row.formats = formats_text(node);
  for (const std::size_t i : plan.launches.at(lead))
    if (plan.nodes[i].id != lead) row.members.push_back({plan.nodes[i].name, plan.nodes[i].operation});
  return row;
}

struct Clocked {
  std::int64_t calls = 0;
  Number seconds = 0.0;
  std::set<std::int64_t> steps{};
  Count sampled{};
  Provenance provenance = Provenance::unknown;
};

/// By lead. Rows summed over the run where there are any, else those of single steps.
std::map<NodeId, Clocked> clocked(const Plan& plan, const std::vector<NodeTiming>& timings) {
  const bool summed = std::any_of(timings.begin(), timings.end(), [](const NodeTiming& t) { return !t.step; });
  std::map<NodeId, Clocked> all;
  for (const NodeTiming& t : timings) {
    if (summed == t.step.has_value() || !plan.lead_of.contains(t.node)) continue;
    Clocked& c = all[plan.lead_of.at(t.node)];
    c.calls += t.calls;
    c.seconds = c.seconds && t.seconds ? Number(*c.seconds + *t.seconds) : std::nullopt;
    c.provenance = t.provenance;
    if (t.step) c.steps.insert(*t.step);
    c.sampled = t.step ? Count(std::ssize(c.steps)) : t.sampled_steps;
  }
  if (summed) return all;
  std::set<std::int64_t> steps;  // a node that did not run in one of them (a skipped update) took no time in it
  for (const auto& [lead, c] : all) steps.insert(c.steps.begin(), c.steps.end());
  for (auto& [lead, c] : all) c.sampled = std::ssize(steps);
  return all;
}

void add_clock(ModeTime& mode, const Plan& plan, std::map<NodeId, NodeTime>& rows, const std::vector<NodeTiming>& timings, bool seconds) {
  for (const auto& [lead, c] : clocked(plan, timings)) {
    if (!c.sampled || *c.sampled <= 0) continue;
    const auto steps = static_cast<double>(*c.sampled);
    NodeTime& row = rows.at(lead);
    row.calls = static_cast<double>(c.calls) / steps;
    if (!seconds) continue;
    row.seconds = figure(c.seconds ? Number(*c.seconds / steps) : std::nullopt, c.provenance);
    row.seconds.samples = c.sampled;
    mode.sampled_steps = c.sampled;
  }
}

/// Provenance of a sum: that of its parts if they share one.
Provenance shared(Provenance sum, Provenance part) { return sum == Provenance::unknown || sum == part ? part : Provenance::computed; }

}  // namespace

void add_nodes(ModeTime& mode, const Plan& plan, const RunFileReader& reader) {
  if (mode.run.device_kind != "cpu") mode.peaks = device_peaks(mode.run, reader.machines(), reader.device_samples());
  std::map<NodeId, NodeTime> rows;
  for (const auto& [lead, members] : plan.launches) rows.emplace(lead, row_of(plan, lead));
  const std::vector<NodeTiming> timings = reader.node_timings(mode.run.id);
  std::vector<NodeTime> others;
  const bool traced = add_kernels(mode, plan, rows, others, reader);
  add_clock(mode, plan, rows, timings, !traced);
  for (auto& [lead, row] : rows) {
    if (!row.seconds.value && plan.view(lead)) {
      ++mode.views;
      continue;
    }
    mode.untimed += row.seconds.value ? 0 : 1;
    mode.nodes.push_back(std::move(row));
  }
  for (NodeTime& row : others) mode.nodes.push_back(std::move(row));
  for (const NodeTime& row : mode.nodes) {
    if (!row.seconds.value) continue;
    mode.nodes_sum.value = mode.nodes_sum.value.value_or(0.0) + *row.seconds.value;
    mode.nodes_sum.provenance = shared(mode.nodes_sum.provenance, row.seconds.provenance);
  }
  mode.nodes_sum.samples = mode.sampled_steps;
  if (mode.nodes_sum.value) mode.nodes_from = traced ? NodeSource::kernels : NodeSource::clock;
  std::stable_sort(mode.nodes.begin(), mode.nodes.end(), [](const NodeTime& a, const NodeTime& b) { return a.seconds.value.value_or(-1.0) > b.seconds.value.value_or(-1.0); });
}

namespace {

/// What the pipes' counters, or the rate, say.
void judge_tensor_cores(NodeTime& row, const ModeTime& mode, const Number& own_flops) {
  if (!is_product(row.category)) {
    row.tensor_cores = TensorCores::not_a_product;
    return;
  }
  if (mode.run.device_kind == "cpu") {
    row.tensor_cores = TensorCores::none;
    row.tensor_cores_provenance = Provenance::inferred;
    row.tensor_cores_why = "a processor has none";
    return;
  }
  TensorEvidence evidence{.tensor_pipe = row.tensor_pipe, .flops = own_flops, .seconds = row.seconds.value, .margin = peak_margin};
  bool none = false;
  if (mode.peaks) {
    // fp32's products run on tensor cores as tf32, if at all.
    const std::string format = row.compute_format == "fp32" ? "tf32" : row.compute_format;
    evidence.has_tensor_cores = mode.peaks->on_tensor_cores(format);
    evidence.plain_peak = product(Number(mode.peaks->fp32), 1e12);
    evidence.tensor_peak = product(mode.peaks->of(format), 1e12);
    none = mode.peaks->on_tensor_cores("fp16") == false;  // the first format that they took
  }
  const TensorUse use = tensor_use(evidence);
  row.tensor_cores = use.answer == TensorAnswer::yes ? TensorCores::yes : use.answer == TensorAnswer::unknown ? TensorCores::unknown : none ? TensorCores::none : TensorCores::no;
  row.tensor_cores_provenance = use.provenance;
  row.tensor_cores_why = use.why;
}

}  // namespace

void add_rates(ModeTime& mode, const Plan& plan) {
  double product_seconds = 0.0, on_cores = 0.0, known = 0.0;
  for (NodeTime& row : mode.nodes) {
    const Number& seconds = row.seconds.value;
    row.share = ratio(seconds, mode.nodes_sum.value);
    Number own_flops;   // of the lead alone
    if (row.node) {
      // Without a clock every launch is taken to be called once for each micro-batch, updates once for each step.
      if (!row.calls && row.kernels)
        row.calls = row.phase == Phase::update ? Number(1.0) : mode.run.micro_batches ? Number(static_cast<double>(*mode.run.micro_batches)) : std::nullopt;
      const auto number = [](const Count& c) { return c ? Number(static_cast<double>(*c)) : std::nullopt; };
      row.flops = product(number(plan.flops(*row.node)), row.calls);
      own_flops = product(number(plan.node(*row.node).flops), row.calls);
      row.bytes = product(number(plan.bytes(*row.node)), row.calls);
      row.tflops = product(ratio(row.flops, seconds), 1e-12);
      row.gbps = product(ratio(row.bytes, seconds), 1e-9);
      if (mode.peaks && is_product(row.category)) {
        const Number peak = mode.peaks->of(row.compute_format);
        row.of_peak = ratio(row.tflops, peak);
        const Number own = product(ratio(own_flops, seconds), 1e-12);
        row.faster_than_peak = own && peak && *own > peak_margin * *peak;
      }
    }
    judge_tensor_cores(row, mode, own_flops);
    if (!is_product(row.category) || !seconds) continue;
    product_seconds += *seconds;
    if (row.tensor_cores == TensorCores::unknown) continue;
    known += *seconds;
    if (row.tensor_cores == TensorCores::yes) on_cores += *seconds;
  }
  if (mode.device && known > 0.0) mode.device->tensor_core_share = figure(on_cores / product_seconds, Provenance::computed);
}

void add_categories(ModeTime& mode) {
  std::array<CategoryTime, time_category_count> all{};
  for (const NodeTime& row : mode.nodes) {
    CategoryTime& c = all[static_cast<std::size_t>(row.category)];
    ++c.launches;
    if (!row.seconds.value) {
      ++c.untimed;
      continue;
    }
    const bool first = !c.seconds.value;
    c.seconds.value = c.seconds.value.value_or(0.0) + *row.seconds.value;
    c.seconds.provenance = shared(c.seconds.provenance, row.seconds.provenance);
    const auto add = [&](Number& sum, const Number& part) { sum = first ? part : sum && part ? Number(*sum + *part) : std::nullopt; };
    add(c.flops, row.flops);
    add(c.bytes, row.bytes);
  }
  for (std::size_t i = 0; i < all.size(); ++i) {
    CategoryTime& c = all[i];
    if (c.launches == 0) continue;
    c.category = static_cast<TimeCategory>(i);
    c.share = ratio(c.seconds.value, mode.nodes_sum.value);
    c.of_step = ratio(c.seconds.value, mode.step.value);
    c.tflops = product(ratio(c.flops, c.seconds.value), 1e-12);
    c.gbps = product(ratio(c.bytes, c.seconds.value), 1e-9);
    mode.categories.push_back(c);
  }
}

}  // namespace ulpscope::reports::time_parts
