// A curve of any length in a bounded number of points, for drawing: no spike is lost.
//
// Points arrive in the order of their steps. Neighbouring steps share a bucket, and of each bucket the first, the
// least, the greatest and the last finite value stay, with the steps they were at. Buckets widen by merging in pairs
// when there are too many, so the length need not be known beforehand.
#pragma once

#include <cstdint>
#include <vector>

#include "reports/run_file/values.h"

namespace ulpscope::reports {

struct SeriesPoint {
  std::int64_t step = 0;
  double value = 0;  ///< finite
  Number seconds{};  ///< the second coordinate that came with it: what time it was, so that the same point can be drawn against time
  friend bool operator==(const SeriesPoint&, const SeriesPoint&) = default;
};

enum class GapKind : std::uint8_t { unknown, nan, positive_infinite, negative_infinite };

/// Neighbouring recorded steps without a finite value, all for the same reason. Every such step is in one gap.
struct SeriesGap {
  GapKind kind = GapKind::unknown;
  std::int64_t first = 0;
  std::int64_t last = 0;   ///< included
  std::int64_t steps = 0;  ///< how many recorded ones
  friend bool operator==(const SeriesGap&, const SeriesGap&) = default;
};

struct Curve {
  std::vector<SeriesPoint> points{};  ///< by step
  std::vector<SeriesGap> gaps{};      ///< by step; their number is not bounded
  std::int64_t finite = 0;            ///< values before thinning
};

class Thinning {
 public:
  /// At most 4 * buckets points come out; all of them if there are no more than `buckets` steps. buckets >= 1, else
  /// UsageError.
  explicit Thinning(std::int64_t buckets);
  /// Steps ascend, else Error.
  void add(std::int64_t step, Number value, Number seconds = {});
  Curve curve() const;

 private:
  struct Bucket {
    std::int64_t index = 0;  ///< (step - first step) / width
    SeriesPoint first{};
    SeriesPoint least{};
    SeriesPoint greatest{};
    SeriesPoint last{};
  };
  static void merge(Bucket& into, const Bucket& later);
  void widen();
  void add_gap(std::int64_t step, GapKind kind);

  std::int64_t limit_;
  std::int64_t width_ = 1;
  std::int64_t first_step_ = 0;
  std::int64_t last_step_ = 0;
  std::int64_t finite_ = 0;
  bool any_ = false;
  bool in_gap_ = false;
  std::vector<Bucket> buckets_{};
  std::vector<SeriesGap> gaps_{};
};

}  // namespace ulpscope::reports
