// Where the time of a step went, what mixed precision itself costs, and how much it can gain at most.
//
//  * A mode is shown by one run: with its timing phase if there is one, then by the least seed. Runs that tried a mend are left out.
//  * Seconds of a step: the median of the timing phase (recording off, warm-up left out), else of the recorded steps that were applied,
//    without the first. It is wall time.
//  * Seconds of a node, per step: on a GPU the durations of its kernels, in the steps that were traced; elsewhere the clock around it,
//    in the sampled steps of the recorded phase. Nodes that are launched together share the time of the launch: it is the lead's, and the others are its members.
//  * FLOPs and bytes are the plan's, computed from shapes. A launch reads each value from outside of it once and writes what is stored.
//    1 TFLOP/s = 10^12 FLOP/s, 1 GB/s = 10^9 bytes/s.
//  * The bound is Amdahl's. With p the share of an fp32 step (step time, or the sum of its nodes if that is greater) that products take
//    which the mode carries out in a narrower format:
//        products take no time       1 / (1 - p)
//        products k times as fast    1 / (1 - p + p / k)
//    k is the device's peak in the format ÷ its peak in fp32 where the device is known (time_peaks.h), else 2 for 16-bit formats, as half
//    the bytes are read, and unknown for tf32, whose storage is that of fp32. It bounds what products can give: storage in 16 bits may speed up
//    what is limited by memory as well, by up to 2.
//  * On a CPU every mode but fp32 is carried out in software: its times are *emulated* and say nothing of a GPU.
//  * Unknown is never 0.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/figure.h"
#include "reports/analysis/gpu_condition.h"
#include "reports/analysis/time_category.h"
#include "reports/analysis/time_peaks.h"
#include "reports/run_file/reader.h"

namespace ulpscope::reports {

/// A step gains nothing below this factor: what the machine does beside it moves step times by as much.
inline constexpr double worthwhile_speed_up = 1.05;
/// Products' share is too small to carry a speed-up if even products at their ideal rate leave the step below this.
inline constexpr double small_bound = 1.2;
/// A GPU that is busy for less of a step than this waits for launches.
inline constexpr double launch_bound_below = 0.5;
/// Skipped steps are a reason from this share of all steps on.
inline constexpr double many_skips = 0.05;
/// A run is bound by its GPU if that is busy for at least this share of the step. Then the device's clock and the host's must agree …
inline constexpr double gpu_bound_from = 0.8;
/// … to this share of the step; else its time is invalid.
inline constexpr double clocks_agree = 0.10;
/// A clock that was held down is a reason from this share of the samples on.
inline constexpr double often_slowed = 0.05;
/// Time between nodes is a reason from this share of the step on.
inline constexpr double long_between = 0.25;

enum class TensorCores : std::uint8_t {
  not_a_product,  ///< the question does not arise
  none,           ///< the device has none
  yes,
  no,
  unknown,
};
std::string_view name(TensorCores value);

/// One launch (a node, or several launched together), or the kernels of one name that belong to no node.
struct NodeTime {
  std::optional<NodeId> node{};
  std::string name{};
  std::string operation{};
  TimeCategory category = TimeCategory::other;
  std::optional<Phase> phase{};
  std::string compute_format{};
  std::string formats{};  ///< "fp32, fp16 > fp16": what the launch's lead reads and writes
  struct Member {
    std::string name{};
    std::string operation{};
  };
  std::vector<Member> members{};  ///< launched with it; their time is here

