// Embedding: rows of a table by index, and the gradient of the table.
#pragma once

#include <cstdint>

#include "kernels/portable.h"

namespace ulpscope {

/// Sorts the positions 0 … n-1 by their index, stably, so that each row of the table finds the positions it got its
/// gradient from in ascending order. start: rows + 1 entries; positions of row r are position[start[r] … start[r + 1]).
/// Indices must be in [0, rows).
ULPSCOPE_BODY void sort_positions(const std::int32_t* index, std::int64_t n, std::int64_t rows, std::int64_t* start,
                                  std::int64_t* position) {
  for (std::int64_t r = 0; r <= rows; ++r) start[r] = 0;
  for (std::int64_t i = 0; i < n; ++i) ++start[index[i]];
  std::int64_t before = 0;
  for (std::int64_t r = 0; r <= rows; ++r) {
    const std::int64_t count = start[r];
    start[r] = before;
    before += count;
  }
  for (std::int64_t i = 0; i < n; ++i) position[start[index[i]]++] = i;
  for (std::int64_t r = rows; r > 0; --r) start[r] = start[r - 1];  // each had moved on to the next row's start
  start[0] = 0;
}

}  // namespace ulpscope
