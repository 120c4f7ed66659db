// Times one matrix product at several sizes in several modes, side by side.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "profiler/sweep/swept_product.h"
#include "reports/analysis/sweep.h"

namespace ulpscope::profiler {

/// Without a number of rounds: as many as fit into these seconds, within limits; it ends after twice that, once it has the fewest.
inline constexpr double sweep_seconds = 20.0;
inline constexpr std::int64_t fewest_rounds = 7, most_rounds = 51;

struct SweepJob {
  Device& device;
  std::string experiment;
  struct Mode {
    std::string name;
    SweptProduct product;   ///< of the given size
    reports::Provenance provenance = reports::Provenance::measured;
  };
  std::vector<Mode> modes;
  reports::SweepDimension dimension = reports::SweepDimension::columns;
  std::vector<std::int64_t> sizes;   ///< ascending, the given one among them
  std::int64_t rounds = 0;           ///< 0: as said above
};

/// Bytes that the greatest operands take together.
std::int64_t sweep_bytes(const SweepJob& job);

/// Each product is warmed up, then in every round a sample of each is taken (of the given size two; timed_product.h), in an order that
/// moves on from round to round, so that whatever slows the machine down slows all alike. On a GPU also between events of the device. A
/// product that fails is left out and says why.
/// told: before the rounds begin, how many there are and about how long they take; stop: asked after every sample, true ends it after
/// the rounds that are whole.
reports::SweepInput run_sweep(const SweepJob& job, const std::function<void(std::int64_t rounds, double seconds)>& told,
                              const std::function<bool()>& stop);

/// The entry that a round of n begins with. Every one is first in turn, and neighbours in turn are not those in the list.
std::int64_t first_of_round(std::int64_t round, std::int64_t n);

}  // namespace ulpscope::profiler
