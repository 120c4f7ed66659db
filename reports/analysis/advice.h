// Which precision mode for this model on this device: the winner, the runner-up, the margin, and what would change the answer. Or
// undecided, where the evidence does not carry it.
//
// Weighed are range (what a diagnosis found, else what is predicted), rounding (updates that were lost), convergence against seed noise
// (compare's verdict), memory (does it fit), time (measured on this device, else projected), and what the device does natively. The time of
// a mode that was emulated is never used.
//
// A mode is refused, whatever its other numbers say, if
//   it is emulated or absent there (but fp16 on a part with fast fp16 vectors, P100, where a run on that part was faster), or nothing is known of it;
//   tf32, alone or beside 16 bits, has no effect there, or its peak is fp32's: no gain;
//   it does not fit;
//   it ended in numbers that are not finite, or its loss is worse than fp32's beyond seed noise;
//   it is fp16 without a loss scaler, and gradients were flushed;
//   a value leaves its range and counts, no one loss scale suits it, gradients are flushed although they are scaled, its weights lose their
//   updates, or something else is damaged: unless its loss was shown to be inside seed noise all the same. Then that speaks against it.
// Of the others the fastest wins. Measured beats projected: where two were measured, these are ranked by it, and one with a projected time
// alone is said to be perhaps faster; else all are ranked by projected times, and where not all have one it is undecided. Those within 5 % of it are as fast, and of them the one that fits for certain, then the one whose
// convergence is shown, then the one with less against it, then the one that needs least care (fp32, tf32, bf16, fp16, with tf32 beside, pure).
// A gain over fp32 has to be above 5 % at the slow end of its range, and the loss inside seed noise; else the next one of which both are
// known is recommended, and if that is none, the answer is undecided. A mode that was not trained is never recommended.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/diagnosis/diagnosis.h"
#include "reports/analysis/framework_settings.h"
#include "reports/analysis/prediction.h"
#include "reports/analysis/projection.h"
#include "reports/analysis/verdict.h"

