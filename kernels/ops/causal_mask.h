// The causal mask on attention scores.
#pragma once

#include <cstdint>

#include "kernels/portable.h"

namespace ulpscope {

/// One row of scores [.., Tq, Tk]: query q of `queries` sees the keys up to q + keys - queries; beyond, y is `value`.
template <class T, class Team>
ULPSCOPE_BODY void causal_mask_row(const Team& team, const T* x, T* y, std::int64_t query, std::int64_t queries,
                                   std::int64_t keys, T value) {
  const std::int64_t last = query + keys - queries;
  team.each(keys, [=](std::int64_t key) { y[key] = key > last ? value : x[key]; });
}

}  // namespace ulpscope
