// The rows of the bench: what each compares, its bar and its aim. A row's name is also the name of the samples it is
// made of.
#pragma once

#include <string>
#include <vector>

#include "tests/bench/statistics.h"

namespace ulpscope::bench {

struct Row {
  std::string name;  ///< "steps/fp16": the family that measures it, then what
  std::string what;  ///< in words
  Bar bar;

  std::string family() const { return name.substr(0, name.find('/')); }
};

/// In the order of the report.
const std::vector<Row>& all_rows();

/// The rows whose name contains the text (all for an empty one). Throws UsageError listing the names if there is none.
std::vector<Row> rows_like(const std::string& text);

}  // namespace ulpscope::bench
