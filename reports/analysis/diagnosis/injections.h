// Numbers that an experiment file sets by itself ([[inject]]), as its run recorded them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "reports/analysis/diagnosis/evidence.h"

namespace ulpscope::reports {

struct Injection {
  std::int64_t step = 0;  ///< iteration
  std::string value{};    ///< name of a tensor, or of the node that makes it
  std::string index{};    ///< "[3]"; empty: all elements
  std::string number{};   ///< as written

  bool finite() const { return number.find("inf") == std::string::npos && number.find("nan") == std::string::npos; }
  std::string target() const { return index.empty() ? value : value + " " + index; }
};

std::vector<Injection> injections(const Evidence& evidence);

}  // namespace ulpscope::reports
