// Two recordings of the same experiment, made on different devices, held against each other step by step.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/run_file/reader.h"

namespace ulpscope::test {

/// One mode and seed that both files have.
struct SameSteps {
  std::string mode;
  std::int64_t seed = 0;
  std::int64_t steps = 0;                     ///< compared
  /// The first step that a gradient, at the step's loss scale, brings within 10 % of the limit of its format, from either side: there and
  /// from there on the decision may fall otherwise. Known where ranges were recorded.
  std::optional<std::int64_t> near_limit;
  std::optional<std::int64_t> skip_differs;   ///< the first step that one skips and the other does not
  std::optional<std::int64_t> loss_differs;   ///< the first of the first steps whose losses lie farther apart than the mode's formats allow
  double tolerance = 0.0;                     ///< of these
  double greatest_difference = 0.0;           ///< of losses, relative, over all compared steps
  std::string wrong;                          ///< in words; empty: as it should be
};

/// How many steps from the same start have to agree within the format's tolerance; later ones drift apart.
inline constexpr std::int64_t close_steps = 3;

/// Relative, of a loss: some units in the last place of what is multiplied.
double loss_tolerance(const std::string& mode);

/// Throws UsageError if the files have no run in common, and if one of them is damaged.
std::vector<SameSteps> same_steps(const reports::RunFileReader& a, const reports::RunFileReader& b);

}  // namespace ulpscope::test
