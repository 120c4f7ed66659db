#include "reports/analysis/diagnosis/plan_view.h"

#include <algorithm>
#include <limits>

namespace ulpscope::reports {
namespace {

using nlohmann::json;

/// A damaged file may say anything.
constexpr std::int64_t most_outputs = 65536;

bool one_of(const std::string& word, std::initializer_list<const char*> words) {
  return std::any_of(words.begin(), words.end(), [&](const char* w) { return word == w; });
}

bool is_gradient_node(const PlanNode& node) { return node.record.phase == Phase::backward && !node.attributes.contains("recomputes"); }

/// The derivative of the scaled loss, or else of the loss.
const PlanNode* start_of(const std::vector<PlanNode>& nodes) {
  const PlanNode* first = nullptr;
  for (const PlanNode& node : nodes) {
    if (!is_gradient_node(node)) continue;
    if (node.record.operation == "scale_loss") return &node;
    if (first == nullptr) first = &node;
  }
  return first;
}

json attributes_of(const NodeRecord& node) {
  json parsed = json::parse(node.attributes_json, nullptr, false);
  return parsed.is_object() ? parsed : json::object();
}

}  // namespace

PlanView::PlanView(const RunFileReader& reader, PlanId plan) : PlanView(reader.nodes(plan), reader.tensors(plan), reader.edges(plan)) {}

PlanView::PlanView(std::vector<NodeRecord> nodes, std::vector<TensorRecord> tensors, const std::vector<EdgeRecord>& edges) {
  for (NodeRecord& record : nodes) {
    PlanNode node;
    node.attributes = attributes_of(record);
    node.inputs.resize(record.inputs.size());
    for (std::size_t i = 0; i < record.inputs.size(); ++i) node.inputs[i] = record.inputs[i].tensor;
    node.record = std::move(record);
    nodes_.push_back(std::move(node));
  }
  std::stable_sort(nodes_.begin(), nodes_.end(),
                   [](const PlanNode& a, const PlanNode& b) { return a.record.position < b.record.position; });
  std::map<NodeId, std::size_t> index;
  for (std::size_t i = 0; i < nodes_.size(); ++i) index[nodes_[i].record.id] = i;
  for (TensorRecord& record : tensors) {
    const TensorId id = record.id;
    if (record.node && index.contains(*record.node)) {
      PlanNode& node = nodes_[index[*record.node]];
      if (record.output < 0) {
        node.inner = id;
      } else if (record.output < most_outputs) {
        const auto output = static_cast<std::size_t>(record.output);
        if (node.outputs.size() <= output) node.outputs.resize(output + 1, id);
        node.outputs[output] = id;
        producers_[id] = index[*record.node];
      }
    }
    names_[record.name] = id;
    tensors_[id] = std::move(record);
  }
  for (const EdgeRecord& edge : edges) {
    if (!edge.tensor || !index.contains(edge.to)) continue;
    PlanNode& node = nodes_[index[edge.to]];
    const auto input = static_cast<std::size_t>(edge.to_input);
    if (edge.to_input >= 0 && input < node.inputs.size()) node.inputs[input] = edge.tensor;
  }
  for (std::size_t i = 0; i < nodes_.size(); ++i)
    for (const auto& input : nodes_[i].inputs)
      if (input && (readers_[*input].empty() || readers_[*input].back() != i)) readers_[*input].push_back(i);
  find_loss();
  find_scaled();
}

// The first node of the backward pass is named after the node it belongs to, which is the loss or what scales it.
void PlanView::find_loss() {
  const auto first =
      std::find_if(nodes_.begin(), nodes_.end(), [](const PlanNode& n) { return n.record.phase == Phase::backward; });
  if (first == nodes_.end()) return;
  const PlanNode* best = nullptr;
  for (const PlanNode& node : nodes_)
    if (node.record.phase == Phase::forward && !node.outputs.empty() &&
        first->record.name.starts_with(node.record.name + ".") &&
        (best == nullptr || node.record.name.size() > best->record.name.size()))
      best = &node;
  for (int guard = 0; guard < 8 && best != nullptr &&
                      (best->record.operation == "scale_loss" || best->record.name.starts_with("micro_batch_share")) &&
                      !best->inputs.empty() && best->inputs.front();
       ++guard) {
    loss_ = best->inputs.front();
    best = producer(*loss_);
  }
  if (best != nullptr) loss_ = best->outputs.front();
  // A loss that is a sum hands its gradient on as it is: what begins the backward pass is one of its addends.
  for (int guard = 0; guard < 8 && loss_; ++guard) {
    const PlanNode* sum = nullptr;
    for (const std::size_t reader : readers(*loss_)) {
      const PlanNode& node = nodes_[reader];
      const bool adds = node.record.operation == "add" || (node.record.operation == "sub" && node.inputs.front() == loss_);
      if (adds && node.record.phase == Phase::forward && !node.outputs.empty() && elements(node.record.outputs.front().shape) == 1) sum = &node;
    }
    if (sum == nullptr) break;
    loss_ = sum->outputs.front();
  }
  std::vector<TensorId> open;
  if (loss_) open.push_back(*loss_);
  while (!open.empty()) {
    const TensorId id = open.back();
    open.pop_back();
    if (!before_loss_.insert(id).second || producer(id) == nullptr) continue;
    for (const auto& input : producer(id)->inputs)
      if (input) open.push_back(*input);
  }
}

void PlanView::find_scaled() {
  const PlanNode* start = start_of(nodes_);
  std::set<TensorId> begin;
  // A loss that is a sum has several operations that begin: they read the same 1, which no operation makes.
  if (start != nullptr && start->record.operation != "scale_loss")
    for (const auto& input : start->inputs) {
      const TensorRecord* record = input ? tensor(*input) : nullptr;
      if (record != nullptr && !record->node && record->shape.empty()) begin.insert(*input);
    }
  for (const PlanNode& node : nodes_) {
    if (!is_gradient_node(node)) continue;
    const bool follows = std::any_of(node.inputs.begin(), node.inputs.end(),
                                     [&](const auto& input) { return input && (scaled_.contains(*input) || begin.contains(*input)); });
    if (&node != start && !follows) continue;
    // Non-standard: unscaled where it is stored.
    if (const auto early = node.attributes.find("early_unscale"); early != node.attributes.end() && *early == true) continue;
    for (const TensorId id : node.outputs)
      if (is_float(format(id))) scaled_.insert(id);
  }
}

bool PlanView::feeds_loss(const PlanNode& node) const {
  if (node.record.phase != Phase::forward) return true;
  return std::any_of(node.outputs.begin(), node.outputs.end(), [&](TensorId id) { return before_loss_.contains(id); });
}

const PlanNode* PlanView::producer(TensorId tensor) const {
  const auto found = producers_.find(tensor);
  return found == producers_.end() ? nullptr : &nodes_[found->second];
}

const std::vector<std::size_t>& PlanView::readers(TensorId tensor) const {
  static const std::vector<std::size_t> none;
  const auto found = readers_.find(tensor);
  return found == readers_.end() ? none : found->second;
}

const TensorRecord* PlanView::tensor(TensorId id) const {
  const auto found = tensors_.find(id);
  return found == tensors_.end() ? nullptr : &found->second;
}

const TensorRecord* PlanView::tensor(const std::string& name) const {
  const auto found = names_.find(name);
  return found == names_.end() ? nullptr : tensor(found->second);
}

std::string PlanView::title(TensorId id) const {
  const TensorRecord* record = tensor(id);
  if (record == nullptr) return "(not recorded)";
  const PlanNode* made_by = producer(id);
  const auto output = static_cast<std::size_t>(std::max<std::int64_t>(record->output, 0));
  if (made_by != nullptr && made_by->record.operation == "unscale_check" && output < made_by->inputs.size() &&
      made_by->inputs[output])
    return title(*made_by->inputs[output]);
  return record->name;
}

Format PlanView::format(TensorId id) const {
  const TensorRecord* record = tensor(id);
  return record == nullptr ? Format::fp32 : parse_format(record->format).value_or(Format::fp32);
}

TensorId PlanView::uncast(TensorId id) const {
  for (int guard = 0; guard < 64; ++guard) {
    const PlanNode* made_by = producer(id);
    if (made_by == nullptr || !is_view_or_cast(*made_by) || made_by->inputs.empty() || !made_by->inputs.front())
      return id;
    id = *made_by->inputs.front();
  }
  return id;
}

const PlanNode* PlanView::node(const std::string& name) const {
  const auto found =
      std::find_if(nodes_.begin(), nodes_.end(), [&](const PlanNode& n) { return n.record.name == name; });
  return found == nodes_.end() ? nullptr : &*found;
}

bool PlanView::is_source(TensorId id) const { return producer(id) == nullptr && tensor(id) != nullptr; }

std::vector<TensorId> PlanView::parameters() const {
  const bool copies = std::any_of(tensors_.begin(), tensors_.end(),
                                  [](const auto& t) { return t.second.role == TensorRole::master_weight; });
  std::vector<TensorId> list;
  for (const auto& [id, record] : tensors_)
    if (!record.node && record.role == (copies ? TensorRole::master_weight : TensorRole::weight)) list.push_back(id);
  return list;
}

Number number(const PlanNode& node, const char* attribute) {
  const auto found = node.attributes.find(attribute);
  if (found == node.attributes.end()) return std::nullopt;
  if (found->is_number()) return found->get<double>();
  if (!found->is_string()) return std::nullopt;
  const std::string text = found->get<std::string>();
  if (text == "inf") return std::numeric_limits<double>::infinity();
  if (text == "-inf") return -std::numeric_limits<double>::infinity();
  if (text == "nan") return std::numeric_limits<double>::quiet_NaN();
  return std::nullopt;
}

std::string word(const PlanNode& node, const char* attribute) {
  const auto found = node.attributes.find(attribute);
  return found != node.attributes.end() && found->is_string() ? found->get<std::string>() : "";
}

std::int64_t elements(const std::vector<std::int64_t>& shape) {
  std::int64_t count = 1;
  for (const std::int64_t dim : shape) count *= dim;
  return count;
}

bool is_product(const PlanNode& node) {
  const std::string& op = node.record.operation;
  return op == "matmul" || op == "linear" || op.starts_with("conv");
}

bool is_reduction(const PlanNode& node) {
  const std::string& op = node.record.operation;
  return is_mean(node) || one_of(op, {"sum", "sum_to", "sum_channels"});
}

bool is_mean(const PlanNode& node) {
  const std::string& op = node.record.operation;
  return one_of(op, {"mean", "masked_mean", "cross_entropy", "mse_loss", "l1_loss", "bce_with_logits"}) ||
         op.ends_with("_loss");
}

bool is_norm(const PlanNode& node) {
  const std::string& op = node.record.operation;
  return op.find("norm") != std::string::npos && op != "global_norm" && op.find("backward") == std::string::npos;
}

bool is_optimizer(const PlanNode& node) { return one_of(node.record.operation, {"sgd", "adamw"}); }

bool is_view(const PlanNode& node) { return one_of(node.record.operation, {"reshape", "flatten", "detach"}); }

bool is_view_or_cast(const PlanNode& node) {
  return is_view(node) || one_of(node.record.operation, {"cast", "split_heads", "join_heads"});
}

}  // namespace ulpscope::reports
