// Which of the observed steps are looked at where there are more statistics than one wants to read.
#pragma once

#include <cstdint>
#include <vector>

#include "reports/run_file/reader.h"

namespace ulpscope::reports {

/// At most so many steps of those observed that their statistics are about `rows` rows: the first, the last, those whose gradients were
/// not finite, and others evenly between them. All of them if they fit. rows > 0.
std::vector<std::int64_t> steps_to_read(const RunFileReader& reader, RunId run, std::int64_t rows);

}  // namespace ulpscope::reports