  Number calls{};    ///< per step
  Number kernels{};  ///< per step; unknown without a trace
  Figure seconds{};  ///< per step
  Number share{};    ///< of the sum over all nodes that were timed
  Number flops{};    ///< per step, members included [computed]
  Number bytes{};    ///< per step [computed]
  Number tflops{};   ///< achieved, TFLOP/s
  Number gbps{};     ///< achieved, GB/s
  Number of_peak{};  ///< TFLOP/s ÷ the device's peak in compute_format
  TensorCores tensor_cores = TensorCores::unknown;
  Provenance tensor_cores_provenance = Provenance::unknown;  ///< counted from the tensor pipes; inferred from the rate
  std::string tensor_cores_why{};  ///< in words; empty where the question does not arise
  Number tensor_pipe{};                                      ///< share of cycles, weighted by duration
  bool faster_than_peak = false;                             ///< its lead alone: the time cannot be right, or the format is not what the plan says
};

struct CategoryTime {
  TimeCategory category = TimeCategory::other;
  std::int64_t launches = 0;  ///< of the plan, in one pass
  std::int64_t untimed = 0;   ///< of them, without a time
  Figure seconds{};           ///< per step, of those that were timed
  Number share{};             ///< of the sum over all nodes
  Number of_step{};           ///< of the step
  Number flops{}, bytes{};    ///< per step, of those that were timed
  Number tflops{}, gbps{};
};

/// One line of what mixed precision itself costs.
struct LedgerItem {
  const char* key;    ///< "weight_casts"
  const char* label;  ///< "casts of weights"
  const char* what;   ///< in words
  bool per_step = true;  ///< else: over the whole run
  Figure count{};
  Figure bytes{};
  Figure seconds{};
  bool at_least = false;  ///< some of it has no time of its own
  Figure in_fp32{};       ///< seconds of the same in fp32
  Figure extra{};         ///< seconds − in_fp32
  std::string note{};
};

struct SpeedBound {
  Figure products{};       ///< share of the fp32 step that matrix products, attention and convolutions take
  Figure lower{};          ///< of it, share of the step that this mode computes in a narrower format
  Figure free{};           ///< greatest speed-up if these took no time
  Figure factor{};         ///< k
  std::string factor_from{};
  Figure ideal{};          ///< greatest speed-up if these were k times as fast
  Figure speed{};          ///< what came: fp32's step ÷ this mode's
};

/// What a GPU did in the traced steps.
struct DeviceUse {
  std::int64_t traced_steps = 0;
  std::int64_t kernels = 0;          ///< in them
  Figure kernels_per_step{};
  Figure kernel_seconds{};           ///< mean duration
  Figure busy_seconds{};             ///< per step: time with at least one kernel at work
  Figure busy{};                     ///< share of the step (untraced, wall) with a kernel at work
  Figure tensor_core_share{};        ///< of the products' time: in launches known to use tensor cores
  std::int64_t without_step = 0;     ///< kernels that belong to no known step: in none of these figures
  std::int64_t without_node = 0;     ///< kernels in them that belong to no known node
};

struct Reason {
  const char* key;
  std::string text{};
  Provenance provenance = Provenance::unknown;
};

enum class NodeSource : std::uint8_t { none, clock, kernels };
enum class StepSource : std::uint8_t { none, timing_phase, recorded_steps };
std::string_view name(NodeSource source);
std::string_view name(StepSource source);

struct ModeTime {
  RunRecord run{};
  bool emulated = false;
  Figure step{};         ///< median, standard deviation, quartiles
  StepSource step_from = StepSource::none;
  Figure device_step{};  ///< between events on the device
  std::string invalid{};  ///< why its times cannot be true; empty: nothing says so
  std::optional<DevicePeaks> peaks{};  ///< of its GPU, at the clock it reported or was seen at; none: a CPU, or not in the table
  std::optional<GpuCondition> condition{};  ///< of the GPU while the step was timed; none: it was not asked, or did not answer
  NodeSource nodes_from = NodeSource::none;
  Count sampled_steps{};
  std::vector<NodeTime> nodes{};          ///< by seconds, the greatest first; those without a time last
  std::vector<CategoryTime> categories{};  ///< by TimeCategory; those that hold nothing are left out
  Figure nodes_sum{};
  std::int64_t untimed = 0;  ///< launches without a time
  std::int64_t views = 0;    ///< nodes that launch nothing
  Figure between{};          ///< step − sum of the nodes: between nodes, idle, or not seen; unknown where the nodes add up to more
  Number between_share{};    ///< of the step
  std::vector<LedgerItem> ledger{};  ///< empty for fp32
  Figure ledger_extra{};             ///< per step, of the items per step
  bool ledger_at_least = false;
  SpeedBound bound{};
  std::optional<DeviceUse> device{};
  std::vector<Reason> reasons{};
  std::vector<std::string> notes{};
};

struct TimeReport {
  std::string file{};
  std::string experiment{};
  std::vector<ModeTime> modes{};  ///< fp32, tf32, fp16, bf16, fp16+tf32, bf16+tf32, others by name
  std::vector<std::string> notes{};  ///< of the recording: what was dropped or refused, what watching cost
};

struct TimeOptions {
  std::string mode{};                  ///< empty: all
  std::optional<std::int64_t> seed{};  ///< none: as said above
};

/// Throws UsageError if there is no run, or none of this mode or seed, naming those there are.
TimeReport time_report(const RunFileReader& reader, const TimeOptions& options = {});

}  // namespace ulpscope::reports
