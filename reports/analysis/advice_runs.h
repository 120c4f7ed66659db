// What the runs of a mode say of it, wherever they are recorded. Part of advice_evidence.cpp.
#pragma once

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "reports/analysis/advice.h"
#include "reports/analysis/compare.h"
#include "reports/analysis/mends.h"

namespace ulpscope::reports::advice_parts {

/// Adds it once.
void note(std::vector<std::string>& notes, std::string text);
/// Without whose sums it was run with.
inline std::string plain_name(const std::string& mode) { return mode.substr(0, mode.find('@')); }

/// Files, and for each what was made of it.
struct RunSources {
  std::vector<const RunFileReader*> readers{};
  const std::vector<Diagnosis>* diagnoses = nullptr;
  std::vector<Mends> mends{};  ///< by reader
  std::set<Kind> everywhere{};  ///< kinds of damage that fp32 has, too; they are no matter of precision
};

/// Of the fp32 runs of a setting. What there is is noted.
std::set<Kind> damage_in_fp32(const Comparison& comparison, const std::string& tag, const std::vector<Diagnosis>& diagnoses, std::vector<std::string>& notes);
/// Throws Error if a file of its runs has no reader.
ModeEvidence evidence_of_runs(const ModeResult& mode, const RunSources& sources);
void add_prediction(ModeEvidence& evidence, const ModePrediction& prediction);

}  // namespace ulpscope::reports::advice_parts
