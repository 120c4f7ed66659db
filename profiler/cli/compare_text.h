// The comparison of run files, as `ulpscope compare` and the end of `ulpscope run` print it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace ulpscope::profiler {

/// form: of reports::make_exporter. nodes: of several machines, nodes of a mode that the text lists; 0: all. Throws UsageError for a file
/// that cannot be read, and where of several machines none is alike with the first.
std::string comparison_text(const std::vector<std::string>& paths, const std::string& form = "text", std::int64_t nodes = 5);

}  // namespace ulpscope::profiler
