#include "kernels/cuda/gradient_list.h"

#include "kernels/cuda/block_team.h"
#include "kernels/cuda/lost_updates.h"
#include "kernels/math/elementary.h"
#include "kernels/math/reduction_tree.h"
#include "kernels/ops/reductions.h"
#include "kernels/ops/unscale.h"

namespace ulpscope::cuda {
namespace {

template <class T>
constexpr Format compute = sizeof(T) == sizeof(float) ? Format::fp32 : Format::fp64;

/// Limits by tensor would make the list longer: by format.
template <class T>
struct Limits {
  T fp32, tf32, fp16, bf16, e4m3, e5m2, fp64;
  ULPSCOPE_DEVICE_MEMBER T of(Format format) const {
    switch (format) {
      case Format::tf32:
        return tf32;
      case Format::fp16:
        return fp16;
      case Format::bf16:
        return bf16;
      case Format::fp8_e4m3:
        return e4m3;
      case Format::fp8_e5m2:
        return e5m2;
      case Format::fp64:
        return fp64;
      default:
        return fp32;
    }
  }
};
template <class T>
Limits<T> limits() {
  const auto of = [](Format format) { return static_cast<T>(info(format).overflow_threshold); };
  return {of(Format::fp32), of(Format::tf32), of(Format::fp16), of(Format::bf16), of(Format::fp8_e4m3), of(Format::fp8_e5m2), of(Format::fp64)};
}

template <class T>
ULPSCOPE_DEVICE T read_flat(Format format, const void* data, std::int64_t i) {
  if (format == Format::fp32) return static_cast<T>(static_cast<const float*>(data)[i]);
  if (format == Format::bf16) return static_cast<T>(bf16_to_float(static_cast<const std::uint16_t*>(data)[i]));
  if (format == Format::fp16) return static_cast<T>(fp16_to_float(static_cast<const std::uint16_t*>(data)[i]));
  return load_any<T>(format, data, i);
}
template <class T>
ULPSCOPE_DEVICE void put_flat(Format format, void* data, std::int64_t i, T value) {
  if (format == Format::fp32) {
    static_cast<float*>(data)[i] = static_cast<float>(value);
    return;
  }
  store_any(format, data, i, value);
}

/// The item that a chunk of the list is of.
ULPSCOPE_DEVICE int item_of(const GradientList& list, std::int64_t chunk) {
  int low = 0, high = list.count - 1;   // the last one that does not begin behind it; empty items begin where the next one does
  while (low < high) {
    const int middle = (low + high + 1) / 2;
    if (list.item[middle].first_chunk <= chunk)
      low = middle;
    else
      high = middle - 1;
  }
  return low;
}

/// partial: null, or where the chunks' sums of squares go.
template <class T>
ULPSCOPE_KERNEL void list_kernel(GradientList list, Limits<T> limits, T* partial) {
  ULPSCOPE_SHARED T scratch[team_threads];
  const BlockTeam<team_threads> team{scratch};
  const T inverse_scale = list.unscales ? static_cast<T>(list.state->inverse_scale) : T(1);
  bool bad = false;
  for (std::int64_t c = block_index(); c < list.chunks; c += grid_blocks()) {
    const ListedGradient& item = list.item[item_of(list, c)];
    const std::int64_t chunk = c - item.first_chunk, begin = chunk * math::tree_chunk;
    const UnscaleBody<T> body{inverse_scale, limits.of(item.out_format)};
    const bool unscales = list.unscales, writes = unscales && !(item.in_place && inverse_scale == T(1));
    const bool exact = !unscales || item.out_format == compute<T>;
    const auto square = [&](std::int64_t i) {
      T x = read_flat<T>(item.format, item.g, begin + i);
      if (unscales) {
        x = body(x);
        bad = bad || !body.finite(x);
        if (writes) put_flat(item.out_format, item.out, begin + i, x);
      }
      return SquareTerm<T>{}(exact ? x : rounded_to_storage(item.out_format, x));
    };
    const std::int64_t length = math::tree_chunk_length(item.elements, chunk);
    if (partial == nullptr) {
      for (std::int64_t i = thread_index(); i < length; i += team_threads) square(i);
      continue;
    }
    const T sum = team.template sum<T>(length, square);
    if (thread_index() == 0) partial[c] = sum;
  }
  if (bad) list.state->finite = 0;
}

/// A block for each tensor.
template <class T>
ULPSCOPE_KERNEL void norm_kernel(GradientList list, const T* partial, T* norms) {
  ULPSCOPE_SHARED T scratch[team_threads];
  for (std::int64_t i = block_index(); i < list.count; i += grid_blocks()) {
    const ListedGradient& item = list.item[i];
    const T* own = partial + item.first_chunk;
    const T sum = BlockTeam<team_threads>{scratch}.template sum<T>(math::tree_chunks(item.elements), [=](std::int64_t c) { return own[c]; });
    if (thread_index() == 0) norms[item.number] = math::sqrt(sum);
  }
}

}  // namespace

template <class T>
GradientLists<T>::GradientLists(const Launch& launch, bool unscales, T* norms, T* partial) : launch_(launch), norms_(norms), partial_(partial) {
  list_.state = launch.state;
  list_.unscales = unscales;
}

template <class T>
void GradientLists<T>::add(int number, const View& g, const View* out) {
  if (list_.count == most_listed) flush();
  ListedGradient& item = list_.item[list_.count++];
  item = {};
  item.g = g.data;
  item.elements = g.elements;
  item.first_chunk = list_.chunks;
  item.format = item.out_format = g.format;
  item.number = number;
  if (out != nullptr) {
    item.out = out->data;
    item.out_format = out->format;
    item.in_place = g.data == out->data && out->format == compute<T>;
  }
  list_.chunks += math::tree_chunks(g.elements);
}

template <class T>
void GradientLists<T>::flush() {
  if (list_.count == 0) return;
  const Launch& l = launch_;
  launch_team(list_kernel<T>, blocks_for(list_.chunks), team_threads, 0, l.stream, list_, limits<T>(), partial_);
  if (norms_ != nullptr) launch_team(norm_kernel<T>, list_.count, team_threads, 0, l.stream, list_, partial_, norms_);
  list_.count = 0;
  list_.chunks = 0;
}

template class GradientLists<float>;
template class GradientLists<double>;

}  // namespace ulpscope::cuda
