// The faults that mending is about, and whether a trial is rid of them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "reports/analysis/diagnosis/diagnosis.h"

namespace ulpscope::profiler {

/// A fatal or damaging cause. Kind and place are what it is known by from one run to the next.
struct Fault {
  reports::Kind kind = reports::Kind::unknown;
  std::string place{};   ///< node, or tensor where there is none; a cast's without the format it casts to
  std::optional<std::int64_t> step{};
  std::string what{};

  bool same(const Fault& other) const { return kind == other.kind && place == other.place; }
  std::string words() const;   ///< "activation_too_large at layer2.linear"
};

Fault fault_of(const reports::Cause& cause);
/// Gravest first.
std::vector<Fault> faults_of(const reports::RunDiagnosis& run);
bool contains(const std::vector<Fault>& faults, const Fault& fault);
void add_faults(std::vector<Fault>& to, const std::vector<Fault>& more);
/// "a; b".
std::string words(const std::vector<Fault>& faults);

struct Judgement {
  reports::MendStatus status = reports::MendStatus::not_tried;
  std::string why{};                ///< in words
  std::vector<Fault> remains{};     ///< of the run, not what the change was for
  std::vector<Fault> instead{};     ///< that were not there before
};

/// verified: none of the targets is there any more, nothing fatal or damaging came instead, and a step was applied.
Judgement judge(const std::vector<Fault>& targets, const std::vector<Fault>& before, const reports::RunDiagnosis& after);

}  // namespace ulpscope::profiler
