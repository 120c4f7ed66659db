// Did the tensor cores work? Counted where hardware counters say so, else concluded from the rate, else unknown; never assumed.
#pragma once

#include <optional>
#include <string>

#include "reports/run_file/values.h"

namespace ulpscope::reports {

enum class TensorAnswer : std::uint8_t { unknown, no, yes };

/// What is known of some kernels of one kind.
struct TensorEvidence {
  std::optional<double> tensor_pipe{};   ///< share of cycles with the tensor pipes active, 0 … 1, from counters
  std::optional<double> flops{};         ///< done, from shapes
  std::optional<double> seconds{};       ///< of device time, measured
  std::optional<double> plain_peak{};    ///< FLOP/s of the device in this format *without* tensor cores, at its greatest clock
  std::optional<double> tensor_peak{};   ///< … with them
  double margin = 1.0;                   ///< a rate is above a peak if it is above the peak times this: what both peaks are uncertain by
  std::optional<bool> has_tensor_cores = true;  ///< the device has them for this format; nothing: it is not known
};

struct TensorUse {
  TensorAnswer answer = TensorAnswer::unknown;
  Provenance provenance = Provenance::unknown;
  std::string why;                       ///< in words
};

/// A rate above plain_peak cannot have been reached without tensor cores. One below it proves nothing: tensor cores idle, too.
TensorUse tensor_use(const TensorEvidence& evidence);

}  // namespace ulpscope::reports
