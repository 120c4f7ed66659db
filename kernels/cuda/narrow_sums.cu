#include "kernels/cuda/narrow_sums.h"

#include "kernels/cuda/read.h"
#include "kernels/math/elementary.h"
#include "kernels/ops/losses.h"
#include "kernels/ops/reductions.h"

namespace ulpscope::cuda {
namespace {

/// Out of line: the sums are inlined for every format and order.
ULPSCOPE_OUTLINE float narrow_term(NarrowTerm term, float a, float b) {
  switch (term) {
    case NarrowTerm::square:
      return SquareTerm<float>{}(a);
    case NarrowTerm::squared_difference:
      return SquaredDifferenceTerm<float>{}(a, b);
    case NarrowTerm::absolute_difference:
      return AbsoluteDifferenceTerm<float>{}(a, b);
    case NarrowTerm::bce_with_logits:
      return BceWithLogitsTerm<float>{}(a, b);
    default:
      return a;
  }
}

ULPSCOPE_KERNEL void narrow_kernel(NarrowSums o, NarrowBlockTeam::Setup setup) {
  const NarrowBlockTeam team = NarrowBlockTeam::make(block_memory(), setup);
  for (std::int64_t s = block_index(); s < o.sums; s += grid_blocks()) {
    std::int64_t first = s * o.sum_step, step = o.item_step, length = o.length;
    const std::int64_t* position = nullptr;
    if (o.start != nullptr) {
      const Divided place = divided(s, o.columns);
      position = o.position + o.start[place.quotient];
      length = o.start[place.quotient + 1] - o.start[place.quotient];
      first = place.rest;
      step = o.columns;
    }
    const float sum = team.sum<float>(length, [&o, first, step, position](std::int64_t k) {
      const std::int64_t at = first + (position == nullptr ? k : position[k]) * step;
      const float a = load_any<float>(o.a.format, o.a.data, offset_of(o.a, at));
      if (o.term <= NarrowTerm::square) return narrow_term(o.term, a, 0.0f);
      return narrow_term(o.term, a, load_any<float>(o.b.format, o.b.data, offset_of(o.b, at)));
    });
    if (thread_index() != 0) continue;
    float result = sum;
    if (o.result == NarrowResult::mean) result = narrow_mean(setup.arithmetic, sum, length);
    if (o.result == NarrowResult::root) result = rounded_to(setup.arithmetic.accumulate, math::sqrt(sum));
    if (o.to != nullptr) {
      o.to[s] = result;
    } else {
      write_element(o.write, s, result);
    }
  }
}

}  // namespace

void launch_narrow_sums(const Launch& l, const NarrowSums& sums, DeviceInner* inner) {
  launch_team(narrow_kernel, blocks_for(sums.sums), team_threads, NarrowBlockTeam::scratch_bytes, l.stream, sums,
              NarrowBlockTeam::Setup{l.arithmetic, inner});
}

void run_narrow_sums(const Launch& l, NarrowSums sums, const View& y, const CountUnits& units) {
  DeviceInner* inner = begin_inner(l, l.workspace);
  Observation<float> observation(l);
  sums.write = observation.result(0, y);
  launch_narrow_sums(l, sums, inner);
  observation.count(0, units);
  finish_inner(l, inner);
}

}  // namespace ulpscope::cuda
