// The bounds of a loss scale, as powers of two: the least that keeps gradients above the end of their format's range, the greatest at
// which none overflows. The one place where they are computed: the window of a run, that of a prediction, and the causes of a diagnosis
// rest on it.
#pragma once

#include <optional>
#include <vector>

#include "kernels/formats/format.h"
#include "reports/run_file/values.h"

namespace ulpscope::reports {

/// Greatest k at which magnitude x 2^k, stored in the format, is finite. magnitude > 0.
int greatest_finite_power(double magnitude, Format format);
/// Least k at which magnitude x 2^k is not rounded to zero. magnitude > 0.
int least_kept_power(double magnitude, Format format);
/// Least k at which magnitude x 2^k is a normal number, with all its digits. magnitude > 0.
int least_normal_power(double magnitude, Format format);

/// Gradients of one tensor in one step.
struct ScaledRange {
  Format format = Format::fp16;
  double scale = 1.0;                            ///< at which they were counted
  double greatest = 0.0;                         ///< magnitude of the finite elements, at that scale, before rounding
  const ExponentHistogram* histogram = nullptr;  ///< of the non-zero elements, at that scale, before rounding; null: not known
  double least = 0.0;                            ///< magnitude of the finite non-zero elements, as greatest; 0: not known
};

/// Elements that are finite and not zero.
double nonzero(const ScaledRange& range);
/// How many of them become zero at another scale. Inside a binade they are taken to lie log-uniformly, which matters only where the
/// scales are not a power of two apart; but where its greatest or the least of all is the power of two that begins it, all of it is taken to be that one number, which
/// at the edge goes to zero.
double flushed_at(const ScaledRange& range, double scale);
/// The share of all of them that becomes zero; 0 if there is none.
double flushed_share(const std::vector<ScaledRange>& ranges, double scale);
/// Least k, not below `from`, so that at 2^k at most this share becomes zero; none: that is so at 2^from already.
std::optional<int> least_scale(const std::vector<ScaledRange>& ranges, double share, int from);
/// Greatest k so that at 2^k nothing overflows; none: there is nothing but zeros.
std::optional<int> greatest_scale(const ScaledRange& range);

}  // namespace ulpscope::reports
