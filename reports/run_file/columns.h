// Which member of a record is which column: the one list that the writer, the reader and the tests go by.
#pragma once

#include <string>

#include "reports/run_file/records.h"

namespace ulpscope::reports {

/// Table<R>::name is the table, Table<R>::columns(record, visit) calls visit(column name, member) for every column in
/// order; `record` may be const.
template <class Record>
struct Table;

template <>
struct Table<ExperimentRecord> {
  static constexpr const char* name = "experiment";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("name", r.name);
    visit("configuration", r.configuration);
    visit("command_line", r.command_line);
    visit("producer_version", r.producer_version);
    visit("producer_commit", r.producer_commit);
    visit("created", r.created);
  }
};

template <>
struct Table<MachineRecord> {
  static constexpr const char* name = "machine";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("id", r.id);
    visit("host", r.host);
    visit("operating_system", r.operating_system);
    visit("processor", r.processor);
    visit("instruction_set", r.instruction_set);
    visit("cores", r.cores);
    visit("memory_bytes", r.memory_bytes);
    visit("devices_json", r.devices_json);
    visit("libraries_json", r.libraries_json);
    visit("environment_json", r.environment_json);
  }
};

template <>
struct Table<RunRecord> {
  static constexpr const char* name = "run";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("id", r.id);
    visit("machine", r.machine);
    visit("plan", r.plan);
    visit("mode", r.mode);
    visit("seed", r.seed);
    visit("device", r.device);
    visit("device_kind", r.device_kind);
    visit("model", r.model);
    visit("model_json", r.model_json);
    visit("data", r.data);
    visit("data_json", r.data_json);
    visit("status", r.status);
    visit("message", r.message);
    visit("started", r.started);
    visit("ended", r.ended);
    visit("versions_json", r.versions_json);
    visit("kernel_choices_json", r.kernel_choices_json);
    visit("non_standard_json", r.non_standard);
    visit("parameters", r.parameters);
    visit("steps_planned", r.steps_planned);
    visit("batch", r.batch);
    visit("micro_batches", r.micro_batches);
    visit("context", r.context);
    visit("threads", r.threads);
    visit("optimizer", r.optimizer);
    visit("loss_scaling", r.loss_scaling);
    visit("time_provenance", r.time_provenance);
    visit("attributes_json", r.attributes_json);
  }
};

template <>
struct Table<NodeRecord> {
  static constexpr const char* name = "node";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("plan", r.plan);
    visit("id", r.id);
    visit("position", r.position);
    visit("operation", r.operation);
    visit("name", r.name);
    visit("phase", r.phase);
    visit("attributes_json", r.attributes_json);
    visit("inputs_json", r.inputs);
    visit("outputs_json", r.outputs);
    visit("compute_format", r.compute_format);
    visit("format_reason", r.format_reason);
    visit("flops", r.flops);
    visit("bytes_read", r.bytes_read);
    visit("bytes_written", r.bytes_written);
    visit("materialised", r.materialised);
  }
};

template <>
struct Table<EdgeRecord> {
  static constexpr const char* name = "edge";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("plan", r.plan);
    visit("from_node", r.from);
    visit("from_output", r.from_output);
    visit("to_node", r.to);
    visit("to_input", r.to_input);
    visit("tensor", r.tensor);
  }
};

template <>
struct Table<TensorRecord> {
  static constexpr const char* name = "tensor";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("plan", r.plan);
    visit("id", r.id);
    visit("name", r.name);
    visit("role", r.role);
    visit("node", r.node);
    visit("output", r.output);
    visit("shape_json", r.shape);
    visit("format", r.format);
    visit("materialised", r.materialised);
  }
};

template <>
struct Table<StepRecord> {
  static constexpr const char* name = "step";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("run", r.run);
    visit("step", r.step);
    visit("applied", r.applied);
    visit("loss", r.loss);
    visit("learning_rate", r.learning_rate);
    visit("loss_scale", r.loss_scale);
    visit("gradient_norm", r.gradient_norm);
    visit("finite", r.finite);
    visit("skipped", r.skipped);
    visit("wall_seconds", r.wall_seconds);
    visit("device_seconds", r.device_seconds);
    visit("tokens", r.tokens);
  }
};

template <>
struct Table<EvaluationRecord> {
  static constexpr const char* name = "evaluation";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("run", r.run);
    visit("step", r.step);
    visit("split", r.split);
    visit("loss", r.loss);
    visit("tokens", r.tokens);
    visit("wall_seconds", r.wall_seconds);
  }
};

template <>
struct Table<TimingSample> {
  static constexpr const char* name = "timing_sample";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("run", r.run);
    visit("repetition", r.repetition);
    visit("warm_up", r.warm_up);
    visit("wall_seconds", r.wall_seconds);
    visit("device_seconds", r.device_seconds);
    visit("tokens", r.tokens);
  }
};

