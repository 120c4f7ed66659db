// Parts of a prediction that more than one of its files needs.
#pragma once

#include <cmath>
#include <string>
#include <vector>

#include "reports/analysis/prediction.h"

namespace ulpscope::reports {

inline int exponent_of(double power) { return std::ilogb(power); }

/// Magnitude at a loss scale.
inline double greatest_at(const StoredRange& r, double scale) { return r.greatest * (r.backward ? scale : 1.0); }
bool overflows(const StoredRange& r, double scale);
/// A finding about a tensor, without kind and words.
Foreseen about(const StoredRange& r);

/// Of the forward pass, whatever the scale.
void foresee_overflows(const PredictionInput& input, std::vector<Foreseen>& found);
void foresee_flushes(const PredictionInput& input, std::vector<Foreseen>& found);
/// Faults of the step as it was made in the mode, that nothing of this speaks of.
void foresee_what_happened(const PredictionInput& input, std::vector<Foreseen>& found);
/// A schedule that skipped steps move, by the skips that are foreseen.
void foresee_schedule(const PredictionInput& input, const ModePrediction& p, std::vector<Foreseen>& found);

}  // namespace ulpscope::reports
