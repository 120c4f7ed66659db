// Rows of a table by index, and the gradient of the table. For the gradient the positions are sorted by their index, stably: eight
// bits at a time, so that every thread of a block has one digit, looks at the block's positions in ascending order and moves those
// that have it. No atomics: each row of the table then adds up its positions in ascending order.
#include "kernels/cuda/narrow_sums.h"
#include "kernels/cuda/observation.h"
#include "kernels/cuda/read.h"
#include "kernels/cuda/register.h"

namespace ulpscope::cuda {
namespace {

constexpr int digits = 256;
constexpr int digit_bits = 8;
constexpr int sort_tile = 1024;
constexpr std::int64_t counted_columns = 64;   ///< that the CPU's kernel takes at a time
static_assert(digits == team_threads);

template <class T>
ULPSCOPE_KERNEL void gather_kernel(DeviceView table, const std::int32_t* index, std::int64_t columns, Result y) {
  for (std::int64_t i = global_thread(); i < y.view.elements; i += global_threads()) {
    const Divided place = divided(i, columns);
    put_element(y, i, read_element<T>(table, index[place.quotient] * columns + place.rest));
  }
}

template <class T>
void run_embedding(const Launch& l) {
  const char* operation = "embedding";
  expect_operands(operation, l, 2, 1, 1u << 1);
  const EmbeddingShape shape = embedding_shape(operation, l.in[0], l.in[1], l.out[0]);
  const std::int32_t* index = static_cast<const std::int32_t*>(l.in[1].data);
  Observation<T> observation(l);
  const Result y = observation.result(0, view_of(l.out[0]));
  launch(gather_kernel<T>, blocks_of_threads(y.view.elements), team_threads, l.stream, DeviceView(view_of(l.in[0])), index,
         shape.columns, y);
  observation.count(0, count_rows(shape.positions, shape.columns));
}

/// The positions in the order of one pass, and where they are moved to. tiles: of sort_tile positions.
struct SortPass {
  const std::int32_t* index = nullptr;
  const std::int64_t* from = nullptr;   ///< null: 0, 1, 2 …
  std::int64_t* to = nullptr;
  std::int64_t* counts = nullptr;       ///< [digit][tile]
  std::int64_t positions = 0, tiles = 0;
  int shift = 0;
};

/// The digits of a tile, into the block's memory. Returns how many there are.
ULPSCOPE_DEVICE int load_digits(const SortPass& p, std::int64_t tile, unsigned char* digit) {
  const std::int64_t begin = tile * sort_tile, left = p.positions - begin;
  const int n = left < sort_tile ? static_cast<int>(left) : sort_tile;
  block_barrier();   // the last tile's have been read
  for (int i = thread_index(); i < n; i += team_threads) {
    const std::int64_t position = p.from == nullptr ? begin + i : p.from[begin + i];
    digit[i] = static_cast<unsigned char>(static_cast<std::uint32_t>(p.index[position]) >> p.shift & (digits - 1));
  }
  block_barrier();
  return n;
}

ULPSCOPE_KERNEL void count_digits_kernel(SortPass p) {
  ULPSCOPE_SHARED unsigned char digit[sort_tile];
  for (std::int64_t tile = block_index(); tile < p.tiles; tile += grid_blocks()) {
    const int n = load_digits(p, tile, digit);
    std::int64_t count = 0;
    for (int i = 0; i < n; ++i) count += digit[i] == thread_index() ? 1 : 0;
    p.counts[thread_index() * p.tiles + tile] = count;
  }
}

/// Counts to places: of all smaller digits, then of the same digit in the tiles before. One block.
ULPSCOPE_KERNEL void place_digits_kernel(SortPass p) {
  ULPSCOPE_SHARED std::int64_t total[digits];
  if (block_index() != 0) return;
  std::int64_t* counts = p.counts + thread_index() * p.tiles;
  std::int64_t sum = 0;
  for (std::int64_t tile = 0; tile < p.tiles; ++tile) sum += counts[tile];
  total[thread_index()] = sum;
  block_barrier();
  std::int64_t before = 0;
  for (int d = 0; d < thread_index(); ++d) before += total[d];
  for (std::int64_t tile = 0; tile < p.tiles; ++tile) {
    const std::int64_t count = counts[tile];
    counts[tile] = before;
    before += count;
  }
}

ULPSCOPE_KERNEL void move_positions_kernel(SortPass p) {
  ULPSCOPE_SHARED unsigned char digit[sort_tile];
  for (std::int64_t tile = block_index(); tile < p.tiles; tile += grid_blocks()) {
    const int n = load_digits(p, tile, digit);
    std::int64_t place = p.counts[thread_index() * p.tiles + tile];
    for (int i = 0; i < n; ++i) {
      if (digit[i] != thread_index()) continue;
      const std::int64_t at = tile * sort_tile + i;
      p.to[place++] = p.from == nullptr ? at : p.from[at];
    }
  }
}

/// start[r]: the first of the sorted positions whose index is at least r, for r in [0, rows].
ULPSCOPE_KERNEL void row_starts_kernel(const std::int32_t* index, const std::int64_t* position, std::int64_t positions, std::int64_t rows,
                                       std::int64_t* start) {
  for (std::int64_t r = global_thread(); r <= rows; r += global_threads()) {
    std::int64_t low = 0, high = positions;
    while (low < high) {
      const std::int64_t middle = low + (high - low) / 2;
      if (index[position[middle]] < r) {
        low = middle + 1;
      } else {
        high = middle;
      }
    }
    start[r] = low;
  }
}

// Workspace: what sums lose, where each row of the table starts, the positions twice, the counts of the tiles' digits.
std::int64_t sort_tiles(std::int64_t positions) { return (positions + sort_tile - 1) / sort_tile; }
std::size_t backward_workspace(const Launch& l) {
  const std::int64_t rows = row_count(l.out[0]), positions = row_count(l.in[0]);
  return narrow_workspace + static_cast<std::size_t>(rows + 1 + 2 * positions + digits * sort_tiles(positions)) * sizeof(std::int64_t);
}

/// As sort_positions of ops/embedding.h. Returns the positions; what lies behind `memory` is overwritten.
const std::int64_t* sort_on_device(const Launch& l, const std::int32_t* index, const EmbeddingShape& shape, std::int64_t* start,
                                   std::int64_t* memory) {
  SortPass pass;
  pass.index = index;
  pass.positions = shape.positions;
  pass.tiles = sort_tiles(shape.positions);
  pass.counts = memory + 2 * shape.positions;
  pass.to = memory;
  do {
    launch_team(count_digits_kernel, blocks_for(pass.tiles), team_threads, 0, l.stream, pass);
    launch_team(place_digits_kernel, 1, team_threads, 0, l.stream, pass);
    launch_team(move_positions_kernel, blocks_for(pass.tiles), team_threads, 0, l.stream, pass);
    pass.from = pass.to;
    pass.to = pass.from == memory ? memory + shape.positions : memory;
    pass.shift += digit_bits;
  } while (pass.shift < 32 && (shape.rows - 1) >> pass.shift > 0);
  launch(row_starts_kernel, blocks_of_threads(shape.rows + 1), team_threads, l.stream, index, pass.from, shape.positions, shape.rows, start);
  return pass.from;
}

template <class T>
ULPSCOPE_KERNEL void gradient_kernel(DeviceView dy, const std::int64_t* start, const std::int64_t* position, std::int64_t columns,
                                     Result dtable) {
  for (std::int64_t i = global_thread(); i < dtable.view.elements; i += global_threads()) {
    const Divided place = divided(i, columns);
    T sum = T(0);
    const std::int64_t last = start[place.quotient + 1];
    for (std::int64_t k = start[place.quotient]; k < last; ++k) sum += read_element<T>(dy, position[k] * columns + place.rest);
    put_element(dtable, i, sum);
  }
}

template <class T>
void run_backward(const Launch& l) {
  const char* operation = "embedding_backward";
  expect_operands(operation, l, 2, 1, 1u << 1);
  expect_workspace(operation, l);
  const EmbeddingShape shape = embedding_shape(operation, l.out[0], l.in[1], l.in[0]);
  const DeviceView dy(view_of(l.in[0]));
  const View dtable = view_of(l.out[0]);
  std::int64_t* start = reinterpret_cast<std::int64_t*>(static_cast<unsigned char*>(l.workspace) + narrow_workspace);
  const std::int64_t* position =
      sort_on_device(l, static_cast<const std::int32_t*>(l.in[1].data), shape, start, start + shape.rows + 1);
  const CountUnits units = count_columns(shape.rows, shape.columns, counted_columns);
  if (is_narrow<T>(l)) {
    NarrowSums sums;
    sums.a = dy;
    sums.sums = dtable.elements;
    sums.start = start;
    sums.position = position;
    sums.columns = shape.columns;
    return run_narrow_sums(l, sums, dtable, units);
  }
  Observation<T> observation(l);
  const Result result = observation.result(0, dtable);
  launch(gradient_kernel<T>, blocks_of_threads(dtable.elements), team_threads, l.stream, dy, start, position, shape.columns, result);
  observation.count(0, units);
}

template <class T>
void add_embedding(KernelTable& table, Format compute) {
  table.add("embedding", compute, Kernel{run_embedding<T>});
  table.add("embedding_backward", compute, Kernel{run_backward<T>, backward_workspace});
}

}  // namespace

void register_embedding(KernelTable& table) {
  add_embedding<float>(table, Format::fp32);
  add_embedding<double>(table, Format::fp64);
}

}  // namespace ulpscope::cuda
