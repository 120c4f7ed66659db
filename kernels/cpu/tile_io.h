// Reading and writing runs of elements. Included only by sources that are compiled once per instruction set: everything
// is in an unnamed namespace of theirs.
//
// A run [begin, begin + n) of a view, in row-major order, is widened to the compute type T. If the view is flat and
// already of that type, the caller works on its memory; else the run goes through a buffer on the stack: raw elements
// are gathered run by run of the inner dimension, then converted together, so that short inner dimensions cost little.
#pragma once

#include <cstdint>

#include "kernels/cpu/run.h"
#include "kernels/view.h"
#include "kernels/formats/tile.h"
#include "kernels/ops/round_and_count.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

/// Elements of a tile: what fits the first-level cache several times, and a block of round_and_count.
constexpr int tile_length = count_block_elements;

template <class T>
struct Buffer {
  alignas(64) T value[tile_length];
};

template <class T>
constexpr Format format_of() {
  return sizeof(T) == 4 ? Format::fp32 : Format::fp64;
}

/// Whether a run of the view can be used where it lies.
template <class T>
inline bool direct(const View& view) {
  return view.flat && view.format == format_of<T>();
}

inline int smaller(std::int64_t a, std::int64_t b) { return static_cast<int>(a < b ? a : b); }

/// Calls segment(offset, done, n) for the pieces of [begin, begin + n) that lie in one run of the inner dimension:
/// offset of the first element in memory, elements already done, length.
template <class Segment>
inline void for_segments(const View& v, std::int64_t begin, int n, Segment segment) {
  std::int64_t coordinate[max_rank];
  std::int64_t offset = 0;
  std::int64_t rest = begin;
  for (int axis = v.rank - 1; axis > 0; --axis) {
    coordinate[axis] = rest % v.extent[axis];
    rest /= v.extent[axis];
    offset += coordinate[axis] * v.stride[axis];
  }
  coordinate[0] = rest;
  offset += rest * v.stride[0];
  const int inner = v.rank - 1;
  for (int done = 0; done < n;) {
    const int length = smaller(n - done, v.extent[inner] - coordinate[inner]);
    segment(offset, done, length);
    done += length;
    coordinate[inner] += length;
    offset += length * v.stride[inner];
    for (int axis = inner; axis > 0 && coordinate[axis] == v.extent[axis]; --axis) {
      offset += v.stride[axis - 1] - coordinate[axis] * v.stride[axis];
      coordinate[axis] = 0;
      ++coordinate[axis - 1];
    }
  }
}

/// Elements moved as bits, whatever their type: may_alias, because the memory holds floats and doubles. (Inside structs:
/// an attribute of a template argument is dropped.)
struct Item1 {
  typedef std::uint8_t __attribute__((may_alias)) type;
};
struct Item2 {
  typedef std::uint16_t __attribute__((may_alias)) type;
};
struct Item4 {
  typedef std::uint32_t __attribute__((may_alias)) type;
};
struct Item8 {
  typedef std::uint64_t __attribute__((may_alias)) type;
};

template <class Item>
void gather(const View& v, std::int64_t begin, int n, void* destination) {
  using Raw = typename Item::type;
  const Raw* source = reinterpret_cast<const Raw*>(v.data);
  Raw* raw = static_cast<Raw*>(destination);
  const std::int64_t stride = v.stride[v.rank - 1];
  for_segments(v, begin, n, [=](std::int64_t offset, int done, int length) {
    const Raw* from = source + offset;
    Raw* to = raw + done;
    if (stride == 1) {
      for (int i = 0; i < length; ++i) to[i] = from[i];
    } else {
      for (int i = 0; i < length; ++i) to[i] = from[i * stride];
    }
  });
}

template <class Item>
void scatter(const View& v, std::int64_t begin, int n, const void* source) {
  using Raw = typename Item::type;
  Raw* destination = reinterpret_cast<Raw*>(v.data);
  const Raw* raw = static_cast<const Raw*>(source);
  const std::int64_t stride = v.stride[v.rank - 1];
  for_segments(v, begin, n, [=](std::int64_t offset, int done, int length) {
    Raw* to = destination + offset;
    const Raw* from = raw + done;
    if (stride == 1) {
      for (int i = 0; i < length; ++i) to[i] = from[i];
    } else {
      for (int i = 0; i < length; ++i) to[i * stride] = from[i];
    }
  });
}

inline void gather_items(const View& v, std::int64_t begin, int n, void* raw) {
  switch (v.item) {
    case 1:
      return gather<Item1>(v, begin, n, raw);
    case 2:
      return gather<Item2>(v, begin, n, raw);
    case 4:
      return gather<Item4>(v, begin, n, raw);
    default:
      return gather<Item8>(v, begin, n, raw);
  }
}

