// How many times as long a step of one mode takes as one of another on the same GPU, both projected, with the range of that ratio.
//
// What is not known of one step is partly not known of the other, too: the bandwidth that is reached and the cost of a launch are the
// device's, whatever the mode. What share of a peak products reach is a matter of their format. So the range is over all combinations of
//   products in each format (fp32, tf32, fp16 …), slow or fast by itself; a format that both modes multiply in is slow or fast in both
//   bandwidth, the same in both modes
//   launch cost, the same in both modes
// with each at the low end of its range, its likely value, and its high end. Classes and sizes of one of these move together.
#pragma once

#include <vector>

#include "reports/analysis/figure.h"
#include "reports/hardware/attainable.h"

namespace ulpscope::reports {

/// What a launch would take at the peaks, in parts that reach shares of their own.
struct LaunchParts {
  double calls = 1.0;
  WorkClass work = WorkClass::fp32_products;  ///< of the product
  Rate rate = Rate::fp32;                     ///< of the product
  WorkSize size = WorkSize::small;
  double product = 0.0, other = 0.0, bytes = 0.0;  ///< seconds of one call: products, the rest in fp32, memory
};

/// Nothing if a peak or the bandwidth is not known.
std::optional<LaunchParts> parts_of(const Work& work, const Gpu& gpu, double calls);

/// Step of `above` ÷ step of `below`: likely, and the least and greatest of the combinations. Unknown if one of them has no launch.
Figure ratio_of_steps(const std::vector<LaunchParts>& above, const std::vector<LaunchParts>& below, const Attainable& attainable);

}  // namespace ulpscope::reports
