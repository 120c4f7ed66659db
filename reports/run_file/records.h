// What a run file holds: one plain struct for a row of each table. Columns, units and provenance: README.md.
//
// Strings are UTF-8; an empty string means "nothing to say". Times are ISO 8601 in UTC ("2025-01-31T12:00:00Z"),
// durations seconds unless the name says otherwise, memory bytes. Members ending in _json hold a JSON document.
// Every member has an initializer, so that designated initializers may name the few that matter.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "reports/run_file/values.h"

namespace ulpscope::reports {

/// The experiment: one row in a file.
struct ExperimentRecord {
  std::string name{};
  std::string configuration{};  ///< the experiment as TOML, every value filled in
  std::string command_line{};
  std::string producer_version{};  ///< of ulpscope, "0.1.0"
  std::string producer_commit{};
  std::string created{};
};

struct MachineRecord {
  MachineId id{};
  std::string host{};
  std::string operating_system{};
  std::string processor{};        ///< "AMD EPYC …"
  std::string instruction_set{};  ///< of the kernels in use: "portable", "avx2", "avx512"
  Count cores{};                  ///< processors this process may run on
  Count memory_bytes{};
  std::string devices_json{};      ///< what `ulpscope devices` shows
  std::string libraries_json{};    ///< name → exact version
  std::string environment_json{};  ///< whatever else may explain a number: governor, container limits, variables
};

/// One mode with one seed. Pushed again under the same id it replaces the row: that is how a status changes.
struct RunRecord {
  RunId id{};
  std::optional<MachineId> machine{};
  std::optional<PlanId> plan{};
  std::string mode{};  ///< "fp32", "fp16+tf32" …
  std::int64_t seed = 0;
  std::string device{};       ///< "AMD EPYC …", "NVIDIA H200"
  std::string device_kind{};  ///< "cpu", "cuda"
  std::string model{};        ///< "gpt"
  std::string model_json{};   ///< its dimensions
  std::string data{};         ///< path or name
  std::string data_json{};    ///< size, hash, held-out share …
  RunStatus status = RunStatus::running;
  std::string message{};  ///< why it failed or was interrupted
  std::string started{};
  std::string ended{};                      ///< empty while running
  std::string versions_json{};              ///< of everything that can change a bit or a time
  std::string kernel_choices_json{};        ///< pinned libraries, algorithms, thread count
  std::vector<std::string> non_standard{};  ///< knobs that reproduce faults, printed wherever the run is shown
  Count parameters{};
  Count steps_planned{};
  Count batch{};          ///< sequences (or samples) of one micro-batch
  Count micro_batches{};  ///< gradient accumulation
  Count context{};        ///< tokens of a sequence; unknown for models without one
  Count threads{};
  std::string optimizer{};     ///< "adamw"
  std::string loss_scaling{};  ///< "none", "dynamic:pytorch", "fixed:1024"
  /// What the wall seconds of this run are: measured, or emulated where the mode is carried out in software.
  Provenance time_provenance = Provenance::unknown;
  std::string attributes_json{};  ///< anything else
};

/// Shape and format of one operand.
struct Signature {
  std::vector<std::int64_t> shape{};  ///< outermost first; empty: a scalar
  std::string format{};               ///< a name of kernels/formats
  std::optional<TensorId> tensor{};   ///< which value of the plan it is; unknown in files of schema 2 and before
  friend bool operator==(const Signature&, const Signature&) = default;
};

/// A node of the plan.
struct NodeRecord {
  PlanId plan{};
  NodeId id{};
  std::int64_t position = 0;  ///< in execution order, from 0
  std::string operation{};    ///< "matmul", "layer_norm"
  std::string name{};         ///< "block3.attention.scores"
  Phase phase = Phase::forward;
  std::string attributes_json{};  ///< epsilon, mask, axis …
  std::vector<Signature> inputs{};
  std::vector<Signature> outputs{};
  std::string compute_format{};
  std::string format_reason{};  ///< why this format, in words
  Count flops{};                ///< computed from shapes, one call
  Count bytes_read{};
  Count bytes_written{};
  bool materialised = true;  ///< false: lives in registers of a fused kernel
};

/// Output `from_output` of a node feeds input `to_input` of another.
struct EdgeRecord {
  PlanId plan{};
  NodeId from{};
  std::int64_t from_output = 0;
  NodeId to{};
  std::int64_t to_input = 0;
  std::optional<TensorId> tensor{};
};

/// A value of the plan, so that statistics need not repeat its name.
struct TensorRecord {
  PlanId plan{};
  TensorId id{};
  std::string name{};
  TensorRole role = TensorRole::activation;
  std::optional<NodeId> node{};  ///< that makes it; none for inputs and weights
  std::int64_t output = 0;       ///< which output of that node; -1: a sum inside it that is never stored
  std::vector<std::int64_t> shape{};
  std::string format{};
  bool materialised = true;
};

/// One training step, applied or skipped.
struct StepRecord {
  RunId run{};
  std::int64_t step = 0;     ///< iteration, from 0: counts every step
  std::int64_t applied = 0;  ///< committed steps after this one
  Number loss{};             ///< training loss of the batch, unscaled
  Number learning_rate{};
  Number loss_scale{};     ///< in force during the step; unknown in modes without scaling
  Number gradient_norm{};  ///< of the unscaled gradients, before clipping
  bool finite = true;      ///< every parameter gradient was finite
  bool skipped = false;
  Number wall_seconds{};
  Number device_seconds{};  ///< unknown on a CPU
  Count tokens{};           ///< (or samples) trained on in the step
};

/// Held-out loss, evaluated in the run's own mode.
struct EvaluationRecord {
  RunId run{};
  std::int64_t step = 0;  ///< steps done before it
  std::string split = "held_out";
  Number loss{};
  Count tokens{};
  Number wall_seconds{};
};

/// One step of the timing phase, where nothing is recorded but the clock.
struct TimingSample {
  RunId run{};
  std::int64_t repetition = 0;
  bool warm_up = false;  ///< not part of any statistic
  Number wall_seconds{};
  Number device_seconds{};
  Count tokens{};
};

/// Time spent in a node: in one step, or summed over the steps of a run in which nodes were timed.
struct NodeTiming {
  RunId run{};
  NodeId node{};
  std::optional<std::int64_t> step{};  ///< none: summed over the sampled steps of the run
  Count sampled_steps{};               ///< how many steps the sum is over
  std::int64_t calls = 0;
  Number seconds{};  ///< of all these calls
  Provenance provenance = Provenance::measured;
};

/// A kernel as a GPU ran it.
struct KernelRecord {
  RunId run{};
  std::optional<std::int64_t> step{};
  std::optional<NodeId> node{};
  std::int64_t correlation = 0;
  std::int64_t stream = 0;
  std::string name{};
  std::int64_t start_ns = 0;  ///< since the start of the run
  std::int64_t duration_ns = 0;
  std::array<std::int64_t, 3> grid{};
  std::array<std::int64_t, 3> block{};
  Count registers{};  ///< for each thread
  Count static_shared_bytes{};
  Count dynamic_shared_bytes{};
  Number tensor_pipe{};  ///< share of cycles with the tensor pipes active, 0 … 1
};

/// What a GPU said of itself at a moment of the recording, about once a second (NVML). Unknown: it does not say.
struct DeviceSample {
  std::optional<RunId> run{};          ///< none: in the timing phase, where the runs take turns
  std::optional<std::int64_t> step{};  ///< iteration that was under way
  std::string phase{};                 ///< "training", "timing"
  Number seconds{};                    ///< since this recording began, or was gone on with
  Number core_clock_mhz{};             ///< of the multiprocessors
  Number memory_clock_mhz{};
  Number power_watts{};
  Number temperature_celsius{};
  Count throttle_reasons{};  ///< bits of NVML's clocks event reasons; 0: the clock is as high as it was asked to be
};

/// What one tensor held in one step, counted on the values before they were rounded into the tensor's format.
struct TensorStatsRecord {
  RunId run{};
  std::int64_t step = 0;
  TensorId tensor{};
  std::int64_t micro_batch = 0;
  std::string observation = "sampled";  ///< "sampled", "replay", "shadow"
  Provenance provenance = Provenance::counted;
  std::int64_t elements = 0;
  Count nan{};
  Count positive_infinite{};
  Count negative_infinite{};
  Count zero{};
  Count subnormal{};            ///< after rounding
  Count flushed{};              ///< non-zero before rounding, zero after
  Count overflowed{};           ///< finite before rounding, not after
  Number least_magnitude{};     ///< of the finite non-zero elements, before rounding
  Number greatest_magnitude{};  ///< of the finite elements, before rounding
  Number mean{};
  Number rms{};
  Number rounding_error_rms{};       ///< of rounded − unrounded
  Number rounding_error_greatest{};  ///< of |rounded − unrounded| ÷ |unrounded|
  Count lost_updates{};              ///< weights: updates rounded away entirely; accumulators, sums inside a node: addends that changed nothing
  Number shadow_error{};             ///< relative RMS difference from the fp32 shadow step
  std::optional<ExponentHistogram> histogram{};
};

/// How far the backward pass reaches in one step: every tensor of it, and the loss.
struct RangeRecord {
  RunId run{};
  std::int64_t step = 0;
  TensorRanges tensors{};  ///< over the micro-batches
};

/// Facts about an event from which its JSON can be made later: noting them allocates nothing.
struct EventDetail {
  const char* what = nullptr;  ///< in words; a literal
  std::optional<bool> applied{};
  Number from{};
  Number to{};
  Number first_loss{};
};
/// An object with those that are there; "" if none is.
std::string to_json(const EventDetail& detail);

/// Something that happened. Kinds are those of event_kind below; later versions may add to them.
struct EventRecord {
  RunId run{};
  std::int64_t step = 0;
  std::string kind{};
  std::optional<NodeId> node{};
  std::optional<TensorId> tensor{};
  Number value{};  ///< what the kind says: the new loss scale, the magnitude that overflowed …
  Provenance provenance = Provenance::counted;
  std::string detail_json{};
  EventDetail detail{};  ///< not a column: written as detail_json if that is empty. A reader leaves it empty
};
namespace event_kind {
inline constexpr const char* overflow = "overflow";          ///< a value became infinite or NaN
inline constexpr const char* underflow = "underflow";        ///< values were lost to zero
inline constexpr const char* scale_change = "scale_change";  ///< value: the new loss scale
inline constexpr const char* skip = "skip";                  ///< the step was not applied
inline constexpr const char* divergence = "divergence";      ///< the loss became non-finite or ran away
inline constexpr const char* replay = "replay";              ///< the step was run again under observation
inline constexpr const char* stop = "stop";                  ///< the run ended before its last step
}  // namespace event_kind

/// Device memory by category.
struct MemoryRecord {
  RunId run{};
  MemoryKind kind = MemoryKind::sample;
  std::optional<std::int64_t> step{};                ///< none: over the whole run
  std::optional<std::int64_t> position{};            ///< of the node just executed, when the sample lies within a step
  std::array<Count, memory_category_count> bytes{};  ///< indexed by MemoryCategory
  Count total_bytes{};                               ///< the allocator's own figure
  Provenance provenance = Provenance::counted;
};

/// A change that may mend a fault, and what came of trying it.
struct MendRecord {
  MendId id{};
  std::optional<RunId> run{};    ///< the run it mends
  std::optional<RunId> trial{};  ///< the run that tried it
  std::string kind{};            ///< "keep_fp32", "epsilon", "scale" …
  std::string change{};          ///< in words
  std::string settings_json{};   ///< for Hugging Face, PyTorch, DeepSpeed
  std::string how_run{};
  MendStatus status = MendStatus::not_tried;
  Number time_ratio{};  ///< step time with the change ÷ without
  Provenance time_provenance = Provenance::unknown;
  Count memory_delta_bytes{};
  std::string detail_json{};
};

/// What the recording missed, refused or cost. One row for each (run, kind, subject): pushed again, it replaces the
/// row.
struct CompletenessRecord {
  std::optional<RunId> run{};  ///< none: the whole file
  std::string kind{};          ///< "dropped", "lost", "fault", "refused", "throttled", "observation_cost", "note"
  std::string subject{};       ///< a table, a counter, a clock
  Count count{};
  Number seconds{};
  Provenance provenance = Provenance::counted;
  std::string detail{};
};

/// Anything the writer takes.
using Record = std::variant<ExperimentRecord, MachineRecord, RunRecord, NodeRecord, EdgeRecord, TensorRecord,
                            StepRecord, EvaluationRecord, TimingSample, NodeTiming, KernelRecord, DeviceSample,
                            TensorStatsRecord, RangeRecord, EventRecord, MemoryRecord, MendRecord, CompletenessRecord>;

}  // namespace ulpscope::reports
