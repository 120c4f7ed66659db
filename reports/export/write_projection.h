// A projection for people (80 columns) and for programs.
#pragma once

#include <ostream>

#include "reports/analysis/projection.h"

namespace ulpscope::reports {

void write_projection_text(const Projection& projection, std::ostream& out);
/// Every launch of every mode is in it.
void write_projection_json(const Projection& projection, std::ostream& out);

/// The runs that were projected from the others, alone.
void write_checked_text(const Projection& projection, std::ostream& out);

}  // namespace ulpscope::reports
