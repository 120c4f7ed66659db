// What Adam's update comes to where the second moment that is kept is rounded to zero. The optimizer's arithmetic decides: kernels/ops/adamw.h
// divides by the moment before it is rounded, unless every operation is rounded (PyTorch's for-loop form): then it divides by what is kept.
#pragma once

#include <cstdint>
#include <string>

#include "kernels/formats/format.h"

namespace ulpscope::reports {

/// From this multiple of the learning rate on an update is another training: Adam's are about the rate.
inline constexpr double large_update = 2.0;
/// Share of the weights with a gradient from which on large updates are damage.
inline constexpr double many_large_updates = 0.01;

struct LostMoment {
  Format kept = Format::fp16;    ///< of the moment
  bool rounded_divides = false;  ///< every operation is rounded
  double beta2 = 0.0;
  double epsilon = 0.0;  ///< as it is added

  /// Gradients up to here leave nothing in a moment that was 0.
  double threshold() const;
  /// Of gradients that stay as they are, in learning rates, in the applied step t (from 1): epsilon left aside. Where the rounded one does not divide.
  double grown(std::int64_t t) const;
  /// Where that ends for a gradient of this size: 1 / sqrt(1 - beta2) less what epsilon takes, held against Adam's own g / (g + epsilon).
  double lasting(double gradient) const;
};

/// The epsilon of an update as it is added: in the format of the second moment where every operation is rounded to it.
double added_epsilon(double epsilon, bool each_operation, Format second_moment);

/// How the updates come out, without the number of weights: "the update divides by ...". least, greatest: in learning rates, where the rounded
/// moment divides; least = greatest = 0: not known. step: the applied one that is spoken of.
std::string how_updates_come_out(const LostMoment& moment, double least, double greatest, std::int64_t step);

}  // namespace ulpscope::reports
