// The comparison of machines, and of sums, in every form. Part of the comparison.
#pragma once

#include <cstddef>
#include <nlohmann/json_fwd.hpp>
#include <ostream>

#include "reports/analysis/machines.h"
#include "reports/analysis/sums_change.h"

namespace ulpscope::reports {

/// At most 80 columns. nodes: of a mode, so many; 0: all.
void machines_text(const MachineComparison& machines, std::size_t nodes, std::ostream& out);

nlohmann::ordered_json machines_json(const MachineComparison& machines);

/// Rows of the comparison's CSV: tag,mode,device,seed,figure,unit,value,spread,low,high,samples,provenance. Figures are keys of
/// machine_figures() after "machines."; of nodes "machines.node_seconds PHASE NAME", and "machines.node_ratio PHASE NAME".
void machines_csv(const MachineComparison& machines, std::ostream& out);

/// Losses of machines bit for bit. CSV: mode is the other's ("B fp16"), device the first's ("A fp16"); figures after "bits.".
void bits_text(const std::vector<BitsAcross>& all, std::ostream& out);
nlohmann::ordered_json bits_json(const std::vector<BitsAcross>& all);
void bits_csv(const std::vector<BitsAcross>& all, std::ostream& out);

/// What a generation's sums change. CSV: device is the mode that it is held against; figures after "sums.".
void sums_changes_text(const std::vector<SumsChange>& changes, std::ostream& out);
nlohmann::ordered_json sums_changes_json(const std::vector<SumsChange>& changes);
void sums_changes_csv(const std::vector<SumsChange>& changes, std::ostream& out);

}  // namespace ulpscope::reports
