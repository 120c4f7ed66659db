// The parts of a time report: what time.cpp puts together.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "reports/analysis/run_result.h"
#include "reports/analysis/time.h"
#include "reports/analysis/time_peaks.h"

namespace ulpscope::reports::time_parts {

/// The plan of a run, and which of its nodes are launched together.
struct Plan {
  std::vector<NodeRecord> nodes{};
  std::map<NodeId, std::size_t> index{};
  std::map<NodeId, NodeId> lead_of{};                     ///< of every node; its own for those launched alone
  std::map<NodeId, std::vector<std::size_t>> launches{};  ///< by lead: its nodes, in execution order
  std::map<std::pair<NodeId, std::int64_t>, TensorRecord> outputs{};
  std::vector<TensorRecord> tensors{};
  std::map<std::pair<NodeId, std::int64_t>, EdgeRecord> feeds{};  ///< by reader and input

  const NodeRecord& node(NodeId id) const { return nodes[index.at(id)]; }
  bool view(NodeId lead) const;  ///< launches nothing
  /// Of one call of a launch; unknown if a node's are.
  Count flops(NodeId lead) const;
  Count bytes(NodeId lead) const;
};
Plan read_plan(const RunFileReader& reader, const RunRecord& run);
/// The same from the rows themselves.
Plan plan_of(std::vector<NodeRecord> nodes, std::vector<TensorRecord> tensors, const std::vector<EdgeRecord>& edges);

/// "gpt on text.txt, 200 steps, batch 8, context 64", as far as the run says it.
std::string experiment_text(const RunRecord& run);

/// Of a shape in a format; unknown for a format that is not known.
Count tensor_bytes(const std::vector<std::int64_t>& shape, const std::string& format);

/// Fills nodes, nodes_from, sampled_steps, nodes_sum, untimed, views and device.
void add_nodes(ModeTime& mode, const Plan& plan, const RunFileReader& reader);
/// Adds kernels to the rows (by lead) and rows for those without a node. Reads them one after another. False: none of a known step.
bool add_kernels(ModeTime& mode, const Plan& plan, std::map<NodeId, NodeTime>& rows, std::vector<NodeTime>& others, const RunFileReader& reader);
/// Of a trace that another program recorded: formats that the names of kernels say, and what was launched within its ranges.
void add_imported(ModeTime& mode, const RunFileReader& reader);
/// Rates, shares, tensor cores, once seconds are known.
void add_rates(ModeTime& mode, const Plan& plan);
void add_categories(ModeTime& mode);

/// Whether the step's time can be true, and under which conditions the GPU was timed.
void add_trust(ModeTime& mode);
void add_condition(ModeTime& mode, const std::vector<DeviceSample>& samples);

/// reference: fp32 of the same file and device, or none.
void add_ledger(ModeTime& mode, const Plan& plan, const RunResult& result, const ModeTime* reference);
void add_bound(ModeTime& mode, const Plan& plan, const ModeTime* reference);
void add_reasons(ModeTime& mode, const Plan& plan, const RunResult& result, const ModeTime* reference);

inline Figure figure(Number value, Provenance provenance) {
  Figure f;
  f.value = value;
  if (value) f.provenance = provenance;
  return f;
}
inline Number ratio(const Number& a, const Number& b) {
  if (!a || !b || *b == 0.0) return std::nullopt;
  return *a / *b;
}
inline Number product(const Number& a, const Number& b) {
  if (!a || !b) return std::nullopt;
  return *a * *b;
}
/// What a number made of two is: emulated if either is, else computed.
inline Provenance of_both(Provenance a, Provenance b) {
  return a == Provenance::emulated || b == Provenance::emulated ? Provenance::emulated : Provenance::computed;
}
/// Seconds of the fp32 step that shares are of: its own, or the sum of its nodes if that is greater.
inline Number step_base(const ModeTime& mode) {
  if (!mode.step.value || !mode.nodes_sum.value) return mode.step.value ? mode.step.value : mode.nodes_sum.value;
  return std::max(*mode.step.value, *mode.nodes_sum.value);
}
bool narrower(const std::string& format);  ///< than fp32: fp16, bf16, tf32, fp8 …

}  // namespace ulpscope::reports::time_parts