namespace ulpscope::reports {

struct Comparison;
struct TimeReport;

/// A gain below this factor is none: what a machine does beside it moves step times by as much.
inline constexpr double least_speed_up = 1.05;
/// Casts that are more than this of the planned peak are spoken of.
inline constexpr double large_cast_share = 0.5;
/// A step that waits for launches for more than this of its time is limited by them.
inline constexpr double launch_bound_share = 0.5;

enum class Known : std::uint8_t {
  unknown,  ///< not looked for
  clean,    ///< looked for, and not found
  found,
};
std::string_view name(Known value);

/// Whether something went wrong (counted in observed steps), or will (projected from one step in fp32).
struct Trouble {
  Known known = Known::unknown;
  Provenance provenance = Provenance::unknown;
  std::string words{};
};

/// What is known of a mode, on the device that is asked about.
struct ModeEvidence {
  std::string mode{};
  std::string from{};         ///< "3 seeds on AMD EPYC"; empty: not run
  bool trained = false;       ///< a run of it came to its end
  std::string unfinished{};   ///< why none did, in words
  Trouble overflow{};         ///< values that leave the format and count
  Trouble flushed{};          ///< gradients that become zero: any of them without a scaler, more than a scale may lose with one
  Trouble lost{};             ///< updates too small to change their weights
  Trouble other{};            ///< anything else that is fatal or damage
  bool scaled = false;        ///< its loss is multiplied by a scale
  bool scaling_known = true;  ///< false: whether it is is not on record (an imported log)
  Trouble no_scale{};         ///< no one loss scale suits the backward pass
  std::string diverged{};     ///< in words; empty: it did not
  Verdict verdict = Verdict::undecided;  ///< against fp32; of fp32: reference
  std::string verdict_words{};
  int pairs = 0;              ///< seeds under both
  Figure distance{};          ///< loss − fp32's, paired by seed
  Figure steps{}, skipped{};  ///< over its runs
  Figure error{};             ///< relative RMS error of its tensors against the fp32 shadow: median, greatest
  bool weights_in_16_bits = false;  ///< they came so: the fp32 master is lost
  std::string weights_words{};
  std::vector<std::string> non_standard{};
  std::string mend{};         ///< a change that was run and takes all of its faults away
  // On the device.
  Figure measured{};          ///< seconds of a step, on this very device; never emulated
  Figure projected{};         ///< seconds of a step
  std::map<std::string, Figure> beside{};  ///< by another mode: its projected step ÷ this one's
  std::string no_time{};      ///< why there is none
  Figure memory{};            ///< bytes
  Count plan_bytes{};         ///< of it, without the share of the device's context
  Fits fits = Fits::unknown;
  Count batch{};
  Count largest_batch{};      ///< that fits for certain
  bool batch_capped = false;  ///< more would fit, but no greater one was planned
  Count parameters{};
  Number launch_share{};      ///< of the projected step: limited by launches
  Number cast_share{};        ///< of the planned peak
  std::string cast_words{};   ///< of the greatest cast
};

struct ModeAdvice {
  ModeEvidence evidence{};
  ModeSupport there{};
  Figure speed{};                      ///< fp32's step ÷ its own, low … high; both measured, else both projected (projected_ratio.h)
  std::vector<std::string> refused{};  ///< why it is not recommended, whatever its other numbers say
  std::vector<std::string> against{};  ///< what speaks against it
  std::vector<std::string> in_favour{};
};

enum class AdviceOutcome : std::uint8_t { recommended, undecided, none };
std::string_view name(AdviceOutcome outcome);

struct DeviceAdvice {
  std::string asked{};
  std::string device{};                     ///< empty: no GPU was named, and numerics alone are weighed
  AdviceOutcome outcome = AdviceOutcome::undecided;
  std::string winner{};                     ///< of undecided: what it leans to; empty: nothing
  std::string runner_up{};                  ///< empty: no other is possible
  Figure margin{};                          ///< step of the runner-up ÷ step of the winner, low … high
  std::string reason{};                     ///< one sentence
  std::vector<std::string> costs{};         ///< what the winner saves and costs beside fp32
  std::vector<std::string> would_change{};  ///< of undecided: what would decide it
  std::vector<std::string> said{};          ///< what has to be known whatever is chosen
  FrameworkSettings settings{};             ///< of the winner
  std::vector<ModeAdvice> modes{};
};

/// The decision alone, from the evidence.
DeviceAdvice advise_on(const Gpu& gpu, const std::vector<ModeEvidence>& modes);
/// Without a device: which modes the numerics leave. Undecided always.
DeviceAdvice advise_numerics(const std::vector<ModeEvidence>& modes);

/// What was made of several files before: runs of one setting in all of them are weighed together, and nothing is made twice.
struct AdviceSources {
  const Comparison* comparison = nullptr;
  std::string tag{};                                  ///< of the setting that is asked about
  std::vector<const RunFileReader*> readers{};        ///< of all files of the comparison
  const std::vector<Diagnosis>* diagnoses = nullptr;  ///< of these files
  const std::vector<TimeReport>* times = nullptr;     ///< of these files
};

struct AdviceInput {
  const RunFileReader* reader = nullptr;
  std::vector<const RunFileReader*> measured{};  ///< others: their times count where they are of the same experiment and device
  std::vector<PlannedMode> planned{};
  Projection projection{};                       ///< of the planned modes on the GPUs that are asked about; none: numerics alone
  std::optional<Prediction> predicted{};         ///< of modes without a run
  const AdviceSources* made = nullptr;           ///< null: it is made of `reader` alone
};

struct Advice {
  std::string file{};
  std::string experiment{};
  std::vector<DeviceAdvice> devices{};
  std::vector<std::string> notes{};
};

/// What is known of each mode of the file, and of those planned or predicted; there: on this device, or null. Of emulated sums those of the
/// device's own generation are taken, else plain ones. Throws UsageError if the file has no run.
std::vector<ModeEvidence> gather_evidence(const AdviceInput& input, const GpuProjection* there, std::vector<std::string>& notes);

/// Throws UsageError if the file has no run.
Advice advise(const AdviceInput& input);

}  // namespace ulpscope::reports
