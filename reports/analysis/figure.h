// A number that is shown to somebody: with its spread, and with what it is.
#pragma once

#include "reports/run_file/values.h"

namespace ulpscope::reports {

/// What value, spread, low and high mean stands in the table of figures (compare.h). Parts that do not apply are
/// unknown.
struct Figure {
  Number value{};
  Number spread{};  ///< standard deviation
  Number low{};     ///< quartile, least value, or lower end of an interval
  Number high{};
  Count samples{};
  Provenance provenance = Provenance::unknown;

  bool known() const { return value || low || high; }
};

}  // namespace ulpscope::reports
