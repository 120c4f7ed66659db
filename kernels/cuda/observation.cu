#include "kernels/cuda/observation.h"

#include <string>

#include "kernels/error.h"
#include "kernels/math/reduction_tree.h"
#include "kernels/ops/round_and_count.h"

namespace ulpscope::cuda {
namespace {

constexpr int max_shards = 64;   ///< as the CPU cuts a launch (kernels/cpu/team.h)
constexpr std::size_t alignment = 256;

std::size_t aligned(std::size_t bytes) { return (bytes + alignment - 1) / alignment * alignment; }

/// In device memory. Magnitudes as bits of doubles: they order as the numbers do.
struct DeviceCounts {
  std::int64_t nan, positive_infinity, negative_infinity, overflowed, flushed, subnormal, zero;
  std::uint64_t least, greatest, relative;
  std::int64_t histogram[histogram_bins];
};
struct Sums {
  double sum, squares, errors, squared_errors;
};

struct CountedBlocks {
  std::int64_t elements, units, length, blocks_per_unit, block;
  std::int64_t blocks_per_run, run_step, rows;   ///< as CountUnits
};

ULPSCOPE_DEVICE void begin_and_length(const CountedBlocks& c, std::int64_t block, std::int64_t& begin, int& n) {
  const std::int64_t unit = block / c.blocks_per_unit;
  const std::int64_t in_unit = block % c.blocks_per_unit;
  const std::int64_t in_run = in_unit % c.blocks_per_run * c.block;
  std::int64_t left = c.length - in_run;
  if (c.rows == 0) {
    begin = unit * c.length + in_unit / c.blocks_per_run * c.run_step + in_run;
    if (left > c.elements - begin) left = c.elements - begin;
  } else {
    const std::int64_t columns = c.elements / c.rows, column = unit / c.rows * c.length + in_run;
    begin = unit % c.rows * columns + column;
    if (left > columns - column) left = columns - column;
  }
  n = static_cast<int>(left > c.block ? c.block : left);
}

ULPSCOPE_KERNEL void clear_kernel(DeviceCounts* counts) {
  for (int bin = thread_index(); bin < histogram_bins; bin += block_threads()) counts->histogram[bin] = 0;
  if (thread_index() != 0) return;
  counts->nan = counts->positive_infinity = counts->negative_infinity = counts->overflowed = counts->flushed = 0;
  counts->subnormal = counts->zero = 0;
  counts->least = counting::Layout<double>::infinity;
  counts->greatest = counts->relative = 0;
}

template <class T>
ULPSCOPE_DEVICE bool is_finite(T x) {
  return (counting::bits_of(x) & counting::Layout<T>::magnitude) < counting::Layout<T>::infinity;
}

/// What can be counted in any order.
template <class T>
ULPSCOPE_DEVICE void count_patterns(T x, T y, T least_normal, std::uint32_t* bins, DeviceCounts* counts) {
  using L = counting::Layout<T>;
  const auto bits = counting::bits_of(x);
  const auto a = bits & L::magnitude;
  const auto b = counting::bits_of(y) & L::magnitude;
  if (a > L::infinity) atomic_add(&counts->nan, std::int64_t{1});
  if (bits == L::infinity) atomic_add(&counts->positive_infinity, std::int64_t{1});
  if (a == L::infinity && bits != L::infinity) atomic_add(&counts->negative_infinity, std::int64_t{1});
  if (a == 0) atomic_add(&counts->zero, std::int64_t{1});
  if (a < L::infinity && b >= L::infinity) atomic_add(&counts->overflowed, std::int64_t{1});
  if (a != 0 && b == 0) atomic_add(&counts->flushed, std::int64_t{1});
  if (b != 0 && b < counting::bits_of(least_normal)) atomic_add(&counts->subnormal, std::int64_t{1});
  if (bins != nullptr) atomic_add(&bins[counting::bin_of(a)], std::uint32_t{1});
}

/// The greatest and least of a thread's finite magnitudes, in one go.
struct Extent {
  std::uint64_t least = counting::Layout<double>::infinity, greatest = 0;
  template <class T>
  ULPSCOPE_MEMBER void add(T x) {
    if (!is_finite(x)) return;
    const std::uint64_t magnitude = double_bits(static_cast<double>(x)) & counting::Layout<double>::magnitude;
    if (magnitude > greatest) greatest = magnitude;
    if (magnitude != 0 && magnitude < least) least = magnitude;
  }
};

template <class T>
ULPSCOPE_KERNEL void count_kernel(DeviceView after, const T* before, CountedBlocks blocks, T least_normal, DeviceCounts* counts,
                                  Sums* sums) {
  ULPSCOPE_SHARED T x[count_block_elements], y[count_block_elements];
  ULPSCOPE_SHARED std::uint32_t bins[histogram_bins + 1];
  ULPSCOPE_SHARED std::uint32_t changed;
  ULPSCOPE_SHARED counting::LaneSums<T> lanes;
  const int thread = thread_index(), threads = block_threads();
  for (std::int64_t block = block_index(); block < blocks.units * blocks.blocks_per_unit; block += grid_blocks()) {
    std::int64_t begin;
    int n;
    begin_and_length(blocks, block, begin, n);
    for (int bin = thread; bin <= histogram_bins; bin += threads) bins[bin] = 0;
    if (thread == 0) changed = 0;
    block_barrier();
    Extent extent;
    for (int i = thread; i < n; i += threads) {
      x[i] = before[begin + i];
      y[i] = load_element<T>(after, begin + i);
      if (counting::bits_of(x[i]) != counting::bits_of(y[i])) changed = 1;
      count_patterns(x[i], y[i], least_normal, bins, counts);
      extent.add(x[i]);
    }
    if (extent.least != counting::Layout<double>::infinity) atomic_min(&counts->least, extent.least);
    if (extent.greatest != 0) atomic_max(&counts->greatest, extent.greatest);
    block_barrier();
    for (int bin = thread; bin < histogram_bins; bin += threads)
      if (bins[bin] != 0) atomic_add(&counts->histogram[bin], static_cast<std::int64_t>(bins[bin]));
    if (thread < counting::sum_lanes) {
      lanes.sum[thread] = lanes.squares[thread] = lanes.errors[thread] = lanes.squared_errors[thread] = 0.0;
      lanes.relative[thread] = T(0);
      // Where rounding changed nothing the errors are exact zeros, as if they had not been added.
      for (int i = thread; i < n; i += counting::sum_lanes) counting::add_lane(x[i], changed != 0 ? y[i] : x[i], lanes, thread);
      if (lanes.relative[thread] > T(0)) atomic_max(&counts->relative, double_bits(static_cast<double>(lanes.relative[thread])));
    }
    block_barrier();
    if (thread == 0)
      sums[block] = {counting::fold(lanes.sum), counting::fold(lanes.squares), counting::fold(lanes.errors),
                     counting::fold(lanes.squared_errors)};
    block_barrier();
  }
}

template <class T>
ULPSCOPE_KERNEL void range_kernel(const T* before, std::int64_t n, T limit, DeviceCounts* counts) {
  Extent extent;
  for (std::int64_t i = global_thread(); i < n; i += global_threads()) {
    using L = counting::Layout<T>;
    const auto bits = counting::bits_of(before[i]);
    const auto a = bits & L::magnitude;
    if (a > L::infinity) atomic_add(&counts->nan, std::int64_t{1});
    if (bits == L::infinity) atomic_add(&counts->positive_infinity, std::int64_t{1});
    if (a == L::infinity && bits != L::infinity) atomic_add(&counts->negative_infinity, std::int64_t{1});
    if (a < L::infinity && a >= counting::bits_of(limit)) atomic_add(&counts->overflowed, std::int64_t{1});
    extent.add(before[i]);
  }
  if (extent.greatest != 0) atomic_max(&counts->greatest, extent.greatest);
}

/// The sums of a shard, in the order of its blocks: one thread for each shard.
ULPSCOPE_KERNEL void shard_kernel(const Sums* sums, std::int64_t pieces, std::int64_t blocks_per_piece, int shards, Sums* result) {
  const int s = static_cast<int>(global_thread());
  if (s >= shards) return;
  Sums total = {0.0, 0.0, 0.0, 0.0};
  const std::int64_t first = pieces * s / shards * blocks_per_piece;
  const std::int64_t last = pieces * (s + 1) / shards * blocks_per_piece;
  for (std::int64_t b = first; b < last; ++b) {
    total.sum += sums[b].sum;
    total.squares += sums[b].squares;
    total.errors += sums[b].errors;
    total.squared_errors += sums[b].squared_errors;
  }
  result[s] = total;
}

CountedBlocks counted_blocks(std::int64_t elements, const CountUnits& u) {
  const std::int64_t blocks = (u.length + u.block - 1) / u.block, per_run = blocks < 1 ? 1 : blocks;
  return {elements, u.units, u.length, per_run * u.runs, u.block, per_run, u.run_step, u.rows};
}

/// Behind the values before rounding lie the counts, the sums of the shards and those of the blocks; as many blocks as there can be: units may
/// be longer than the tensor, as chunks of the reduction tree are.
template <class T>
std::size_t sums_offset(std::int64_t elements) {
  return aligned(static_cast<std::size_t>(elements) * sizeof(T));
}
template <class T>
std::size_t observed_bytes(std::int64_t elements) {
  return sums_offset<T>(elements) + aligned(sizeof(DeviceCounts)) + aligned(max_shards * sizeof(Sums)) +
         aligned(static_cast<std::size_t>(elements + math::tree_chunk / count_block_elements) * sizeof(Sums));
}

void add(RoundingCounts& to, const DeviceCounts& from, std::int64_t elements) {
  RoundingCounts c;
  c.range_only = to.range_only;
  c.elements = elements;
  c.nan = from.nan;
  c.positive_infinity = from.positive_infinity;
  c.negative_infinity = from.negative_infinity;
  c.overflowed = from.overflowed;
  c.greatest_magnitude = double_from_bits(from.greatest);
  if (!c.range_only) {
    c.flushed = from.flushed;
    c.subnormal = from.subnormal;
    c.zero = from.zero;
    c.least_magnitude = from.least == counting::Layout<double>::infinity ? 0.0 : double_from_bits(from.least);
    c.greatest_relative_error = double_from_bits(from.relative);
    for (int bin = 0; bin < histogram_bins; ++bin) c.histogram[bin] = from.histogram[bin];
  }
  merge_counts(to, c);
}

}  // namespace

CountUnits count_tiles(std::int64_t elements) {
  return {(elements + count_block_elements - 1) / count_block_elements, count_block_elements};
}
CountUnits count_rows(std::int64_t rows, std::int64_t length) { return {rows, length}; }
CountUnits count_single_elements(std::int64_t rows, std::int64_t length) { return {rows, length, 1}; }
CountUnits count_pieces(std::int64_t rows, std::int64_t length) { return {rows, length, count_block_elements, true}; }
CountUnits count_channels(std::int64_t samples, std::int64_t channels, std::int64_t length) {
  return {channels, length, count_block_elements, false, samples, channels * length, 0};
}
CountUnits count_columns(std::int64_t rows, std::int64_t columns, std::int64_t piece) {
  return {(columns + piece - 1) / piece * rows, piece, count_block_elements, false, 1, 0, rows};
}

template <class T>
Observation<T>::Observation(const Launch& launch) : launch_(launch) {
  if (launch.counts == nullptr) return;
  results_.resize(static_cast<std::size_t>(launch.out_count));
  offset_.resize(static_cast<std::size_t>(launch.out_count));
  for (int o = 0; o < launch.out_count; ++o) {
    if (launch.counts[o] == nullptr) continue;
    offset_[static_cast<std::size_t>(o)] = bytes_;
    bytes_ += observed_bytes<T>(launch.out[o].elements());
  }
  if (bytes_ != 0) memory_ = observation_memory(launch.stream, bytes_);
}

template <class T>
Result Observation<T>::result(int output, const View& view) {
  Result r;
  r.view = DeviceView(view);
  if (launch_.counts == nullptr || launch_.counts[output] == nullptr) return r;
  r.before = static_cast<unsigned char*>(memory_) + offset_[static_cast<std::size_t>(output)];
  return results_[static_cast<std::size_t>(output)] = r;
}

template <class T>
void Observation<T>::count(int output, const CountUnits& u) {
  if (launch_.counts == nullptr || launch_.counts[output] == nullptr) return;
  RoundingCounts& counts = *launch_.counts[output];
  const Result& r = results_[static_cast<std::size_t>(output)];
  const std::int64_t elements = r.view.elements;
  if (elements == 0) return;
  const T* before = static_cast<const T*>(r.before);
  unsigned char* place = static_cast<unsigned char*>(r.before) + sums_offset<T>(elements);
  DeviceCounts* device = reinterpret_cast<DeviceCounts*>(place);
  launch(clear_kernel, 1, team_threads, launch_.stream, device);
  DeviceCounts host;
  if (counts.range_only) {
    const T limit = static_cast<T>(info(r.view.format).overflow_threshold);
    launch(range_kernel<T>, blocks_for((elements + team_threads - 1) / team_threads), team_threads, launch_.stream, before, elements,
           limit, device);
    copy_to_host(&host, device, sizeof host, launch_.stream);
    return add(counts, host, elements);
  }
  Sums* shard_sums = reinterpret_cast<Sums*>(place + aligned(sizeof(DeviceCounts)));
  Sums* block_sums = reinterpret_cast<Sums*>(place + aligned(sizeof(DeviceCounts)) + aligned(max_shards * sizeof(Sums)));
  const CountedBlocks blocks = counted_blocks(elements, u);
  const std::int64_t pieces = u.split ? blocks.units * blocks.blocks_per_unit : blocks.units;
  const int shards = static_cast<int>(pieces < max_shards ? pieces : max_shards);
  const std::int64_t longest = u.length < u.block ? u.length : u.block;
  launch_team(count_kernel<T>, blocks_for(blocks.units * blocks.blocks_per_unit), longest <= 64 ? 32 : team_threads, 0, launch_.stream, r.view, before,
              blocks, static_cast<T>(info(r.view.format).min_normal), device, block_sums);
  launch(shard_kernel, 1, max_shards, launch_.stream, block_sums, pieces,
         u.split ? std::int64_t{1} : blocks.blocks_per_unit, shards, shard_sums);
  Sums sums[max_shards];
  copy_to_host(&host, device, sizeof host, launch_.stream);
  copy_to_host(sums, shard_sums, static_cast<std::size_t>(shards) * sizeof(Sums), launch_.stream);
  add(counts, host, elements);
  for (int s = 0; s < shards; ++s) {
    counts.sum += sums[s].sum;
    counts.sum_of_squares += sums[s].squares;
    counts.sum_of_errors += sums[s].errors;
    counts.sum_of_squared_errors += sums[s].squared_errors;
  }
}

template class Observation<float>;
template class Observation<double>;

}  // namespace ulpscope::cuda
