#include "kernels/cuda/attention_rows.h"

#include "kernels/cuda/block_team.h"
#include "kernels/cuda/multiply.h"
#include "kernels/cuda/read.h"
#include "kernels/ops/dropout.h"
#include "kernels/ops/softmax.h"

namespace ulpscope::cuda {
namespace {

constexpr std::size_t block_memory_bytes = std::size_t{48} << 10;   ///< that every GPU gives a block without being asked
constexpr std::int64_t short_row = 1024;                            ///< keys that 32 threads are enough for

/// What the format makes of a number.
template <class T>
ULPSCOPE_OUTLINE T seen_as(Format format, T x) {
  switch (format) {
    case Format::fp32:
      return static_cast<T>(Storage<Format::fp32>::round(x));
    case Format::tf32:
      return static_cast<T>(Storage<Format::tf32>::round(x));
    case Format::fp16:
      return static_cast<T>(Storage<Format::fp16>::widen(Storage<Format::fp16>::round(x)));
    case Format::bf16:
      return static_cast<T>(Storage<Format::bf16>::widen(Storage<Format::bf16>::round(x)));
    case Format::fp8_e4m3:
      return static_cast<T>(Storage<Format::fp8_e4m3>::widen(Storage<Format::fp8_e4m3>::round(x)));
    case Format::fp8_e5m2:
      return static_cast<T>(Storage<Format::fp8_e5m2>::widen(Storage<Format::fp8_e5m2>::round(x)));
    default:
      return x;
  }
}

template <class T>
ULPSCOPE_DEVICE T stored_as(const AttentionFormats& f, Format format, T x) {
  return format != f.compute ? seen_as(format, x) : x;
}

/// A stored probability becomes an operand of a product: through dropout, stored again, as the multiplier sees it.
template <class T>
ULPSCOPE_DEVICE void write_operand(const AttentionRowsWork& w, const DropoutStream<T>& stream, std::int64_t at, T probability) {
  T x = probability;
  if (w.dropout.rate > 0.0f) x = stored_as(w.formats, w.formats.probs, x * dropout_factor_at(stream, w.first + at));
  store_any(w.formats.operand, w.probs, at, x);
}

template <class T>
ULPSCOPE_DEVICE DropoutStream<T> stream_of(const AttentionRowsWork& w) {
  return w.dropout.rate > 0.0f ? dropout_stream<T>(w.dropout, *w.state) : DropoutStream<T>{};
}

/// in_memory: a row is kept in the block's memory, behind the team's; else where it lies.
template <class T, class Team>
ULPSCOPE_KERNEL void softmax_kernel(AttentionRowsWork w, bool in_memory) {
  unsigned char* memory = static_cast<unsigned char*>(block_memory());
  const Team team{memory};
  const DropoutStream<T> stream = stream_of<T>(w);
  const T scale = static_cast<T>(w.scale), hidden = static_cast<T>(-__builtin_huge_val());
  for (std::int64_t r = block_index(); r < w.rows; r += grid_blocks()) {
    const std::int64_t begin = r * w.keys, last = divided(r, w.queries).rest + w.keys - w.queries;
    const std::int64_t seen = !w.causal || last >= w.keys ? w.keys : last < 0 ? 0 : last + 1;
    const T* scores = static_cast<const T*>(w.scores) + begin;
    T* row = in_memory ? reinterpret_cast<T*>(memory + Team::scratch_bytes) : static_cast<T*>(w.scores) + begin;
    team.each(seen, [&](std::int64_t i) { row[i] = w.visible != nullptr && w.visible[i] == 0 ? hidden : scores[i] * scale; });
    // Hidden keys weigh exactly 0, and zeros at the end of a row change no bit of a sum along the tree.
    softmax_row<T>(team, static_cast<const T*>(row), row, seen);
    const T rest = seen == 0 ? static_cast<T>(__builtin_nan("")) : T(0);
    team.each(w.keys, [&](std::int64_t i) {
      const T p = i < seen ? row[i] : rest;
      if (w.stored.view.data != nullptr) write_element(w.stored, begin + i, p);
      write_operand(w, stream, begin + i, stored_as(w.formats, w.formats.probs, p));
    });
  }
}

template <class T, class Team>
ULPSCOPE_KERNEL void softmax_backward_kernel(AttentionRowsWork w, bool in_memory) {
  unsigned char* memory = static_cast<unsigned char*>(block_memory());
  const Team team{memory};
  const DropoutStream<T> stream = stream_of<T>(w);
  const T scale = static_cast<T>(w.scale);
  for (std::int64_t r = block_index(); r < w.rows; r += grid_blocks()) {
    const std::int64_t begin = r * w.keys;
    const T* gradients = static_cast<const T*>(w.scores) + begin;
    T* probs = in_memory ? reinterpret_cast<T*>(memory + Team::scratch_bytes) : static_cast<T*>(w.spare) + begin;
    T* row = in_memory ? probs + w.keys : static_cast<T*>(w.scores) + begin;
    team.each(w.keys, [&](std::int64_t i) {
      probs[i] = read_element<T>(w.stored.view, begin + i);
      row[i] = w.dropout.rate > 0.0f ? gradients[i] * dropout_factor_at(stream, w.first + begin + i) : gradients[i];
    });
    softmax_backward_row<T>(team, static_cast<const T*>(probs), static_cast<const T*>(row), row, w.keys);
    team.each(w.keys, [&](std::int64_t i) {
      store_any(w.formats.operand, w.dscores, begin + i, stored_as(w.formats, w.formats.gradient, row[i] * scale));
      write_operand(w, stream, begin + i, probs[i]);
    });
  }
}

/// rows: kept in the block's memory.
template <class T>
std::size_t memory_of(std::size_t team, int rows, std::int64_t keys) {
  return team + static_cast<std::size_t>(rows * keys) * sizeof(T);
}

template <class T, int threads>
void run(void (*kernel)(AttentionRowsWork, bool), const AttentionRowsWork& w, bool in_memory, int rows, void* stream) {
  const std::size_t shared = memory_of<T>(BlockTeam<threads>::scratch_bytes, in_memory ? rows : 0, w.keys);
  launch_team(kernel, blocks_for(w.rows, threads), threads, shared, stream, w, in_memory);
}

}  // namespace

template <class T>
bool attention_rows_in_memory(std::int64_t keys) {
  return memory_of<T>(BlockTeam<team_threads>::scratch_bytes, 2, keys) <= block_memory_bytes;
}

template <class T>
void attention_softmax(const AttentionRowsWork& w, void* stream) {
  const bool in_memory = memory_of<T>(BlockTeam<team_threads>::scratch_bytes, 1, w.keys) <= block_memory_bytes;
  if (w.keys <= short_row) return run<T, 32>(softmax_kernel<T, BlockTeam<32>>, w, in_memory, 1, stream);
  run<T, team_threads>(softmax_kernel<T, BlockTeam<team_threads>>, w, in_memory, 1, stream);
}

template <class T>
void attention_softmax_backward(const AttentionRowsWork& w, void* stream) {
  const bool in_memory = attention_rows_in_memory<T>(w.keys);
  if (w.keys <= short_row) return run<T, 32>(softmax_backward_kernel<T, BlockTeam<32>>, w, in_memory, 2, stream);
  run<T, team_threads>(softmax_backward_kernel<T, BlockTeam<team_threads>>, w, in_memory, 2, stream);
}

#define ULPSCOPE_INSTANTIATE(T)                                                \
  template bool attention_rows_in_memory<T>(std::int64_t);                     \
  template void attention_softmax<T>(const AttentionRowsWork&, void*);         \
  template void attention_softmax_backward<T>(const AttentionRowsWork&, void*);
ULPSCOPE_INSTANTIATE(float)
ULPSCOPE_INSTANTIATE(double)
#undef ULPSCOPE_INSTANTIATE

}  // namespace ulpscope::cuda
