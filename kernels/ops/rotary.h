// Rotary positions (Su et al. 2021), pairs as in Llama: element i of the first half of a head goes with element i of
// the second half ("rotate half"), and the pair turns by position * base^(-2 i / D).
#pragma once

#include <cstdint>

#include "kernels/math/elementary.h"
#include "kernels/portable.h"

namespace ulpscope {

template <class T>
struct Rotation {
  T cosine;
  T sine;
};

/// The turn of pair i at a position; ratio is base^(-2 / D). The angle is taken modulo a whole turn in double, so that
/// late positions are as exact as early ones.
template <class T>
ULPSCOPE_BODY Rotation<T> rotation(double ratio, std::int64_t position, std::int64_t i) {
  constexpr double turn = 6.283185307179586477;
  double turns = static_cast<double>(position) * math::power(ratio, i) / turn;
  turns = turns - static_cast<double>(static_cast<std::int64_t>(turns + 0.5));
  const T angle = static_cast<T>(turns * turn);
  return {math::cos(angle), math::sin(angle)};
}

/// One head at one position: D elements, D / 2 rotations. y may be x.
template <class T, class Team>
ULPSCOPE_BODY void rotary_row(const Team& team, const T* x, const T* cosine, const T* sine, bool inverse, T* y,
                              std::int64_t depth) {
  const std::int64_t half = depth / 2;
  team.each(half, [=](std::int64_t i) {
    const T a = x[i], b = x[i + half];
    const T s = inverse ? -sine[i] : sine[i];
    y[i] = a * cosine[i] - b * s;
    y[i + half] = b * cosine[i] + a * s;
  });
}

}  // namespace ulpscope
