// Machines side by side: the same experiment on several devices, by mode.
//
//  * A machine is a setting of the comparison (compare.h): files of the same device are pooled. Ratios are to the first that was named.
//  * What is not alike is refused with the reason (machine_likeness.h), whatever its device is called; the rest is compared. Settings in
//    one file are held apart by compare, and not refused.
//  * A ratio of times is stated where both were taken on devices that did the work in hardware. There is none for emulated times, for
//    times that cannot be true (time.h), and where a GPU is busy for less than half of the step: there hosts would be compared.
//  * Normalised, a step is what its machine could have done in that time: seconds × peak of the mode's products [TFLOP], × bandwidth of
//    the memory [GB], × clock [10^6 cycles]. A ratio of 1 says that two machines differ as those figures do; above 1, that the machine makes less of
//    what it has.
//  * Each yardstick says where it comes from (Yardstick::from). That of a processor is unknown.
#pragma once

#include <string>
#include <vector>

#include "reports/analysis/figure.h"
#include "reports/analysis/order_of_sums.h"
#include "reports/hardware/support.h"
#include "reports/run_file/reader.h"

namespace ulpscope::reports {

struct ModeResult;
struct Setting;

/// What a step is normalised by.
struct Yardstick {
  Number value{};
  /// "measured": sampled while the steps were timed; "reported": the table's rate with the SMs and the clock that the driver reported or
  /// that were sampled; "table"; "unknown".
  std::string from = "unknown";
};

/// One mode on one machine.
struct MachineFigures {
  bool there = false;         ///< the machine has runs of the mode
  std::string runs{};         ///< "native", "emulated" … (support.h); "emulated" for what a processor carries out in software
  bool emulated = false;
  Figure step{};              ///< seconds: median and quartiles
  std::string step_from{};    ///< "timing phase", "recorded steps", "none"
  Figure tokens_per_second{};
  Yardstick peak{};           ///< TFLOP/s of the mode's products, dense, with fp32 sums
  Yardstick bandwidth{};      ///< GB/s
  Yardstick clock{};          ///< MHz
  Figure by_peak{};           ///< TFLOP
  Figure by_bandwidth{};      ///< GB
  Figure by_clock{};          ///< 10^6 cycles
  Figure ratio{};             ///< of the step, to the first machine's; likewise:
  Figure by_peak_ratio{};
  Figure by_bandwidth_ratio{};
  Figure by_clock_ratio{};
  std::string no_ratio{};     ///< why there is none; empty: there is, or the machine has no runs of the mode
  Figure busy{};              ///< share of the step with a kernel at work
  Figure slowed{};            ///< share of the GPU's samples in which its clock was held down
  std::string slowed_why{};
  bool throttled = false;     ///< it was, in 5 % of them or more
  Figure peak_bytes{};
  Figure final_loss_difference{};  ///< from the first machine's, mean over the seeds that both finished; low, high: 95 % interval
};

/// Launches of one mode by name, phase and what is launched with them.
struct NodeAcross {
  std::string name{};
  std::string operation{};
  std::string phase{};
  struct At {
    Figure seconds{};         ///< a step
    Figure ratio{};           ///< to the first machine's
  };
  std::vector<At> at{};       ///< by machine
};

struct MachineMode {
  std::string mode{};
  std::vector<MachineFigures> at{};      ///< by machine
  std::vector<std::string> node_times{}; ///< by machine: "kernels", "node clock", "none"
  std::vector<NodeAcross> nodes{};       ///< by the greatest share of any machine's step; those timed nowhere are left out
  std::vector<std::string> notes{};
};

struct Machine {
  std::string tag{};
  std::string device{};
  std::string device_kind{};
  std::string gpu{};          ///< its entry in the table; empty: none
  std::vector<std::string> files{};
};

struct MachineRefusal {
  std::string tag{};
  std::string device{};
  std::vector<std::string> files{};
  std::vector<std::string> reasons{};
};

/// "B (h100.ulp, NVIDIA H100 80GB HBM3) is not compared with A: another batch: 16, in A 8"
std::string text(const MachineRefusal& refusal, const std::string& first);

struct MachineComparison {
  std::vector<Machine> machines{};     ///< the first that was named, and those alike with it
  std::vector<MachineRefusal> refused{};
  std::vector<MachineMode> modes{};    ///< those that at least two machines have
  /// Losses of the first machine and each other, by mode and seed; a mode with emulated sums also against the plain one of a GPU.
  std::vector<BitsAcross> bits{};
  std::vector<std::string> warnings{}; ///< what could not be checked, modes of one machine alone
};

/// Whether another machine, or another file, made these: what is not alike then is refused.
bool of_another_file(const Setting& setting, const Setting& first);

/// settings: at least two of which one is of another file than the other; modes: theirs, with their figures.
MachineComparison compare_machines(const std::vector<const RunFileReader*>& readers, const std::vector<Setting>& settings, const std::vector<ModeResult>& modes);

/// What the figures of a machine are called; every form of output goes through this table.
enum class MachineStyle : std::uint8_t { seconds, ratio, rate, amount, share, bytes, difference };
struct MachineFigureInfo {
  const char* key;
  const char* label;
  const char* unit;
  MachineStyle style;
  const char* meaning;
  const Figure& (*get)(const MachineFigures&);
};
const std::vector<MachineFigureInfo>& machine_figures();

}  // namespace ulpscope::reports
