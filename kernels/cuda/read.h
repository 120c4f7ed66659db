// Single elements of views of any layout, read and written, with short ways for the formats and layouts that a step is full of.
#pragma once

#include <cstdint>

#include "kernels/cuda/observation.h"
#include "kernels/launch.h"

namespace ulpscope::cuda {

/// As load_element, which holds every conversion inline.
template <class T>
ULPSCOPE_DEVICE T read_element(const DeviceView& v, std::int64_t i) {
  if (v.flat) {
    if (v.format == Format::fp32) return static_cast<T>(reinterpret_cast<const float*>(v.data)[i]);
    if (v.format == Format::bf16) return static_cast<T>(bf16_to_float(reinterpret_cast<const std::uint16_t*>(v.data)[i]));
    if (v.format == Format::fp16) return static_cast<T>(fp16_to_float(reinterpret_cast<const std::uint16_t*>(v.data)[i]));
  }
  return load_any<T>(v.format, v.data, offset_of(v, i));
}

/// As write_element.
template <class T>
ULPSCOPE_DEVICE void put_element(const Result& r, std::int64_t i, T value) {
  if (r.before != nullptr) static_cast<T*>(r.before)[i] = value;
  if (r.view.flat) {
    if (r.view.format == Format::fp32) {
      reinterpret_cast<float*>(r.view.data)[i] = static_cast<float>(value);
      return;
    }
    if (r.view.format == Format::bf16) {
      reinterpret_cast<std::uint16_t*>(r.view.data)[i] = Storage<Format::bf16>::round(value);
      return;
    }
    if (r.view.format == Format::fp16) {
      reinterpret_cast<std::uint16_t*>(r.view.data)[i] = Storage<Format::fp16>::round(value);
      return;
    }
  }
  store_any(r.view.format, r.view.data, offset_of(r.view, i), value);
}

/// i / n and i % n for i >= 0, n > 0: with 32-bit numbers where they do, which is several times faster.
struct Divided {
  std::int64_t quotient, rest;
};
ULPSCOPE_DEVICE Divided divided(std::int64_t i, std::int64_t n) {
  constexpr std::int64_t most = (std::int64_t{1} << 32) - 1;
  if (i <= most && n <= most) {
    const std::uint32_t small = static_cast<std::uint32_t>(i), by = static_cast<std::uint32_t>(n);
    const std::uint32_t quotient = small / by;
    return {static_cast<std::int64_t>(quotient), static_cast<std::int64_t>(small - quotient * by)};
  }
  return {i / n, i % n};
}

inline void expect_workspace(const char* operation, const Launch& launch) {
  if (launch.workspace == nullptr) fail(operation, "no workspace");
}

/// Blocks for so many elements, a thread for each.
inline std::int64_t blocks_of_threads(std::int64_t elements) { return blocks_for((elements + team_threads - 1) / team_threads); }

}  // namespace ulpscope::cuda
