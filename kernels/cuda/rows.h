// The driver of row-wise kernels: a block takes a row at a time, grid-stride; the row is widened into the block's memory, a body
// runs over it, the result is rounded out. Rows that do not fit are worked on where they lie if they are of the compute type,
// else in workspace rows of the block.
#pragma once

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/block_team.h"
#include "kernels/cuda/narrow_team.h"
#include "kernels/cuda/observation.h"
#include "kernels/cuda/register.h"

namespace ulpscope::cuda {

inline constexpr int max_row_reads = 2;
inline constexpr int max_row_vectors = 2;

/// A row of a body. in and out may be equal pointers.
template <class T>
struct RowArgs {
  std::int64_t row, n;
  const T* in[max_row_reads];
  const T* vector[max_row_vectors];   ///< the same for every row
  T* out;
};
// A body:  static constexpr int reads, vectors; static constexpr bool writes;
//          static constexpr bool once;   every element is read once and written once, by the same thread
//          template <class Team> ULPSCOPE_DEVICE_MEMBER void operator()(const Team&, const RowArgs<T>&) const

/// Where the elements of a row are for the body.
enum class RowPlace : std::uint8_t {
  staged,   ///< in the block's memory or workspace
  own,      ///< where the operand lies: it is flat and of the compute type
  before,   ///< of an output: in the observation's memory
};
struct RowOperands {
  DeviceView read[max_row_reads], vector[max_row_vectors];
  Result write;
  RowPlace read_place[max_row_reads] = {}, vector_place[max_row_vectors] = {}, write_place = RowPlace::staged;
  std::int64_t rows = 0, length = 0;
  std::int64_t pitch = 0;       ///< elements from one staged row to the next
  void* workspace = nullptr;    ///< staged rows of each block; null: they are in the block's memory
  std::int64_t staged = 0;      ///< rows of each block in the workspace
};

template <class T>
constexpr Format compute_format() {
  return sizeof(T) == sizeof(float) ? Format::fp32 : Format::fp64;
}
template <class T>
bool lies_ready(const View& view) {
  return view.flat && view.format == compute_format<T>();
}

inline std::int64_t padded(std::int64_t elements) { return (elements + 15) / 16 * 16; }

inline constexpr std::size_t block_memory_bytes = std::size_t{48} << 10;
inline constexpr std::int64_t short_row = 1024;   ///< up to here a row is one warp's
/// Blocks that are given workspace rows: they fill a large device twice.
inline constexpr std::int64_t most_workspace_blocks = 264;

/// How a launch with such rows is carried out. in_memory: all staged rows are in the block's memory.
struct RowPlan {
  bool in_memory = true;
  std::int64_t staged = 0, pitch = 0, blocks = 0;
  std::size_t shared = 0, workspace = 0;
};
/// Before scratch has been added. all: operands that could be staged; needed: those that do not lie ready.
template <class T>
RowPlan plan_rows(std::int64_t rows, std::int64_t length, int all, int needed, std::size_t scratch) {
  RowPlan plan;
  plan.pitch = padded(length);
  const std::size_t row_bytes = static_cast<std::size_t>(plan.pitch) * sizeof(T);
  plan.in_memory = scratch + static_cast<std::size_t>(all) * row_bytes <= block_memory_bytes;
  plan.blocks = blocks_for(rows);
  plan.shared = plan.in_memory ? scratch + static_cast<std::size_t>(all) * row_bytes : scratch;
  plan.staged = plan.in_memory ? all : needed;
  if (plan.in_memory || needed == 0) return plan;
  if (plan.blocks > most_workspace_blocks) plan.blocks = most_workspace_blocks;
  plan.workspace = static_cast<std::size_t>(plan.blocks * needed) * row_bytes;
  return plan;
}

/// Elements of a flat view, widened, or rounded from `values`, by all threads of the block. Out of line: once for each format.
template <class T>
ULPSCOPE_OUTLINE void load_flat_row(Format format, const char* data, std::int64_t begin, std::int64_t n, T* to) {
  const std::int64_t first = thread_index();
  const int step = block_threads();
  switch (format) {
    case Format::fp32:
      for (std::int64_t i = first; i < n; i += step) to[i] = load_at<T>(Format::fp32, data, begin + i);
      return;
    case Format::fp16:
      for (std::int64_t i = first; i < n; i += step) to[i] = load_at<T>(Format::fp16, data, begin + i);
      return;
    case Format::bf16:
      for (std::int64_t i = first; i < n; i += step) to[i] = load_at<T>(Format::bf16, data, begin + i);
      return;
    default:
      for (std::int64_t i = first; i < n; i += step) to[i] = load_any<T>(format, data, begin + i);
  }
}
template <class T>
ULPSCOPE_OUTLINE void store_flat_row(Format format, char* data, std::int64_t begin, std::int64_t n, const T* values) {
  const std::int64_t first = thread_index();
  const int step = block_threads();
  switch (format) {
    case Format::fp32:
      for (std::int64_t i = first; i < n; i += step) store_at<T>(Format::fp32, data, begin + i, values[i]);
      return;
    case Format::fp16:
      for (std::int64_t i = first; i < n; i += step) store_at<T>(Format::fp16, data, begin + i, values[i]);
      return;
    case Format::bf16:
      for (std::int64_t i = first; i < n; i += step) store_at<T>(Format::bf16, data, begin + i, values[i]);
      return;
    default:
      for (std::int64_t i = first; i < n; i += step) store_any<T>(format, data, begin + i, values[i]);
  }
}

template <class T>
ULPSCOPE_DEVICE void load_row(const DeviceView& v, std::int64_t begin, std::int64_t n, T* to) {
  if (v.flat) return load_flat_row<T>(v.format, v.data, begin, n, to);
  for (std::int64_t i = thread_index(); i < n; i += block_threads()) to[i] = load_any<T>(v.format, v.data, offset_of(v, begin + i));
}
template <class T>
ULPSCOPE_DEVICE void store_row(const Result& r, std::int64_t begin, std::int64_t n, const T* values) {
  T* before = static_cast<T*>(r.before);
  if (before != nullptr && before + begin != values)
    for (std::int64_t i = thread_index(); i < n; i += block_threads()) before[begin + i] = values[i];
  if (r.view.flat) return store_flat_row<T>(r.view.format, r.view.data, begin, n, values);
  for (std::int64_t i = thread_index(); i < n; i += block_threads())
    store_any<T>(r.view.format, r.view.data, offset_of(r.view, begin + i), values[i]);
}

template <class T, class Team, class Body>
ULPSCOPE_KERNEL void row_kernel(RowOperands o, Body body, typename Team::Setup setup) {
  unsigned char* memory = static_cast<unsigned char*>(block_memory());
  const Team team = Team::make(memory, setup);
  T* staged = reinterpret_cast<T*>(memory + Team::scratch_bytes);
  if (o.workspace != nullptr) staged = static_cast<T*>(o.workspace) + block_index() * o.staged * o.pitch;
  RowArgs<T> args = {};
  args.n = o.length;
  ULPSCOPE_UNROLL
  for (int v = 0; v < Body::vectors; ++v) {
    args.vector[v] = reinterpret_cast<const T*>(o.vector[v].data);
    if (o.vector_place[v] == RowPlace::own) continue;
    load_row(o.vector[v], 0, o.length, staged);
    args.vector[v] = staged;
    staged += o.pitch;
  }
  for (std::int64_t row = block_index(); row < o.rows; row += grid_blocks()) {
    const std::int64_t begin = row * o.length;
    T* place = staged;
    args.row = row;
    ULPSCOPE_UNROLL
    for (int r = 0; r < Body::reads; ++r) {
      args.in[r] = reinterpret_cast<const T*>(o.read[r].data) + begin;
      if (o.read_place[r] == RowPlace::own) continue;
      load_row(o.read[r], begin, o.length, place);
      args.in[r] = place;
      place += o.pitch;
    }
    if constexpr (Body::writes) {
      if (o.write_place == RowPlace::own) place = reinterpret_cast<T*>(o.write.view.data) + begin;
      if (o.write_place == RowPlace::before) place = static_cast<T*>(o.write.before) + begin;
      args.out = place;
    }
    block_barrier();
    body(team, args);
    block_barrier();
    if constexpr (Body::writes) {
      if (o.write_place == RowPlace::own) continue;
      // No barrier behind it: what a thread reads here, it alone will overwrite.
      store_row(o.write, begin, o.length, static_cast<const T*>(args.out));
    }
  }
}

/// The operands of a launch, and what becomes of them. reads and vectors: positions of inputs.
template <class T, class Body>
struct RowLaunch {
  const char* operation;
  const Launch& launch;
  RowOperands operands;
  int needed = 0;

