// Elements of a view, read and written by a thread: single ones, and runs of eight, which are 16-byte accesses where the view is
// flat and its memory aligned.
#pragma once

#include <cstdint>

#include "kernels/cuda/grid.h"
#include "kernels/formats/storage.h"
#include "kernels/view.h"

namespace ulpscope::cuda {

inline constexpr int run_length = 8;

/// A view as a kernel is handed it.
struct DeviceView : View {
  bool wide = false;   ///< runs of eight elements that begin at multiples of eight lie in one piece, 16-byte aligned (fp8: 8)
  bool runs = false;   ///< wide, and of a format that load_run and store_run take

  DeviceView() = default;
  explicit DeviceView(const View& view) : View(view) {
    wide = flat && reinterpret_cast<std::uintptr_t>(data) % 16 == 0;
    runs = wide && (format == Format::fp32 || format == Format::fp16 || format == Format::bf16);
  }
};

/// Where element i lies, in elements.
ULPSCOPE_DEVICE std::int64_t offset_of(const DeviceView& v, std::int64_t i) {
  if (v.flat) return i;
  if (v.uniform) return 0;
  std::int64_t offset = 0;
  if (i < (std::int64_t{1} << 31)) {   // division of 32-bit numbers is several times faster
    std::uint32_t rest = static_cast<std::uint32_t>(i);
    for (int axis = v.rank - 1; axis > 0; --axis) {
      const std::uint32_t extent = static_cast<std::uint32_t>(v.extent[axis]);
      offset += static_cast<std::int64_t>(rest % extent) * v.stride[axis];
      rest /= extent;
    }
    return offset + static_cast<std::int64_t>(rest) * v.stride[0];
  }
  std::int64_t rest = i;
  for (int axis = v.rank - 1; axis > 0; --axis) {
    offset += rest % v.extent[axis] * v.stride[axis];
    rest /= v.extent[axis];
  }
  return offset + rest * v.stride[0];
}

/// An element at an offset, widened to T; indices and masks as numbers.
template <class T>
ULPSCOPE_DEVICE T load_at(Format format, const void* data, std::int64_t at) {
  switch (format) {
    case Format::fp32:
    case Format::tf32:
      return static_cast<T>(static_cast<const float*>(data)[at]);
    case Format::fp16:
      return static_cast<T>(Storage<Format::fp16>::widen(static_cast<const std::uint16_t*>(data)[at]));
    case Format::bf16:
      return static_cast<T>(Storage<Format::bf16>::widen(static_cast<const std::uint16_t*>(data)[at]));
    case Format::fp8_e4m3:
      return static_cast<T>(Storage<Format::fp8_e4m3>::widen(static_cast<const std::uint8_t*>(data)[at]));
    case Format::fp8_e5m2:
      return static_cast<T>(Storage<Format::fp8_e5m2>::widen(static_cast<const std::uint8_t*>(data)[at]));
    case Format::fp64:
      return static_cast<T>(static_cast<const double*>(data)[at]);
    case Format::i32:
      return static_cast<T>(static_cast<const std::int32_t*>(data)[at]);
  }
  return T(0);
}

/// Rounds once, to nearest.
template <class T>
ULPSCOPE_DEVICE void store_at(Format format, void* data, std::int64_t at, T value) {
  switch (format) {
    case Format::fp32:
      static_cast<float*>(data)[at] = Storage<Format::fp32>::round(value);
      return;
    case Format::tf32:
      static_cast<float*>(data)[at] = Storage<Format::tf32>::round(value);
      return;
    case Format::fp16:
      static_cast<std::uint16_t*>(data)[at] = Storage<Format::fp16>::round(value);
      return;
    case Format::bf16:
      static_cast<std::uint16_t*>(data)[at] = Storage<Format::bf16>::round(value);
      return;
    case Format::fp8_e4m3:
      static_cast<std::uint8_t*>(data)[at] = Storage<Format::fp8_e4m3>::round(value);
      return;
    case Format::fp8_e5m2:
      static_cast<std::uint8_t*>(data)[at] = Storage<Format::fp8_e5m2>::round(value);
      return;
    case Format::fp64:
      static_cast<double*>(data)[at] = Storage<Format::fp64>::round(value);
      return;
    case Format::i32:
      return;
  }
}

template <class T>
ULPSCOPE_DEVICE T load_element(const DeviceView& v, std::int64_t i) {
  return load_at<T>(v.format, v.data, offset_of(v, i));
}
template <class T>
ULPSCOPE_DEVICE void store_element(const DeviceView& v, std::int64_t i, T value) {
  store_at(v.format, v.data, offset_of(v, i), value);
}

namespace wide {

#if defined(__CUDACC__)
#define ULPSCOPE_ANY_TYPE
#else
#define ULPSCOPE_ANY_TYPE [[gnu::may_alias]]   // the emulation's memory holds numbers of every type
#endif

/// Eight elements moved together.
template <class Item>
struct ULPSCOPE_ANY_TYPE alignas(sizeof(Item) * run_length < 16 ? sizeof(Item) * run_length : 16) Pack {
  Item item[run_length];
};
#undef ULPSCOPE_ANY_TYPE

template <class Item>
ULPSCOPE_DEVICE Pack<Item> load(const void* data, std::int64_t at) {
  return *reinterpret_cast<const Pack<Item>*>(static_cast<const Item*>(data) + at);
}
template <class Item>
ULPSCOPE_DEVICE void store(void* data, std::int64_t at, const Pack<Item>& pack) {
  *reinterpret_cast<Pack<Item>*>(static_cast<Item*>(data) + at) = pack;
}

template <Format F, class T>
ULPSCOPE_DEVICE void widen(const void* data, std::int64_t at, T* values) {
  const auto pack = load<typename Storage<F>::type>(data, at);
  ULPSCOPE_UNROLL
  for (int j = 0; j < run_length; ++j) values[j] = static_cast<T>(Storage<F>::widen(pack.item[j]));
}
template <Format F, class T>
ULPSCOPE_DEVICE void narrow(void* data, std::int64_t at, const T* values) {
  Pack<typename Storage<F>::type> pack;
  ULPSCOPE_UNROLL
  for (int j = 0; j < run_length; ++j) pack.item[j] = Storage<F>::round(values[j]);
  store(data, at, pack);
}

}  // namespace wide

/// Out of line, for formats and layouts that are rare in a step: every kernel would hold all conversions otherwise.
template <class T>
ULPSCOPE_OUTLINE T load_any(Format format, const void* data, std::int64_t at) {
  return load_at<T>(format, data, at);
}
template <class T>
ULPSCOPE_OUTLINE void store_any(Format format, void* data, std::int64_t at, T value) {
  store_at(format, data, at, value);
}

/// Runs of a view that is wide, in one of the formats a step is full of (DeviceView::runs). n < 8 at the end only.
ULPSCOPE_DEVICE void load_run(const DeviceView& v, std::int64_t begin, int n, float* values) {
  if (n == run_length) {
    if (v.format == Format::fp16) return wide::widen<Format::fp16>(v.data, begin, values);
    if (v.format == Format::bf16) return wide::widen<Format::bf16>(v.data, begin, values);
    return wide::widen<Format::fp32>(v.data, begin, values);
  }
  ULPSCOPE_UNROLL
  for (int j = 0; j < run_length; ++j)
    if (j < n) values[j] = load_any<float>(v.format, v.data, begin + j);
}

/// The other way, rounding once.
ULPSCOPE_DEVICE void store_run(const DeviceView& v, std::int64_t begin, int n, const float* values) {
  if (n == run_length) {
    if (v.format == Format::fp16) return wide::narrow<Format::fp16>(v.data, begin, values);
    if (v.format == Format::bf16) return wide::narrow<Format::bf16>(v.data, begin, values);
    return wide::narrow<Format::fp32>(v.data, begin, values);
  }
  ULPSCOPE_UNROLL
  for (int j = 0; j < run_length; ++j)
    if (j < n) store_any(v.format, v.data, begin + j, values[j]);
}

}  // namespace ulpscope::cuda
