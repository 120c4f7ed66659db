// The parts of a sweep's result: what sweep.cpp puts together.
#pragma once

#include "reports/analysis/sweep.h"

namespace ulpscope::reports::sweep_parts {

/// A size held against the given one, round by round.
struct Held {
  std::int64_t rounds = 0;
  Number ratio{};            ///< as SweepTime says, median
  double difference = 0.0;   ///< as SweepTime says, median
  double noise = 0.0;
  double agree = 0.0;        ///< share of the rounds in which it lies on that side of both timings of the given size
};

/// share: of the given size's work that this one does.
Held hold(const std::vector<double>& seconds, const SweepInput::Timing& given, double share);
SweepVerdict verdict(const Held& held);

void add_facts(Sweep& sweep);
void add_claims(Sweep& sweep);
void add_notes(Sweep& sweep);

}  // namespace ulpscope::reports::sweep_parts
