// What is counted of a launch on a GPU. A kernel hands every value of an observed output over twice: rounded, to the output, and
// as it was before, to memory of the observation. A second kernel then compares the two, block by block as
// ops/round_and_count.h does, with the same sums in the same order as on the CPU. The host waits for it: an observed step is a
// slow one.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "kernels/cuda/view.h"
#include "kernels/launch.h"
#include "kernels/ops/rounding_counts.h"

namespace ulpscope::cuda {

/// An output as a kernel writes it.
struct Result {
  DeviceView view;
  void* before = nullptr;   ///< [elements] of the compute type; null: not observed
};

template <class T>
ULPSCOPE_DEVICE void write_element(const Result& r, std::int64_t i, T value) {
  if (r.before != nullptr) static_cast<T*>(r.before)[i] = value;
  store_any(r.view.format, r.view.data, offset_of(r.view, i), value);
}
/// n <= 8 elements of a view that runs; begin is a multiple of eight.
ULPSCOPE_DEVICE void write_run(const Result& r, std::int64_t begin, int n, const float* values) {
  if (r.before != nullptr) {
    ULPSCOPE_UNROLL
    for (int j = 0; j < run_length; ++j)
      if (j < n) static_cast<float*>(r.before)[begin + j] = values[j];
  }
  store_run(r.view, begin, n, values);
}

/// How the elements of an output are cut into what one thread of the CPU would take at a time: its sums are added in this order.
struct CountUnits {
  std::int64_t units = 0;
  std::int64_t length = 0;   ///< elements of a unit; the last one may be shorter
  std::int64_t block = 1024; ///< elements that are counted together: the blocks of a unit
  bool split = false;        ///< threads share out the blocks, not the units
  std::int64_t runs = 1;     ///< a unit is so many runs of `length` elements,
  std::int64_t run_step = 0; ///< which begin so far apart
  std::int64_t rows = 0;     ///< not 0: units are pieces of so many rows, the first piece of every row first
};
/// Tiles of an element-wise result; rows; one number for each row.
CountUnits count_tiles(std::int64_t elements);
CountUnits count_rows(std::int64_t rows, std::int64_t length);
/// Rows whose elements are written one by one; rows whose pieces of 1024 elements are threads' work of their own.
CountUnits count_single_elements(std::int64_t rows, std::int64_t length);
CountUnits count_pieces(std::int64_t rows, std::int64_t length);
/// Channels of [samples, channels, length]; columns of a matrix, so many at a time.
CountUnits count_channels(std::int64_t samples, std::int64_t channels, std::int64_t length);
CountUnits count_columns(std::int64_t rows, std::int64_t columns, std::int64_t piece);

/// Of one launch. Made before its kernels, counted behind them.
template <class T>
class Observation {
 public:
  /// elements: of each output, by position.
  explicit Observation(const Launch& launch);
  /// The output seen as this view, whose elements are those of the output in its order.
  Result result(int output, const View& view);
  /// Adds what rounding did to the launch's counts, if the output is observed.
  void count(int output, const CountUnits& units);

 private:
  const Launch& launch_;
  /// By output; empty if nothing is observed: such a launch allocates nothing.
  std::vector<Result> results_;
  std::vector<std::size_t> offset_;
  std::size_t bytes_ = 0;
  void* memory_ = nullptr;
};

extern template class Observation<float>;
extern template class Observation<double>;

}  // namespace ulpscope::cuda
