// The arrays of tables of an experiment file: [[node]], [[override]], [[rewrite]] and [[inject]]; read, and written out.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <toml++/toml.h>
#include <vector>

#include "profiler/experiment/experiment.h"

namespace ulpscope::profiler {

struct GraphTables {
  std::optional<std::vector<engine::GraphNode>> nodes;
  std::optional<std::vector<engine::Override>> overrides;
  std::optional<std::vector<engine::Rewrite>> rewrites;
  std::optional<std::vector<engine::Injection>> injections;
};

/// "node", "override", "rewrite", "inject".
const std::vector<std::string>& graph_table_names();

/// Reads one of them. Throws UsageError "FILE:LINE: …" naming the node or table, the mistake and the valid choices. Paths of .npy
/// files are relative to `folder`.
void read_graph_table(std::string_view name, const toml::node& value, const std::string& file, const std::string& folder,
                      GraphTables& tables);

/// The [[node]] tables of the experiment, and its [[override]], [[rewrite]] and [[inject]] tables, with every value filled in; they read back to
/// the same experiment. Empty if there are none.
std::string node_tables_toml(const Experiment& experiment);
std::string change_tables_toml(const Experiment& experiment);

}  // namespace ulpscope::profiler
