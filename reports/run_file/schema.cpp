#include "reports/run_file/schema.h"

namespace ulpscope::reports {
namespace {

// A column of type ANY holds a floating-point number: REAL if finite, TEXT 'nan', 'inf' or '-inf' if not, NULL if
// unknown (SQLite would store a NaN as NULL). STRICT tables keep ANY exactly as bound.
constexpr const char* sql = R"sql(
PRAGMA application_id = 0x756c7073;
PRAGMA user_version = 4;

CREATE TABLE experiment (
  name TEXT NOT NULL, configuration TEXT NOT NULL, command_line TEXT NOT NULL,
  producer_version TEXT NOT NULL, producer_commit TEXT NOT NULL, created TEXT NOT NULL
) STRICT;

CREATE TABLE machine (
  id INTEGER PRIMARY KEY, host TEXT NOT NULL, operating_system TEXT NOT NULL, processor TEXT NOT NULL,
  instruction_set TEXT NOT NULL, cores INTEGER, memory_bytes INTEGER,
  devices_json TEXT NOT NULL, libraries_json TEXT NOT NULL, environment_json TEXT NOT NULL
) STRICT;

CREATE TABLE run (
  id INTEGER PRIMARY KEY, machine INTEGER, plan INTEGER,
  mode TEXT NOT NULL, seed INTEGER NOT NULL, device TEXT NOT NULL, device_kind TEXT NOT NULL,
  model TEXT NOT NULL, model_json TEXT NOT NULL, data TEXT NOT NULL, data_json TEXT NOT NULL,
  status TEXT NOT NULL, message TEXT NOT NULL, started TEXT NOT NULL, ended TEXT NOT NULL,
  versions_json TEXT NOT NULL, kernel_choices_json TEXT NOT NULL, non_standard_json TEXT NOT NULL,
  parameters INTEGER, steps_planned INTEGER, batch INTEGER, micro_batches INTEGER, context INTEGER, threads INTEGER,
  optimizer TEXT NOT NULL, loss_scaling TEXT NOT NULL, time_provenance TEXT NOT NULL, attributes_json TEXT NOT NULL
) STRICT;

CREATE TABLE node (
  plan INTEGER NOT NULL, id INTEGER NOT NULL, position INTEGER NOT NULL,
  operation TEXT NOT NULL, name TEXT NOT NULL, phase TEXT NOT NULL, attributes_json TEXT NOT NULL,
  inputs_json TEXT NOT NULL, outputs_json TEXT NOT NULL, compute_format TEXT NOT NULL, format_reason TEXT NOT NULL,
  flops INTEGER, bytes_read INTEGER, bytes_written INTEGER, materialised INTEGER NOT NULL,
  PRIMARY KEY (plan, id)
) STRICT;

CREATE TABLE edge (
  plan INTEGER NOT NULL, from_node INTEGER NOT NULL, from_output INTEGER NOT NULL,
  to_node INTEGER NOT NULL, to_input INTEGER NOT NULL, tensor INTEGER,
  PRIMARY KEY (plan, to_node, to_input)
) STRICT, WITHOUT ROWID;

CREATE TABLE tensor (
  plan INTEGER NOT NULL, id INTEGER NOT NULL, name TEXT NOT NULL, role TEXT NOT NULL,
  node INTEGER, output INTEGER NOT NULL, shape_json TEXT NOT NULL, format TEXT NOT NULL, materialised INTEGER NOT NULL,
  PRIMARY KEY (plan, id)
) STRICT;

CREATE TABLE step (
  run INTEGER NOT NULL, step INTEGER NOT NULL, applied INTEGER NOT NULL,
  loss ANY, learning_rate ANY, loss_scale ANY, gradient_norm ANY,
  finite INTEGER NOT NULL, skipped INTEGER NOT NULL, wall_seconds ANY, device_seconds ANY, tokens INTEGER,
  PRIMARY KEY (run, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE evaluation (
  run INTEGER NOT NULL, step INTEGER NOT NULL, split TEXT NOT NULL, loss ANY, tokens INTEGER, wall_seconds ANY,
  PRIMARY KEY (run, split, step)
) STRICT, WITHOUT ROWID;

CREATE TABLE timing_sample (
  run INTEGER NOT NULL, repetition INTEGER NOT NULL, warm_up INTEGER NOT NULL,
  wall_seconds ANY, device_seconds ANY, tokens INTEGER,
  PRIMARY KEY (run, repetition)
) STRICT, WITHOUT ROWID;

CREATE TABLE node_timing (
  run INTEGER NOT NULL, node INTEGER NOT NULL, step INTEGER, sampled_steps INTEGER,
  calls INTEGER NOT NULL, seconds ANY, provenance TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX node_timing_key ON node_timing (run, node, ifnull(step, -1));

CREATE TABLE kernel (
  run INTEGER NOT NULL, step INTEGER, node INTEGER, correlation INTEGER NOT NULL, stream INTEGER NOT NULL,
  name TEXT NOT NULL, start_ns INTEGER NOT NULL, duration_ns INTEGER NOT NULL,
  grid_x INTEGER NOT NULL, grid_y INTEGER NOT NULL, grid_z INTEGER NOT NULL,
  block_x INTEGER NOT NULL, block_y INTEGER NOT NULL, block_z INTEGER NOT NULL,
  registers INTEGER, static_shared_bytes INTEGER, dynamic_shared_bytes INTEGER, tensor_pipe ANY
) STRICT;
CREATE INDEX kernel_start ON kernel (run, start_ns);
CREATE INDEX kernel_step ON kernel (run, step);

CREATE TABLE device_sample (
  run INTEGER, step INTEGER, phase TEXT NOT NULL, seconds ANY, core_clock_mhz ANY, memory_clock_mhz ANY,
  power_watts ANY, temperature_celsius ANY, throttle_reasons INTEGER
) STRICT;

CREATE TABLE tensor_stats (
  run INTEGER NOT NULL, step INTEGER NOT NULL, tensor INTEGER NOT NULL, micro_batch INTEGER NOT NULL,
  observation TEXT NOT NULL, provenance TEXT NOT NULL, elements INTEGER NOT NULL,
  nan INTEGER, positive_infinite INTEGER, negative_infinite INTEGER, zero INTEGER,
  subnormal INTEGER, flushed INTEGER, overflowed INTEGER,
  least_magnitude ANY, greatest_magnitude ANY, mean ANY, rms ANY, rounding_error_rms ANY, rounding_error_greatest ANY,
  lost_updates INTEGER, shadow_error ANY, histogram BLOB
) STRICT;
CREATE UNIQUE INDEX tensor_stats_key ON tensor_stats (run, tensor, step, micro_batch, observation);
CREATE INDEX tensor_stats_step ON tensor_stats (run, step);

CREATE TABLE range (
  run INTEGER NOT NULL, step INTEGER NOT NULL, tensors BLOB NOT NULL,
  PRIMARY KEY (run, step)
) STRICT;

CREATE TABLE event (
  run INTEGER NOT NULL, step INTEGER NOT NULL, kind TEXT NOT NULL, node INTEGER, tensor INTEGER,
  value ANY, provenance TEXT NOT NULL, detail_json TEXT NOT NULL
) STRICT;
CREATE INDEX event_step ON event (run, step);

CREATE TABLE memory (
  run INTEGER NOT NULL, kind TEXT NOT NULL, step INTEGER, position INTEGER,
  weights_bytes INTEGER, master_weights_bytes INTEGER, gradients_bytes INTEGER, optimizer_state_bytes INTEGER,
  activations_bytes INTEGER, casts_bytes INTEGER, workspace_bytes INTEGER, inputs_bytes INTEGER, gaps_bytes INTEGER,
  observation_bytes INTEGER, buffers_bytes INTEGER,
  total_bytes INTEGER, provenance TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX memory_key ON memory (run, kind, ifnull(step, -1), ifnull(position, -1));

CREATE TABLE mend (
  id INTEGER PRIMARY KEY, run INTEGER, trial INTEGER, kind TEXT NOT NULL, change TEXT NOT NULL,
  settings_json TEXT NOT NULL, how_run TEXT NOT NULL, status TEXT NOT NULL,
  time_ratio ANY, time_provenance TEXT NOT NULL, memory_delta_bytes INTEGER, detail_json TEXT NOT NULL
) STRICT;

CREATE TABLE completeness (
  run INTEGER, kind TEXT NOT NULL, subject TEXT NOT NULL, count INTEGER, seconds ANY, provenance TEXT NOT NULL,
  detail TEXT NOT NULL
) STRICT;
CREATE UNIQUE INDEX completeness_key ON completeness (ifnull(run, -1), kind, subject);
)sql";

}  // namespace

const char* schema_sql() { return sql; }

const std::vector<std::string>& table_names() {
  static const std::vector<std::string> names{
      "experiment",    "machine",     "run",    "node",         "edge",  "tensor", "step", "evaluation",
      "timing_sample", "node_timing", "kernel", "device_sample", "tensor_stats", "range", "event",
      "memory",        "mend",        "completeness"};
  return names;
}

}  // namespace ulpscope::reports
