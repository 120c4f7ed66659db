#include "reports/analysis/tensor_use.h"

#include <fmt/format.h>

namespace ulpscope::reports {

TensorUse tensor_use(const TensorEvidence& e) {
  if (e.tensor_pipe && *e.tensor_pipe >= 0 && *e.tensor_pipe <= 1) {
    if (*e.tensor_pipe > 0)
      return {TensorAnswer::yes, Provenance::counted, fmt::format("tensor pipes active in {:.1f} % of the cycles", 100 * *e.tensor_pipe)};
    return {TensorAnswer::no, Provenance::counted, "the tensor pipes were never active"};
  }
  if (!e.has_tensor_cores) return {TensorAnswer::unknown, Provenance::unknown, "no counters, and it is not known whether the device has tensor cores for this format"};
  if (!*e.has_tensor_cores) return {TensorAnswer::no, Provenance::inferred, "the device has no tensor cores for this format"};
  if (!e.flops || !e.seconds || !(*e.seconds > 0) || !(*e.flops > 0))
    return {TensorAnswer::unknown, Provenance::unknown, "no counters, and no rate to conclude from"};
  const double rate = *e.flops / *e.seconds;
  // Nothing can be concluded from a time that cannot be true.
  if (e.tensor_peak && rate > e.margin * *e.tensor_peak)
    return {TensorAnswer::unknown, Provenance::unknown,
            fmt::format("{:.1f} TFLOP/s is faster than the hardware ({:.1f}): the time is wrong", rate / 1e12, *e.tensor_peak / 1e12)};
  if (!e.plain_peak) return {TensorAnswer::unknown, Provenance::unknown, "no counters, and the device's peak is not known"};
  if (rate > e.margin * *e.plain_peak)
    return {TensorAnswer::yes, Provenance::inferred,
            fmt::format("{:.1f} TFLOP/s is more than {:.1f}, the device's peak without them", rate / 1e12, *e.plain_peak / 1e12)};
  return {TensorAnswer::unknown, Provenance::unknown,
          fmt::format("no counters, and {:.1f} TFLOP/s can be reached without them (peak {:.1f})", rate / 1e12, *e.plain_peak / 1e12)};
}

}  // namespace ulpscope::reports
