// Recorded ranges under other loss-scaling policies: what each would have skipped. Projected: the trajectory is held, so the gradients
// of a step are taken to be those that were recorded, whatever was skipped before it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kernels/scaling/loss_scaler.h"
#include "reports/run_file/reader.h"

namespace ulpscope::reports {

/// What the answer to "does this step overflow at this scale?" rests on.
enum class Basis : std::uint8_t {
  recorded,   ///< the scale is the one that was in force: the step's own outcome
  projected,  ///< the ranges of the step
  inferred,   ///< what lies behind an overflow was not seen: the ranges of the nearest step in which everything was
  unknown,    ///< there is no such step: the scale is taken to go on as if it did not overflow
};
std::string_view name(Basis basis);

struct ReplayedStep {
  std::int64_t step = 0;  ///< iteration
  float scale = 1.0f;     ///< during the step
  bool overflow = false;
  Basis basis = Basis::recorded;
  scaling::ScaleEvent event = scaling::ScaleEvent::unchanged;
};

/// One policy over all steps.
struct PolicyReplay {
  std::string name{};    ///< as it was asked for; "recorded" for what happened
  std::string policy{};  ///< its rule and start: "deepspeed from 65536"
  Provenance provenance = Provenance::projected;
  std::int64_t steps = 0;     ///< up to where it gives up
  std::int64_t skips = 0;     ///< without a scaler: steps with gradients that are not finite
  std::int64_t searching = 0; ///< of them, before the first step that is applied
  Number first{}, last{};     ///< scale: of the first step, and after the last
  Number least{}, greatest{}; ///< in force in some step
  Number settled{};           ///< in force in most of the applied steps (of two, the later)
  std::optional<std::int64_t> settled_at{};  ///< first applied step
  std::optional<std::int64_t> gave_up{};     ///< step in which the policy ends the training
  std::int64_t inferred = 0, unknown = 0;    ///< steps that rest on no range of their own
  std::vector<ReplayedStep> history{};

  /// Every step rests on something. Where not, skips is the least there can be, and what follows from it is unknown.
  bool known() const { return unknown == 0; }
  /// If every step of which nothing is known overflows.
  std::int64_t skips_at_most() const { return skips + unknown; }
  /// Share of the steps that is skipped.
  Number wasted() const {
    if (!known()) return std::nullopt;
    return steps > 0 ? static_cast<double>(skips) / static_cast<double>(steps) : 0.0;
  }
};

/// One run.
struct RunScaleReplay {
  RunRecord run{};
  std::int64_t steps = 0;           ///< recorded
  std::int64_t without_range = 0;   ///< of them: rows that were dropped
  std::int64_t incomplete = 0;      ///< steps in which some range is unknown: something overflowed before
  std::int64_t never_finite = 0;    ///< steps that no scale helps: the loss, or what the scale does not multiply, is not finite
  PolicyReplay recorded{};
  std::vector<PolicyReplay> policies{};
  std::vector<std::string> notes{};
};

struct ScaleReplay {
  std::string file{};
  std::vector<RunScaleReplay> runs{};
};

struct NamedPolicy {
  std::string name{};
  scaling::Policy policy{};
};

/// "deepspeed", "pytorch:65536" (its first scale, or the fixed one), "megatron:interval=500:hysteresis=1", "recorded"; numbers may be
/// powers, 2^32. Throws UsageError naming the valid choices. "recorded" holds no policy until it is replayed.
std::vector<NamedPolicy> parse_policies(const std::vector<std::string>& words);
inline constexpr const char* recorded_policy_name = "recorded";

struct ScaleReplayOptions {
  std::vector<NamedPolicy> policies{};
  std::string mode{};                  ///< empty: all that have ranges
  std::optional<std::int64_t> seed{};  ///< none: all
};

/// Throws UsageError if no ranges were recorded, saying how to record them, or if there is no such run.
ScaleReplay replay_scales(const RunFileReader& reader, const ScaleReplayOptions& options);

}  // namespace ulpscope::reports
