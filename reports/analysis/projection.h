// Time and memory of a training step on a GPU that is not here: every figure is *projected*, with its range.
//
//  * A step is the sum of its launches; of each the greatest of FLOPs ÷ attainable rate, bytes ÷ attainable bandwidth, launch cost
//    (reports/hardware/attainable.h). Launches are the plan's: what is fused there is one launch here. low … high: every share at its
//    best … at its worst. The ratio of two modes has a range of its own (projected_ratio.h).
//  * Attainable shares are fitted to measured runs on GPUs where there are any, else assumed.
//  * A mode that the GPU emulates or lacks has no projected time.
//  * Memory: the plan's peak, exact, plus what context and libraries of CUDA take (0.5 GB assumed, 0.3 … 0.8). It fits if the most it may
//    need is within the least the device has, and not if the least is above the most; between them it *may*.
#pragma once

#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/calibration.h"
#include "reports/analysis/figure.h"
#include "reports/analysis/projected_ratio.h"
#include "reports/hardware/support.h"

namespace ulpscope::reports {

inline constexpr Spread context_bytes{0.3e9, 0.5e9, 0.8e9};

/// The plan of one mode.
struct PlannedMode {
  std::string mode{};
  time_parts::Plan plan{};
  std::int64_t micro_batches = 1;
  Count batch{};        ///< of a micro-batch
  Count tokens{};       ///< of a step
  Count parameters{};
  Count peak_bytes{};   ///< of the plan, nothing observed
  std::string remark{}; ///< of the run it was read from, where its products were not what a GPU's are (emulated sums)
};

struct ProjectionInput {
  std::string file{};
  std::string experiment{};
  std::string plan_from{};              ///< "the plan in gpt.ulp", "planned now"
  std::vector<PlannedMode> modes{};
  /// Peak bytes of the plan at another batch; nothing if it is not known. Empty: it cannot be planned again.
  std::function<Count(const std::string& mode, std::int64_t batch)> peak_at{};
  std::int64_t most_batch = std::numeric_limits<std::int64_t>::max();  ///< no greater one can be run: none is tried
  std::vector<std::string> notes{};
};

/// What a run file says of the plans it holds: a mode's is that of its first run, of those `modes` names (all, if empty). Throws
/// UsageError for a mode it does not have, and if no run has a plan.
std::vector<PlannedMode> planned_modes(const RunFileReader& reader, const std::vector<std::string>& modes);

struct ProjectedLaunch {
  std::string name{};
  std::string operation{};
  std::string format{};
  double calls = 1.0;
  Figure seconds{};      ///< in a step
  Limit limit = Limit::launch;
};

enum class Fits : std::uint8_t { yes, no, maybe, unknown };
std::string_view name(Fits fits);

struct ModeProjection {
  std::string mode{};
  ModeSupport there{};
  Figure step{};               ///< seconds
  Figure speed{};              ///< fp32's step ÷ this one's
  std::map<std::string, Figure> beside{};  ///< by another mode: its step ÷ this one's
  Figure tokens_per_second{};
  std::array<Number, 3> limited{};  ///< share of the likely step, by Limit
  std::array<std::int64_t, 3> limited_launches{};  ///< launches in a step, by Limit
  std::array<std::array<double, work_size_count>, work_class_count> carried{};  ///< likely seconds that rest on each share; the launch cost's are in `limited`
  std::int64_t launches = 0;   ///< in a step
  std::string no_time{};       ///< why the step is unknown
  Count plan_bytes{};
  Figure memory{};             ///< bytes, with the context's share
  Fits fits = Fits::unknown;
  Count largest_batch{};       ///< that fits for certain; unknown: not planned at a batch that decides. 0: not even one
  bool batch_capped = false;   ///< more would fit, but none above most_batch can be run
  std::vector<ProjectedLaunch> nodes{};  ///< by likely seconds, the greatest first
  std::vector<LaunchParts> parts{};      ///< of the launches; empty: no time is projected
};

struct GpuProjection {
  std::string asked{};         ///< as it was typed
  Gpu gpu{};
  Attainable attainable{};
  std::vector<ModeProjection> modes{};
  std::vector<std::pair<std::string, double>> measured{};  ///< modes that the file has measured on this very GPU, with seconds of a step
};

/// A measured run, projected from the others.
struct CheckedProjection {
  std::string file{}, mode{}, gpu{};
  double measured = 0.0;       ///< seconds of a step
  Figure projected{};
  Number error{};              ///< projected ÷ measured − 1
  bool within = false;         ///< measured lies in the projected range
};

struct Projection {
  std::string file{};
  std::string experiment{};
  std::string plan_from{};
  Count batch{};
  std::vector<GpuProjection> gpus{};
  std::vector<std::string> calibrated_by{};  ///< "a100.ulp, bf16 on A100 SXM 80GB: 212 launches"; empty: all shares are assumed
  std::vector<CheckedProjection> checked{};
  std::vector<std::string> notes{};
};

/// asked: names as typed, each with its GPU.
Projection project(const ProjectionInput& input, const std::vector<std::pair<std::string, Gpu>>& asked, const std::vector<MeasuredRun>& measured);
/// One mode on one GPU, without memory.
ModeProjection project_mode(const PlannedMode& planned, const Gpu& gpu, const Attainable& attainable);
/// Every measured run whose step was timed, from the others; nothing with fewer than two.
std::vector<CheckedProjection> check_projections(const std::vector<MeasuredRun>& measured);

}  // namespace ulpscope::reports
