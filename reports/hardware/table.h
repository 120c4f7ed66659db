// The table of GPUs, the built-in one and the user's own, and who is meant by a name. Names are matched by whole words: "L4" is no "L40",
// and a "GH200 480GB" is no H200.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "reports/hardware/gpu.h"

namespace ulpscope::reports {

class GpuTable {
 public:
  /// own: the user's; they come first.
  GpuTable(std::vector<Gpu> built_in, std::vector<Gpu> own);

  const std::vector<Gpu>& gpus() const { return gpus_; }

  /// What a driver calls "NVIDIA A100-SXM4-80GB". All words have to be those of one of the entry's `device` names (NVIDIA, Tesla,
  /// GeForce and the order do not count), so that other products under a like name (Laptop, Ti, NVL, D, MIG) are not taken for it. Null:
  /// not in the table.
  const Gpu* of_device(std::string_view device) const;

  /// What a person types: a name, one of `also`, a device's name, or words that only one entry has. Throws UsageError for what none
  /// (naming the nearest) or several have (naming them).
  const Gpu& named(std::string_view words) const;
  /// Where those words fit other variants, too: one line that says which was taken and what others there are; else empty. Throws as named.
  std::string taken_for(std::string_view words) const;

 private:
  std::vector<Gpu> gpus_;
};

/// The built-in table alone. Throws Error if it has a mistake.
const std::vector<Gpu>& built_in_gpus();

/// Why a user's GPU cannot stand beside the built-in ones: its name, one of `also` or of `device` is that of one of them, however it is
/// written ("t 4"). Empty: it can.
std::string clash(const Gpu& own);
/// Why a user's GPU cannot stand beside his others: one of its `device` names is another's, whose rates would be taken for it or not by
/// chance. Empty: it can.
std::string same_device(const Gpu& own, const std::vector<Gpu>& others);

/// Where the user's GPUs are kept: $XDG_CONFIG_HOME/ulpscope/gpus, or ~/.config/ulpscope/gpus; empty: neither is known.
std::string user_gpu_folder();

struct UserGpus {
  std::vector<Gpu> gpus{};
  std::vector<std::string> mistakes{};  ///< of files that are left out for it
};
/// Every *.toml in the folder that is a plain file, by name; others are among the mistakes. A folder that is not there holds none.
UserGpus read_user_gpus(const std::string& folder);

struct KeptGpu {
  std::string path{};
  bool replaced = false;  ///< one of the same name
};
/// Keeps a GPU of `toml` (the text of its file) in the folder, in a file of its own; the same name again replaces it. Throws UsageError
/// for a clash with the built-in table or a device of another that is kept, and where the folder cannot be written.
KeptGpu keep_user_gpu(const std::string& folder, const Gpu& gpu, std::string_view toml);

/// Both tables, read at the first call in a process; and what was wrong with the user's files.
const GpuTable& gpu_table();
const std::vector<std::string>& user_gpu_mistakes();

/// What a device here says of itself; parts that it does not say are unknown.
struct PresentGpu {
  std::string name{};
  int capability = 0;
  Count sms{};
  Number clock_mhz{};
  Count memory_bytes{};
  Count l2_bytes{};
};
/// Described by what it reports; the table gives rates for each SM and clock (and what no device reports: bandwidth, power). One that is
/// not in the table gets an fp32 rate from its compute capability, and no other. Without SMs and clock the entry stays as it is.
Gpu described(const PresentGpu& device, const GpuTable& table);

}  // namespace ulpscope::reports