  /// shape: of the operands that have rows, the first output's, or the first input's where none has.
  RowLaunch(const char* name, const Launch& l, const Shape& shape, const int (&reads)[max_row_reads],
            const int (&vectors)[max_row_vectors])
      : operation(name), launch(l) {
    const RowShape rows = row_shape(operation, shape);
    operands.rows = rows.rows;
    operands.length = rows.length;
    if (rows.length > longest_team_run) fail(operation, "rows of more than 2^28 elements");
    for (int r = 0; r < Body::reads; ++r) operands.read[r] = DeviceView(broadcast_view(operation, l.in[reads[r]], shape));
    for (int v = 0; v < Body::vectors; ++v)
      operands.vector[v] = DeviceView(vector_view(operation, l.in[vectors[v]], rows.length));
    for (int r = 0; r < Body::reads; ++r) needed += lies_ready<T>(operands.read[r]) ? 0 : 1;
    for (int v = 0; v < Body::vectors; ++v) needed += lies_ready<T>(operands.vector[v]) ? 0 : 1;
    if (Body::writes) needed += lies_ready<T>(view_of(l.out[0])) ? 0 : 1;
  }

  static constexpr int all = Body::reads + Body::vectors + (Body::writes ? 1 : 0);
  RowPlan plan(std::size_t scratch) const { return plan_rows<T>(operands.rows, operands.length, all, needed, scratch); }
  /// For any team.
  std::size_t workspace_bytes() const {
    const std::size_t plain = plan(BlockTeam<team_threads>::scratch_bytes).workspace, narrow = plan(NarrowBlockTeam::scratch_bytes).workspace;
    return plain > narrow ? plain : narrow;
  }

