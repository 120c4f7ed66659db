// The recorded ranges of one run, and whether a step would overflow at another loss scale.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "reports/analysis/diagnosis/evidence.h"
#include "reports/analysis/scale_replay.h"
#include "reports/run_file/reader.h"

namespace ulpscope::reports {

class RecordedRanges {
 public:
  /// The evidence must outlive it.
  RecordedRanges(const RunFileReader& reader, const Evidence& evidence);

  /// No step has any.
  bool empty() const;
  std::size_t steps() const { return steps_.size(); }
  const StepRecord& record(std::size_t i) const { return *steps_[i].record; }
  float scale(std::size_t i) const { return steps_[i].scale; }

  struct Answer {
    bool overflow = false;
    Basis basis = Basis::recorded;
  };
  /// Step i, counted in the order of the recording, at a loss scale.
  Answer overflows(std::size_t i, float scale) const;

  std::int64_t without_range() const;
  std::int64_t incomplete() const;
  std::int64_t never_finite() const;

 private:
  /// A tensor that the scale multiplies, as it was at the recorded scale.
  struct Reach {
    float greatest = 0.0f;
    bool known = true;   ///< everything it was computed from was finite
    bool overflowed = false;   ///< in its own rounding
  };
  struct Step {
    const StepRecord* record = nullptr;
    float scale = 1.0f;
    bool recorded = false;   ///< has a row of ranges
    bool hopeless = false;   ///< not finite, whatever the scale
    bool complete = false;   ///< all ranges are known
    std::vector<Reach> reach{};   ///< by tensor
  };
  struct Tensor {
    double limit = 0.0;      ///< least magnitude that is not finite once it is stored
    bool unscaled = false;   ///< a parameter's gradient, from which the scale is taken again
  };
  void take(Step& step, const RangeRecord& row) const;
  bool beyond(const Step& step, std::size_t tensor, double scale) const;
  bool hopeless(const Step& step) const;
  const Step* nearest_complete(std::size_t i) const;

  std::map<TensorId, std::size_t> places_;   ///< of the tensors that the scale multiplies
  std::vector<Tensor> tensors_;
  std::optional<TensorId> loss_;
  bool narrow_sums_ = false;   ///< sums inside the backward pass may overflow out of sight
  std::vector<Step> steps_;
};

}  // namespace ulpscope::reports
