#include <algorithm>
#include <map>
#include <string_view>

#include "gui/models/nodes_model.h"
#include "kernels/error.h"

namespace ulpscope::gui {
namespace {

std::string joined(const std::vector<reports::Signature>& signatures) {
  std::string text;
  for (const reports::Signature& signature : signatures) text += (text.empty() ? "" : ", ") + signature.format;
  return text;
}

struct Timed {
  reports::Figure seconds{};
  std::string launched_with{};
  const reports::NodeTime* node = nullptr;
};

/// By name: nodes keep it in every mode.
std::map<std::string, Timed, std::less<>> timesOf(const reports::ModeTime& mode) {
  std::map<std::string, Timed, std::less<>> times;
  for (const reports::NodeTime& node : mode.nodes) {
    if (!node.node) continue;  // kernels of no node
    times[node.name] = {node.seconds, "", &node};
    for (const auto& member : node.members) times[member.name] = {{}, node.name, &node};
  }
  return times;
}

}  // namespace

NodeTable readNodes(const reports::RunFileReader& reader, const std::string& mode) {
  NodeTable table;
  const std::vector<reports::RunRecord> runs = reader.runs();
  const auto run = std::find_if(runs.begin(), runs.end(),
                                [&](const reports::RunRecord& r) { return r.plan && (mode.empty() || r.mode == mode); });
  if (run == runs.end()) return table;
  table.mode = run->mode;
  const reports::TimeReport report = reports::time_report(reader);
  std::vector<std::map<std::string, Timed, std::less<>>> times;
  std::size_t own = report.modes.size();
  for (const reports::ModeTime& timed : report.modes) {
    if (timed.run.mode == table.mode) own = times.size();
    table.modes.push_back(timed.run.mode);
    times.push_back(timesOf(timed));
  }
  for (reports::NodeRecord& node : reader.nodes(*run->plan)) {
    NodeRow row;
    row.formats = joined(node.inputs) + " > " + joined(node.outputs);
    for (std::size_t i = 0; i < times.size(); ++i) {
      const auto found = times[i].find(node.name);
      const bool is_timed = found != times[i].end();
      row.seconds.push_back(is_timed ? found->second.seconds : reports::Figure{});
      row.launched_with.push_back(is_timed ? found->second.launched_with : "");
      if (i == own && is_timed && found->second.launched_with.empty()) {
        row.tensorCores = found->second.node->tensor_cores;
        row.tensorCoresWhy = found->second.node->tensor_cores_why;
      }
    }
    if (!reports::is_product(reports::time_category(node.operation))) row.tensorCores = reports::TensorCores::not_a_product;
    row.node = std::move(node);
    table.rows.push_back(std::move(row));
  }
  std::stable_sort(table.rows.begin(), table.rows.end(),
                   [](const NodeRow& a, const NodeRow& b) { return a.node.position < b.node.position; });
  return table;
}

}  // namespace ulpscope::gui
