// Parts of report_numerics.cpp: where tensors belong, and which of them are shown with their histogram.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "reports/analysis/report_numerics.h"
#include "reports/analysis/diagnosis/plan_view.h"

namespace ulpscope::reports::report_parts {

/// A tensor of a plan.
struct Placed {
  TensorId id{};
  std::string name{};
  std::string operation{};
  std::string phase{};
  TensorRole role = TensorRole::activation;
  Format format = Format::fp32;
  bool narrow = false;     ///< a format of 16 bits or 8
  std::size_t layer = 0;   ///< in Places::layers()

  /// Bits between the greatest magnitude and the limit of its format; of a wide one, of fp16: what it would be there.
  Number head_room(const TensorStatsRecord& row) const;
};

class Places {
 public:
  explicit Places(const PlanView& plan);
  const Placed* find(TensorId id) const;
  const std::vector<std::string>& layers() const { return layers_; }

 private:
  std::size_t layer(const std::string& name);
  std::vector<std::string> layers_{};
  std::map<TensorId, Placed> tensors_{};
};

/// Takes every row, in the order of steps, and keeps the worst and the latest of each tensor.
class HistogramPick {
 public:
  explicit HistogramPick(const Places& places) : places_(&places) {}
  void add(const Placed& tensor, TensorStatsRecord row);
  /// Of the tensors nearest to the edges of their formats, the nearest first.
  std::vector<TensorHistogram> chosen(std::size_t tensors) const;

 private:
  struct Kept {
    TensorStatsRecord worst{}, latest{};
    double score = 0.0;  ///< of the worst: greater is nearer to trouble
    const char* why = "";
  };
  const Places* places_;
  std::map<TensorId, Kept> kept_{};
};

}  // namespace ulpscope::reports::report_parts
