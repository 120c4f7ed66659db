// What mixed precision itself costs: work that an fp32 step does not do.
#include <fmt/format.h>

#include <functional>

#include "reports/analysis/time_parts.h"

namespace ulpscope::reports::time_parts {
namespace {

/// Nodes of a kind, launched by themselves or within another launch.
struct Work {
  double nodes = 0.0;    ///< in one pass
  double within = 0.0;   ///< of them, in a launch that is another's
  double untimed = 0.0;  ///< launches of their own, without a time
  Number calls = 0.0;    ///< per step, of all
  Number bytes = 0.0;    ///< per step, of all
  Number seconds{};      ///< of launches of their own that were timed
  Provenance provenance = Provenance::unknown;
};

using Which = std::function<bool(const NodeRecord&)>;

Work work_of(const ModeTime& mode, const Plan& plan, const Which& which) {
  Work work;
  std::map<NodeId, const NodeTime*> rows;
  for (const NodeTime& row : mode.nodes)
    if (row.node) rows[*row.node] = &row;
  const auto add = [](Number& sum, const Number& part) { sum = sum && part ? Number(*sum + *part) : std::nullopt; };
  for (const NodeRecord& node : plan.nodes) {
    if (!which(node)) continue;
    work.nodes += 1.0;
    const NodeId lead = plan.lead_of.at(node.id);
    const auto found = rows.find(lead);
    Number calls;
    if (found != rows.end()) calls = found->second->calls;
    add(work.calls, calls);
    Number moved;
    if (node.bytes_read && node.bytes_written) moved = static_cast<double>(*node.bytes_read) + static_cast<double>(*node.bytes_written);
    add(work.bytes, product(moved, calls));
    if (lead != node.id) {
      work.within += 1.0;
    } else if (found == rows.end() || !found->second->seconds.value) {
      work.untimed += 1.0;
    } else {
      work.seconds = work.seconds.value_or(0.0) + *found->second->seconds.value;
      work.provenance = found->second->seconds.provenance;
    }
  }
  return work;
}

/// Nothing of the kind takes no time, if the plan is there to say so.
Figure seconds_of(const Work& work, const Plan& plan) {
  if (work.nodes == 0.0 && !plan.nodes.empty()) return figure(0.0, Provenance::counted);
  return figure(work.seconds, work.provenance);
}

void fill(LedgerItem& item, const Work& work, const Plan& plan) {
  item.count = figure(plan.nodes.empty() ? std::nullopt : work.nodes == 0.0 ? Number(0.0) : work.calls, Provenance::counted);
  item.bytes = figure(plan.nodes.empty() ? std::nullopt : work.bytes, Provenance::computed);
  item.seconds = seconds_of(work, plan);
  item.at_least = work.within + work.untimed > 0.0;
  if (work.within > 0.0) item.note = fmt::format("{:.0f} of {:.0f} run inside another launch, at no time of their own", work.within, work.nodes);
  if (work.untimed > 0.0) item.note += fmt::format("{}{:.0f} of {:.0f} were not timed", item.note.empty() ? "" : "; ", work.untimed, work.nodes);
}

void against(LedgerItem& item, const Figure& reference) {
  item.in_fp32 = reference;
  if (item.seconds.value && reference.value)
    item.extra = figure(*item.seconds.value - *reference.value, of_both(item.seconds.provenance, reference.provenance));
}

bool weight_cast(const NodeRecord& node, const Plan& plan) {
  const auto made = plan.outputs.find({node.id, 0});
  return node.operation == "cast" && made != plan.outputs.end() && made->second.role == TensorRole::weight;
}

LedgerItem master_weights(const Plan& plan) {
  LedgerItem item{.key = "master_weights", .label = "master weights kept", .what = "fp32 weights beside their 16-bit copies: bytes held, not time", .per_step = false};
  Count bytes = 0;
  double count = 0.0;
  for (const TensorRecord& tensor : plan.tensors) {
    if (tensor.role != TensorRole::master_weight) continue;
    const Count own = tensor_bytes(tensor.shape, tensor.format);
    bytes = bytes && own ? Count(*bytes + *own) : std::nullopt;
    count += 1.0;
  }
  if (plan.tensors.empty()) return item;
  item.count = figure(count, Provenance::counted);
  item.bytes = figure(bytes ? Number(static_cast<double>(*bytes)) : std::nullopt, Provenance::computed);
  return item;
}

LedgerItem skipped_steps(const ModeTime& mode, const RunResult& result) {
  LedgerItem item{.key = "skipped_steps", .label = "skipped steps", .what = "steps that overflowed and were not applied, over the whole run", .per_step = false};
  item.count = figure(result.skipped ? Number(static_cast<double>(*result.skipped)) : std::nullopt, Provenance::counted);
  item.seconds = figure(product(item.count.value, mode.step.value), of_both(mode.step.provenance, Provenance::computed));
  if (item.seconds.value && *item.count.value > 0.0) item.note = "count times the seconds of a step; its replay under observation not included";
  return item;
}

}  // namespace

void add_ledger(ModeTime& mode, const Plan& plan, const RunResult& result, const ModeTime* reference) {
  if (mode.run.mode == "fp32") return;
  const Which of_weights = [&](const NodeRecord& n) { return weight_cast(n, plan); };
  const Which of_values = [&](const NodeRecord& n) { return n.operation == "cast" && !weight_cast(n, plan); };
  const auto named = [](const char* operation) { return [operation](const NodeRecord& n) { return n.operation == operation; }; };
  struct Kind {
    LedgerItem item;
    Which which;
  };
  std::vector<Kind> kinds{
      {{.key = "weight_casts", .label = "casts of weights", .what = "master weights to their 16-bit copies"}, of_weights},
      {{.key = "value_casts", .label = "other casts", .what = "activations and gradients from one format to another"}, of_values},
      {{.key = "loss_scaling", .label = "loss times the scale", .what = "and the first gradient"}, named("scale_loss")},
      {{.key = "unscale_check", .label = "unscale and check", .what = "gradients divided by the scale, and looked at: every mode looks"}, named("unscale_check")},
  };
  // What fp32 spends on the same: of casts nothing, of the check most of it.
  for (Kind& kind : kinds) {
    fill(kind.item, work_of(mode, plan, kind.which), plan);
    Figure in_fp32;
    if (reference != nullptr && kind.item.key == std::string_view("unscale_check")) {
      for (const NodeTime& row : reference->nodes)
        if (row.operation == "unscale_check" && row.seconds.value) in_fp32 = figure(in_fp32.value.value_or(0.0) + *row.seconds.value, row.seconds.provenance);
    } else if (reference != nullptr && !reference->nodes.empty()) {
      in_fp32 = figure(0.0, Provenance::counted);
    }
    against(kind.item, in_fp32);
    mode.ledger.push_back(std::move(kind.item));
  }
  bool any = false, emulated = false;
  double extra = 0.0;
  for (const LedgerItem& item : mode.ledger) {
    mode.ledger_at_least |= item.at_least || !item.extra.value;
    if (!item.extra.value) continue;
    any = true;
    emulated |= item.extra.provenance == Provenance::emulated;
    extra += *item.extra.value;
  }
  if (any) mode.ledger_extra = figure(extra, emulated ? Provenance::emulated : Provenance::computed);
  mode.ledger.push_back(master_weights(plan));
  mode.ledger.push_back(skipped_steps(mode, result));
}

}  // namespace ulpscope::reports::time_parts
