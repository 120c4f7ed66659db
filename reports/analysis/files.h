// Files as a user names them: each once, and short names that tell them apart.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "reports/run_file/reader.h"

namespace ulpscope::reports {

/// Whether two paths lead to one file, however they are written.
bool same_file(const std::string& a, const std::string& b);

struct DistinctFiles {
  std::vector<const RunFileReader*> readers{};                   ///< the first that was named of each file, in order
  std::vector<std::pair<std::string, std::string>> again{};      ///< a path that was left out, and the one that stands for it
};
DistinctFiles distinct_files(const std::vector<const RunFileReader*>& readers);

/// By path the file's name, and before it as many folders as tell it from the others: "a/run.ulp", "b/run.ulp". The path itself where that
/// does not do.
std::vector<std::string> short_names(const std::vector<std::string>& paths);
/// That of one of them; the file's name for another.
std::string short_name(const std::string& path, const std::vector<std::string>& paths);

}  // namespace ulpscope::reports
