// Which nodes have to be kept in fp32: all that are suspected first, then the smallest set that still works.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "profiler/mend/ground.h"
#include "profiler/mend/trial.h"

namespace ulpscope::profiler {

struct KeepFp32 {
  reports::MendStatus status = reports::MendStatus::not_tried;
  std::vector<std::string> nodes{};      ///< verified: the smallest set found; else those that were tried
  std::vector<Fault> targets{};
  std::string why{};
  bool minimal = false;                  ///< without any member the fault returns, and that was run
  std::vector<std::pair<std::string, std::string>> without{};   ///< member, what came of leaving it out
  std::optional<Trial> trial{};          ///< of `nodes`
  Judgement judgement{};
  std::int64_t runs = 0;
};

/// Runs the experiment with these nodes kept; nothing once there is no time.
using TryNodes = std::function<std::optional<Trial>(const std::vector<std::string>&)>;

/// Faults that keeping a node in fp32 may help: those of ranges and formats with a node of the model behind them.
std::vector<Fault> keep_targets(const Ground& ground);

/// Suspects in order of evidence: nodes of faults, gravest first; where they do not do, nodes at which a fault comes up instead, then
/// those on the watch list.
KeepFp32 search_keep_fp32(const Ground& ground, const TryNodes& attempt, const std::function<std::string()>& why_no_more);

}  // namespace ulpscope::profiler