template <>
struct Table<NodeTiming> {
  static constexpr const char* name = "node_timing";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("run", r.run);
    visit("node", r.node);
    visit("step", r.step);
    visit("sampled_steps", r.sampled_steps);
    visit("calls", r.calls);
    visit("seconds", r.seconds);
    visit("provenance", r.provenance);
  }
};

template <>
struct Table<KernelRecord> {
  static constexpr const char* name = "kernel";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("run", r.run);
    visit("step", r.step);
    visit("node", r.node);
    visit("correlation", r.correlation);
    visit("stream", r.stream);
    visit("name", r.name);
    visit("start_ns", r.start_ns);
    visit("duration_ns", r.duration_ns);
    visit("grid_x", r.grid[0]);
    visit("grid_y", r.grid[1]);
    visit("grid_z", r.grid[2]);
    visit("block_x", r.block[0]);
    visit("block_y", r.block[1]);
    visit("block_z", r.block[2]);
    visit("registers", r.registers);
    visit("static_shared_bytes", r.static_shared_bytes);
    visit("dynamic_shared_bytes", r.dynamic_shared_bytes);
    visit("tensor_pipe", r.tensor_pipe);
  }
};

template <>
struct Table<DeviceSample> {
  static constexpr const char* name = "device_sample";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("run", r.run);
    visit("step", r.step);
    visit("phase", r.phase);
    visit("seconds", r.seconds);
    visit("core_clock_mhz", r.core_clock_mhz);
    visit("memory_clock_mhz", r.memory_clock_mhz);
    visit("power_watts", r.power_watts);
    visit("temperature_celsius", r.temperature_celsius);
    visit("throttle_reasons", r.throttle_reasons);
  }
};

template <>
struct Table<TensorStatsRecord> {
  static constexpr const char* name = "tensor_stats";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("run", r.run);
    visit("step", r.step);
    visit("tensor", r.tensor);
    visit("micro_batch", r.micro_batch);
    visit("observation", r.observation);
    visit("provenance", r.provenance);
    visit("elements", r.elements);
    visit("nan", r.nan);
    visit("positive_infinite", r.positive_infinite);
    visit("negative_infinite", r.negative_infinite);
    visit("zero", r.zero);
    visit("subnormal", r.subnormal);
    visit("flushed", r.flushed);
    visit("overflowed", r.overflowed);
    visit("least_magnitude", r.least_magnitude);
    visit("greatest_magnitude", r.greatest_magnitude);
    visit("mean", r.mean);
    visit("rms", r.rms);
    visit("rounding_error_rms", r.rounding_error_rms);
    visit("rounding_error_greatest", r.rounding_error_greatest);
    visit("lost_updates", r.lost_updates);
    visit("shadow_error", r.shadow_error);
    visit("histogram", r.histogram);
  }
};

template <>
struct Table<RangeRecord> {
  static constexpr const char* name = "range";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("run", r.run);
    visit("step", r.step);
    visit("tensors", r.tensors);
  }
};

template <>
struct Table<EventRecord> {
  static constexpr const char* name = "event";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("run", r.run);
    visit("step", r.step);
    visit("kind", r.kind);
    visit("node", r.node);
    visit("tensor", r.tensor);
    visit("value", r.value);
    visit("provenance", r.provenance);
    visit("detail_json", r.detail_json);
  }
};

template <>
struct Table<MemoryRecord> {
  static constexpr const char* name = "memory";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("run", r.run);
    visit("kind", r.kind);
    visit("step", r.step);
    visit("position", r.position);
    for (int i = 0; i < memory_category_count; ++i) {
      const std::string column = std::string(reports::name(static_cast<MemoryCategory>(i))) + "_bytes";
      visit(column.c_str(), r.bytes[static_cast<std::size_t>(i)]);
    }
    visit("total_bytes", r.total_bytes);
    visit("provenance", r.provenance);
  }
};

template <>
struct Table<MendRecord> {
  static constexpr const char* name = "mend";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("id", r.id);
    visit("run", r.run);
    visit("trial", r.trial);
    visit("kind", r.kind);
    visit("change", r.change);
    visit("settings_json", r.settings_json);
    visit("how_run", r.how_run);
    visit("status", r.status);
    visit("time_ratio", r.time_ratio);
    visit("time_provenance", r.time_provenance);
    visit("memory_delta_bytes", r.memory_delta_bytes);
    visit("detail_json", r.detail_json);
  }
};

template <>
struct Table<CompletenessRecord> {
  static constexpr const char* name = "completeness";
  template <class R, class Visit>
  static void columns(R& r, Visit&& visit) {
    visit("run", r.run);
    visit("kind", r.kind);
    visit("subject", r.subject);
    visit("count", r.count);
    visit("seconds", r.seconds);
    visit("provenance", r.provenance);
    visit("detail", r.detail);
  }
};

}  // namespace ulpscope::reports
