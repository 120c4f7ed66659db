// The figures of one mode on several machines. Part of the comparison of machines.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "reports/analysis/compare.h"
#include "reports/analysis/machines.h"
#include "reports/analysis/time.h"

namespace ulpscope::reports::machine_parts {

/// The files, and their time reports, each made once and when it is asked for.
class Sources {
 public:
  explicit Sources(const std::vector<const RunFileReader*>& readers) : readers_(readers) {}
  const RunFileReader& reader(const std::string& path) const;
  /// The time report of one of the mode's runs: one with a timing phase if there is one. Null: none.
  const ModeTime* timed(const ModeResult& mode);

 private:
  const std::vector<const RunFileReader*>& readers_;
  std::map<std::string, std::unique_ptr<TimeReport>> reports_;
};

/// A rate of a data sheet is no measurement of this machine: what is made of it is inferred.
Provenance provenance_of(const Yardstick& yardstick);

struct ModeOfMachine {
  const Machine* machine = nullptr;
  const ModeResult* mode = nullptr;  ///< null: the machine has no runs of it
  const ModeTime* time = nullptr;    ///< null: none of them is in a time report
};

/// at: by machine, the first that was named in front.
MachineMode side_by_side(const std::string& mode, const std::vector<ModeOfMachine>& at);

/// The nodes of a mode by machine; `no_ratio`: machines whose times are not held against the first's.
std::vector<NodeAcross> nodes_across(const std::vector<ModeOfMachine>& at, const std::vector<bool>& no_ratio);

}  // namespace ulpscope::reports::machine_parts
