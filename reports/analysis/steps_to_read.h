// Which of the observed steps are looked at where there are more statistics than one wants to read.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/run_file/reader.h"

namespace ulpscope::reports {

/// At most so many steps of those observed that their statistics are about `rows` rows: the first, the last, those whose gradients were
/// not finite (of more than half as many steps as are read, the first and others evenly among them), and others evenly between them. All
/// of them if they fit. rows > 0.
std::vector<std::int64_t> steps_to_read(const RunFileReader& reader, RunId run, std::int64_t rows);

/// "of 100 observed steps the statistics of 10 were read: the first, the last, 3 of the 3 with an overflow, others evenly between them"; empty
/// if all were. read: what steps_to_read() said.
std::string words_of_reading(const RunFileReader& reader, RunId run, const std::vector<std::int64_t>& read);

}  // namespace ulpscope::reports
