// What the map of layers and steps can show, how grave a value is, and its words.
#pragma once

#include <QString>
#include <cstdint>
#include <optional>
#include <vector>

#include "reports/analysis/report_numerics.h"

namespace ulpscope::gui {

struct NumericsQuantity {
  const char* id;
  const char* label;    ///< of the context "numerics"
  const char* meaning;  ///< likewise
  reports::Number reports::NumericsCell::*value;
  bool bits;            ///< else a share
  reports::Provenance provenance;
};
/// Head-room first.
const std::vector<NumericsQuantity>& numericsQuantities();
QString labelOf(const NumericsQuantity& quantity);
QString meaningOf(const NumericsQuantity& quantity);

/// 0 (far from trouble) … 1 (in it); nothing if it is unknown. Head-room: 16 bits and more … none. Shares: 1e-5 and less … all, by their logarithm.
std::optional<double> gravity(const NumericsQuantity& quantity, const reports::NumericsCell& cell);
/// "3.25 bits", "12 %", "unknown".
QString numericsText(const NumericsQuantity& quantity, const reports::NumericsCell& cell);
QString bitsText(const reports::Number& bits);

/// "step 4", "steps 4 … 8".
QString columnText(const reports::NumericsColumn& column);
/// All that is known of a cell, a line each.
QString cellToolTip(const reports::NumericsMap& map, std::size_t layer, std::size_t column);
/// What a histogram is of, in a few lines.
QString histogramText(const reports::TensorHistogram& histogram);

}  // namespace ulpscope::gui