  /// workspace: workspace_bytes. write: the first output, if rows are written.
  void run(const Body& body, const Result& write, void* workspace) {
    // A block of one warp has an eighth of the scratch: the plan of the larger one holds for both.
    if (operands.length <= short_row) return run_team<BlockTeam<32>>(body, write, workspace, {});
    run_team<BlockTeam<team_threads>>(body, write, workspace, {});
  }
  void run_narrow(const Body& body, const Result& write, void* workspace, DeviceInner* inner) {
    if constexpr (sizeof(T) == sizeof(float))
      run_team<NarrowBlockTeam>(body, write, workspace, NarrowBlockTeam::Setup{launch.arithmetic, inner});
  }

 private:
  template <class Team>
  void run_team(const Body& body, const Result& write, void* workspace, const typename Team::Setup& setup) {
    const RowPlan p = plan(Team::scratch_bytes);
    if (p.workspace != 0 && workspace == nullptr) fail(operation, "no workspace");
    RowOperands o = operands;
    o.write = write;
    o.pitch = p.pitch;
    o.staged = p.staged;
    o.workspace = p.in_memory ? nullptr : workspace;
    const bool in_place = Body::once || !p.in_memory;
    for (int r = 0; r < Body::reads; ++r)
      if (in_place && lies_ready<T>(o.read[r])) o.read_place[r] = RowPlace::own;
    for (int v = 0; v < Body::vectors; ++v)
      if (lies_ready<T>(o.vector[v])) o.vector_place[v] = RowPlace::own;
    if (Body::writes && write.before != nullptr) {
      if (!p.in_memory) o.write_place = RowPlace::before;
    } else if (Body::writes && in_place && lies_ready<T>(write.view)) {
      o.write_place = RowPlace::own;
    }
    // Without a workspace no block has one of its own.
    const std::int64_t blocks = p.workspace == 0 ? blocks_for(operands.rows, Team::size) : p.blocks;
    launch_team(row_kernel<T, Team, Body>, blocks, Team::size, p.shared, launch.stream, o, body, setup);
  }
};

}  // namespace ulpscope::cuda
