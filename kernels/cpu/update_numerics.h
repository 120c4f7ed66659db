// Updates tile by tile, for launches that are watched, or that round in another way than once and to nearest. A plain launch
// has the same bits here as in the fast loops of update.cpp. Included only by sources that are compiled once per instruction set.
//
// An optimizer is a function over one tile: it turns the states into the new ones (not yet rounded for storage), the weights into
// the decayed ones, and says what is to be taken from them (`step`). How weights are rounded is the same for all.
#pragma once

#include "kernels/cpu/elementwise.h"
#include "kernels/ops/weight_rounding.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

constexpr int max_states = 2;

/// x rounded to a storage format, in place.
template <class T>
inline void round_run(Format format, T* x, int n) {
  if (format == format_of<T>()) return;
  alignas(64) std::uint64_t raw[tile_length];
  narrow_tile(format, x, raw, static_cast<std::size_t>(n));
  widen_tile(format, raw, x, static_cast<std::size_t>(n));
}

template <class T>
struct UpdateTile {
  int n;
  Buffer<T> gradient;
  Buffer<T> weight;                ///< as stored
  Buffer<T> decayed;               ///< in: the weight
  Buffer<T> step;                  ///< out: to be taken from the decayed weight
  Buffer<T> state[max_states];     ///< in: as stored; out: before they are rounded
  Buffer<T> compensation;
};

/// What a launch of an optimizer is.
template <class T>
struct Update {
  using Function = void (*)(const Update&, UpdateTile<T>&);
  UpdateNumerics numerics;
  UpdateStream stream;
  const void* body;
  Function function;
  T decay_change;                  ///< for Kahan: the change by decay, in place of the decayed weight
  bool decays;
  int states;
  View gradient, weight, state[max_states], compensation;

  Format format() const { return weight.format; }
  /// The weights' own line is in the compute type.
  bool wide_line() const { return numerics.rounding != UpdateRounding::nearest; }
};

template <class T>
inline void round_weights(const Update<T>& u, std::int64_t begin, UpdateTile<T>& t, T* proposed) {
  const T* w = t.weight.value;
  const T* s = t.step.value;
  switch (u.numerics.rounding) {
    case UpdateRounding::nearest:
      for (int i = 0; i < t.n; ++i) proposed[i] = t.decayed.value[i] - s[i];
      return;
    case UpdateRounding::stochastic:
      for (int i = 0; i < t.n; ++i)
        proposed[i] = stochastically_rounded(u.format(), t.decayed.value[i] - s[i], u.stream.word(begin + i));
      return;
    case UpdateRounding::kahan:   // what was lost so far is added first; update_tile keeps what is lost now
      for (int i = 0; i < t.n; ++i) {
        t.compensation.value[i] += w[i] * u.decay_change - s[i];
        proposed[i] = w[i] + t.compensation.value[i];
      }
      return;
  }
}

/// With stochastic rounding what is proposed is rounded already: what that lost is counted on the weights as they were before it. A look at the
/// range alone is content with the infinities.
template <class T>
inline bool counted_before_rounding(const Update<T>& u, const RoundingTally* tally) {
  return u.numerics.rounding == UpdateRounding::stochastic && tally != nullptr && !range_only(*tally);
}
template <class T>
inline void count_stochastic(const Update<T>& u, const UpdateTile<T>& t, const T* stored, RoundingTally& tally) {
  Buffer<T> before;
  for (int i = 0; i < t.n; ++i) before.value[i] = t.decayed.value[i] - t.step.value[i];
  count_block(before.value, stored, t.n, static_cast<T>(info(u.format()).min_normal), tally);
}

/// stored: what the weights have become, widened.
template <class T>
inline void after_rounding(const Update<T>& u, UpdateTile<T>& t, const T* stored, RoundingTally* tally) {
  const T* w = t.weight.value;
  if (u.numerics.rounding == UpdateRounding::kahan)
    for (int i = 0; i < t.n; ++i) t.compensation.value[i] = t.compensation.value[i] - (stored[i] - w[i]);
  if (tally == nullptr) return;
  std::int64_t lost = 0;
  for (int i = 0; i < t.n; ++i) lost += update_is_lost(w[i], stored[i], t.step.value[i], u.decays) ? 1 : 0;
  tally->counts.lost_updates += lost;
}

template <class T>
__attribute__((noinline)) void update_tile(const Update<T>& u, std::int64_t begin, int n, RoundingTally* const* tally) {
  UpdateTile<T> t;
  t.n = n;
  read_tile(u.gradient, begin, n, t.gradient.value);
  read_tile(u.weight, begin, n, t.weight.value);
  for (int i = 0; i < n; ++i) t.decayed.value[i] = t.weight.value[i];
  for (int k = 0; k < u.states; ++k) read_tile(u.state[k], begin, n, t.state[k].value);
  const bool kahan = u.numerics.rounding == UpdateRounding::kahan;
  if (kahan) read_tile(u.compensation, begin, n, t.compensation.value);
  u.function(u, t);
  Buffer<T> proposed, stored;
  round_weights(u, begin, t, proposed.value);
  const bool before = counted_before_rounding(u, tally[0]);
  write_tile(u.weight, begin, n, proposed.value, before ? nullptr : tally[0]);
  read_tile(u.weight, begin, n, stored.value);
  if (before) count_stochastic(u, t, stored.value, *tally[0]);
  after_rounding(u, t, stored.value, tally[0]);
  for (int k = 0; k < u.states; ++k) write_tile(u.state[k], begin, n, t.state[k].value, tally[1 + k]);
  if (kahan) write_tile(u.compensation, begin, n, t.compensation.value, tally[1 + u.states]);
}

/// The outputs of a launch: weight, states, and with Kahan the compensation.
template <class T>
inline void run_update(const char* operation, const Launch& launch, Update<T> u) {
  const bool kahan = u.numerics.rounding == UpdateRounding::kahan;
  expect_operands(operation, launch, 1, 1 + u.states + (kahan ? 1 : 0));
  u.gradient = broadcast_view(operation, launch.in[0], launch.out[0].shape);
  for (int o = 0; o < launch.out_count; ++o)
    expect_shape(operation, "an output", launch.out[o].shape, launch.out[0].shape);
  u.weight = view_of(launch.out[0]);
  for (int k = 0; k < u.states; ++k) u.state[k] = view_of(launch.out[1 + k]);
  if (kahan) u.compensation = view_of(launch.out[1 + u.states]);
  u.stream = UpdateStream::make(u.numerics, launch.state);
  const std::int64_t elements = u.weight.elements;
  run_units(launch, (elements + tile_length - 1) / tile_length, elements * 8,
            [&](int, std::int64_t first, std::int64_t last, RoundingTally* const* tally) {
              for (std::int64_t tile = first; tile < last; ++tile)
                update_tile(u, tile * tile_length, smaller(elements - tile * tile_length, tile_length), tally);
            });
}

}  // namespace
}  // namespace ulpscope::cpu::ULPSCOPE_ISA
