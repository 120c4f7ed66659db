// The graph of a plan as it was recorded: who reads and who makes what.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "kernels/formats/format.h"
#include "reports/run_file/reader.h"

namespace ulpscope::reports {

struct PlanNode {
  NodeRecord record{};
  nlohmann::json attributes = nlohmann::json::object();
  std::vector<std::optional<TensorId>> inputs{};
  std::vector<TensorId> outputs{};
  std::optional<TensorId> inner{};  ///< statistics of sums that are kept narrow inside it
};

class PlanView {
 public:
  PlanView() = default;
  PlanView(const RunFileReader& reader, PlanId plan);
  PlanView(std::vector<NodeRecord> nodes, std::vector<TensorRecord> tensors, const std::vector<EdgeRecord>& edges);

  bool empty() const { return nodes_.empty(); }
  /// In execution order.
  const std::vector<PlanNode>& nodes() const { return nodes_; }
  const std::map<TensorId, TensorRecord>& tensors() const { return tensors_; }

  const PlanNode* producer(TensorId tensor) const;
  /// Indices into nodes().
  const std::vector<std::size_t>& readers(TensorId tensor) const;
  const TensorRecord* tensor(TensorId id) const;
  const TensorRecord* tensor(const std::string& name) const;
  /// The tensor's name; in-place results of the unscale are called by the gradient they hold.
  std::string title(TensorId id) const;
  Format format(TensorId id) const;  ///< fp32 if unknown
  /// The value before casts, copies and views.
  TensorId uncast(TensorId id) const;
  const PlanNode* node(const std::string& name) const;

  /// What the backward pass starts from; none if the plan has no backward pass.
  std::optional<TensorId> loss() const { return loss_; }
  /// Whether the loss is computed from what the node makes; true for what comes after the loss.
  bool feeds_loss(const PlanNode& node) const;
  /// Whether the tensor is a gradient times the loss scale (1 where the plan does not scale the loss): computed from the gradient of the
  /// loss, and not yet unscaled. What the backward pass computes of results of the forward pass alone is none, nor what it computes again.
  bool carries_scale(TensorId id) const { return scaled_.contains(id); }
  bool is_source(TensorId id) const;
  /// Parameters (the master weights where there are copies), in the plan's order.
  std::vector<TensorId> parameters() const;

 private:
  void find_loss();
  void find_scaled();
  std::vector<PlanNode> nodes_;
  std::map<TensorId, TensorRecord> tensors_;
  std::map<TensorId, std::size_t> producers_;
  std::map<TensorId, std::vector<std::size_t>> readers_;
  std::map<std::string, TensorId> names_;
  std::optional<TensorId> loss_;
  std::set<TensorId> before_loss_;
  std::set<TensorId> scaled_;
};

/// A number among a node's attributes; "inf", "-inf" and "nan" too.
Number number(const PlanNode& node, const char* attribute);
/// A word among them; "" if there is none.
std::string word(const PlanNode& node, const char* attribute);
/// Elements of a shape.
std::int64_t elements(const std::vector<std::int64_t>& shape);

// Families of operators, as the diagnosis tells them apart.
bool is_product(const PlanNode& node);    ///< matmul, linear, convolutions
bool is_reduction(const PlanNode& node);  ///< sums and means, losses among them
bool is_mean(const PlanNode& node);       ///< those that divide by a count
bool is_norm(const PlanNode& node);
bool is_optimizer(const PlanNode& node);
bool is_view(const PlanNode& node);  ///< another shape of the same bytes: has no statistics of its own
bool is_view_or_cast(const PlanNode& node);

}  // namespace ulpscope::reports
