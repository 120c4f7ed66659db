// The comparison of run files, as `ulpscope compare` and the end of `ulpscope run` print it.
#pragma once

#include <string>
#include <vector>

namespace ulpscope::profiler {

/// form: of reports::make_exporter. Throws UsageError for a file that cannot be read.
std::string comparison_text(const std::vector<std::string>& paths, const std::string& form = "text");

}  // namespace ulpscope::profiler