inline void scatter_items(const View& v, std::int64_t begin, int n, const void* raw) {
  switch (v.item) {
    case 1:
      return scatter<Item1>(v, begin, n, raw);
    case 2:
      return scatter<Item2>(v, begin, n, raw);
    case 4:
      return scatter<Item4>(v, begin, n, raw);
    default:
      return scatter<Item8>(v, begin, n, raw);
  }
}

/// Indices and masks as numbers.
template <class T>
void read_integers(const View& v, std::int64_t begin, int n, T* destination) {
  alignas(64) std::int32_t integers[tile_length];
  gather_items(v, begin, n, integers);
  for (int i = 0; i < n; ++i) destination[i] = static_cast<T>(integers[i]);
}

/// Widens n <= tile_length elements into `destination`.
template <class T>
__attribute__((noinline)) void read_tile(const View& v, std::int64_t begin, int n, T* destination) {
  if (v.format == Format::i32) return read_integers(v, begin, n, destination);
  if (v.flat) return widen_tile(v.format, v.data + begin * v.item, destination, static_cast<std::size_t>(n));
  alignas(64) std::uint64_t raw[tile_length];
  gather_items(v, begin, n, raw);
  widen_tile(v.format, raw, destination, static_cast<std::size_t>(n));
}

/// Rounds n <= tile_length values into the view; with a tally, through round_and_count. `values` may be the
/// destination's memory if the view is direct.
template <class T>
__attribute__((noinline)) void write_tile(const View& v, std::int64_t begin, int n, const T* values,
                                          RoundingTally* tally) {
  alignas(64) std::uint64_t raw[tile_length];
  char* place = v.flat ? v.data + begin * v.item : reinterpret_cast<char*>(raw);
  if (tally == nullptr) {
    if (place != reinterpret_cast<const char*>(values))
      narrow_tile(v.format, values, place, static_cast<std::size_t>(n));
  } else if (range_only(*tally)) {
    count_range(values, n, static_cast<T>(info(v.format).overflow_threshold), *tally);
    if (place != reinterpret_cast<const char*>(values))
      narrow_tile(v.format, values, place, static_cast<std::size_t>(n));
  } else {
    Buffer<T> rounded;
    const T* after = values;
    if (place != reinterpret_cast<const char*>(values)) narrow_tile(v.format, values, place, static_cast<std::size_t>(n));
    if (v.format != format_of<T>()) {
      widen_tile(v.format, place, rounded.value, static_cast<std::size_t>(n));
      after = rounded.value;
    }
    count_block(values, after, n, static_cast<T>(info(v.format).min_normal), *tally);
  }
  if (!v.flat) scatter_items(v, begin, n, raw);
}

/// A run of any length: in place if possible, else widened into `scratch` (n elements).
template <class T>
inline const T* read_run(const View& v, std::int64_t begin, std::int64_t n, T* scratch) {
  if (direct<T>(v)) return reinterpret_cast<const T*>(v.data) + begin;
  for (std::int64_t done = 0; done < n; done += tile_length) {
    read_tile(v, begin + done, smaller(n - done, tile_length), scratch + done);
  }
  return scratch;
}

/// Where a run is to be computed: in the view's memory if possible and not observed (but for its range), else in `scratch`.
template <class T>
inline T* write_place(const View& v, std::int64_t begin, T* scratch, const RoundingTally* tally) {
  return direct<T>(v) && (tally == nullptr || range_only(*tally)) ? reinterpret_cast<T*>(v.data) + begin : scratch;
}

/// Stores what was computed at write_place.
template <class T>
inline void write_run(const View& v, std::int64_t begin, std::int64_t n, const T* values, RoundingTally* tally) {
  if (tally == nullptr && direct<T>(v) && values == reinterpret_cast<const T*>(v.data) + begin) return;
  for (std::int64_t done = 0; done < n; done += tile_length) {
    write_tile(v, begin + done, smaller(n - done, tile_length), values + done, tally);
  }
}

/// Single elements, for the side results of rows and for losses.
template <class T>
inline T read_element(const View& v, std::int64_t index) {
  T value;
  read_tile(v, index, 1, &value);
  return value;
}
template <class T>
inline void write_element(const View& v, std::int64_t index, T value, RoundingTally* tally = nullptr) {
  write_tile(v, index, 1, &value, tally);
}

}  // namespace
}  // namespace ulpscope::cpu::ULPSCOPE_ISA
