// The modes side by side: what each cost and what it did to the loss, judged against fp32.
//
//  * Figures are over the runs (seeds) that ended as planned or by divergence; if a mode has none, over what there is.
//  * Differences from fp32 are paired by seed, on the held-out loss if every pair has one, else on the final loss.
//  * Step times come from the timing phase, without warm-up; it times one seed of a mode, the first that finished. On a
//    CPU every mode but fp32 is carried out in software: its times are *emulated*, and no verdict on speed is drawn
//    from them.
//  * Runs that tried a mend are left out.
#pragma once

#include <array>
#include <string>
#include <vector>

#include "reports/analysis/figure.h"
#include "reports/analysis/machines.h"
#include "reports/analysis/run_result.h"
#include "reports/analysis/sums_change.h"
#include "reports/analysis/verdict.h"

namespace ulpscope::reports {

struct ModeResult {
  std::string mode{};  ///< "fp16"; with the sums of a generation's matrix units "fp16@hopper"
  std::string sums{};  ///< "hopper": whose, emulated; empty: plain sums
  std::string tag{};  ///< "A", "B" … if there are several settings (see Comparison), else empty
  std::string device{};
  std::string device_kind{};
  std::string loss_scaling{};  ///< "none", "dynamic:pytorch" …
  bool emulated = false;
  std::vector<RunResult> runs{};            ///< by seed
  std::vector<std::string> non_standard{};  ///< knobs of any of its runs
  std::string metric{};                     ///< that the verdict is on: "held-out loss", "final loss"
  Judgement judgement{};
  Judgement against_plain{};  ///< of emulated sums: against the same mode with plain ones, by the same seed noise
  std::vector<std::string> notes{};  ///< divergence, interruption, knobs: in words, with the seed

  Figure seeds{};  ///< runs the figures are over
  Figure final_loss{};
  Figure best_loss{};
  Figure held_out_loss{};
  Figure distance{};
  Figure sums_distance{};
  Figure applied{};
  Figure skipped{};
  Figure overflows{};
  Figure scale_first{};
  Figure scale_range{};
  Figure scale_last{};
  Figure step_seconds{};
  Figure tokens_per_second{};
  Figure speed{};
  Figure peak_bytes{};
  Figure memory_ratio{};
  std::array<Figure, memory_category_count> peak_by_category{};  ///< by MemoryCategory
};

/// Runs that may be held against each other: the same model, data, batch … on the same device with the same threads.
struct Setting {
  std::string tag{};
  std::string experiment{};  ///< "gpt on README.md, 200 steps, batch 8 × context 64"
  std::string device{};      ///< "AMD EPYC … (cpu, 2 threads)"
  std::vector<std::string> files{};
};

struct Comparison {
  std::vector<std::string> files{};
  std::vector<std::string> producers{};  ///< "ulpscope 0.1.0 (1234abc)", each once
  std::vector<Setting> settings{};
  std::vector<ModeResult> modes{};  ///< by setting, then fp32, tf32, fp16, bf16, fp16+tf32, bf16+tf32, others by name
  std::vector<std::string> warnings{};
  std::vector<std::string> notes{};  ///< of the recording itself: what watching cost, what was not timed
  std::vector<SumsChange> sums_changes{};  ///< of runs with emulated sums
  std::optional<MachineComparison> machines{};  ///< where the runs are of several devices, or of files that are not alike
};

/// Throws UsageError if there is no reader or the files hold no run.
Comparison compare(const std::vector<const RunFileReader*>& readers);

enum class FigureStyle : std::uint8_t { loss, difference, count, scale, seconds, rate, ratio, bytes };

/// One line of the comparison. Every form of output goes through this table, so that none can lack a figure.
struct FigureInfo {
  const char* key;      ///< for programs: "final_loss"
  const char* label;    ///< for people: "final loss"
  const char* section;  ///< "loss", "steps", "time", "memory", "peak by category"
  const char* unit;     ///< "" for plain numbers
  FigureStyle style;
  const char* meaning;  ///< of value, spread, low and high
  const Figure& (*get)(const ModeResult&);
};
const std::vector<FigureInfo>& comparison_figures();

}  // namespace ulpscope::reports
