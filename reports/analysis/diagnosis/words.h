// Numbers and sentences of a diagnosis.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/formats/format.h"
#include "reports/analysis/diagnosis/diagnosis.h"

namespace ulpscope::reports {

/// Up to 7 significant digits: 66240, 1.38e-07, inf, NaN.
std::string amount(double value);
/// Powers of two as 2^n where that is shorter: 65536, 2^-130.
std::string scale_power(double value);  ///< of tables and ranges: "2^16" for every power of two but 1
std::string scale_amount(double value);
std::string percent(double share);  ///< 0 to 1 as "37 %"
/// "1 element", "3 elements".
std::string counted(std::int64_t n, const std::string& what);
/// Steps as people count them: iteration 0 is 1.
std::int64_t shown(std::int64_t iteration);
/// How a magnitude stands to the limit of its format: "66240 = 1.011 x the fp16 limit (65520 rounds to inf)".
std::string held_against_limit(double magnitude, Format format);
/// Least magnitude that becomes infinite when it is stored in the format.
double limit(Format format);
/// Half an ulp of the format at a magnitude, on the side of smaller magnitudes: what moves a value of that size at
/// least.
double half_ulp_below(double magnitude, Format format);
double half_ulp_above(double magnitude, Format format);
/// Half an ulp of the weight on the side to which taking `step` from it leads: what the step must exceed to move it, or reach, where the
/// weight's last digit is odd (ties go to even).
double half_ulp_towards(double weight, double step, Format format);
/// x rounded to the format, once and to nearest; formats wider than 16 bits: to fp32.
double rounded_to(double x, Format format);
/// Greatest number of equal addends whose sum, rounded once, is finite in the format.
double longest_that_fits(double each, Format format);

Fact fact(std::string key, std::string label, double value, std::string text,
          Provenance provenance = Provenance::counted);
Fact fact(std::string key, std::string label, std::string text, Provenance provenance = Provenance::inferred);

}  // namespace ulpscope::reports
