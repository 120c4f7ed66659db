// What the tests of this folder share: arrays on the host in any format and layout, launches, and a reference rounding
// that owes nothing to the code under test.
#pragma once

#include <cmath>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "kernels/device.h"
#include "kernels/formats/convert.h"
#include "kernels/formats/instruction_set.h"
#include "kernels/ops/params.h"
#include "kernels/ops/rounding_counts.h"
#if defined(ULPSCOPE_TEST_EMULATED)
#include "tests/kernels/emulated/emulated_device.h"
#include "tests/kernels/gpu_device.h"
#endif

namespace ulpscope::test {

/// One number in a format, both ways. fp64 directly, the rest through the bulk conversions (tested in
/// tests/kernels/formats).
inline double get(Format f, const void* at) {
  if (f == Format::fp64) {
    double x;
    std::memcpy(&x, at, sizeof x);
    return x;
  }
  float x;
  widen(f, at, &x, 1);
  return static_cast<double>(x);
}
inline void put(Format f, void* at, double x) {
  if (f == Format::fp64) {
    std::memcpy(at, &x, sizeof x);
    return;
  }
  const float y = static_cast<float>(x);
  narrow(f, &y, at, 1);
}

/// A tensor in host memory, gaps filled with 0xee so that writing outside the view shows.
struct Array {
  Format format = Format::fp32;
  Shape shape;
  std::array<std::int64_t, max_rank> stride{};
  std::int64_t first = 0;
  std::vector<unsigned char> bytes;

  Array() = default;
  Array(Format f, const Shape& s) : format(f), shape(s), stride(Tensor(nullptr, f, s).stride) { allocate(); }
  Array(Format f, const Shape& s, std::initializer_list<std::int64_t> strides, std::int64_t offset = 0)
      : format(f), shape(s), first(offset) {
    int i = 0;
    for (const std::int64_t x : strides) stride[static_cast<std::size_t>(i++)] = x;
    allocate();
  }
  void allocate() {
    std::int64_t last = first;
    for (int i = 0; i < shape.rank; ++i) last += (shape[i] - 1) * stride[static_cast<std::size_t>(i)];
    bytes.assign(static_cast<std::size_t>((last + 1) * storage_bytes(format)), 0xee);
  }
  std::int64_t place(std::int64_t index) const {  // of the element `index` in row-major order
    std::int64_t at = first;
    for (int i = shape.rank - 1; i >= 0; --i) {
      at += index % shape[i] * stride[static_cast<std::size_t>(i)];
      index /= shape[i];
    }
    return at * storage_bytes(format);
  }
  std::int64_t size() const { return shape.elements(); }
  double at(std::int64_t index) const { return get(format, bytes.data() + place(index)); }
  void set(std::int64_t index, double x) { put(format, bytes.data() + place(index), x); }
  Array& fill(const std::function<double(std::int64_t)>& f) {
    for (std::int64_t i = 0; i < size(); ++i) set(i, f(i));
    return *this;
  }
  Array& normal(unsigned seed, double deviation = 1.0) {
    std::mt19937 generator(seed);
    std::normal_distribution<double> d(0.0, deviation);
    return fill([&](std::int64_t) { return d(generator); });
  }
  Array& nan() {
    return fill([](std::int64_t) { return std::numeric_limits<double>::quiet_NaN(); });
  }
  Tensor view() {
    Tensor t;
    t.data = bytes.data() + first * storage_bytes(format);
    t.format = format;
    t.shape = shape;
    t.stride = stride;
    return t;
  }
};

/// x rounded to `bits` significant bits, ties to even or away. Range is not limited.
inline double round_to_bits(double x, int bits, bool ties_away = false) {
  if (x == 0.0 || !std::isfinite(x)) return x;
  int exponent = 0;
  const double scaled = std::ldexp(std::frexp(x, &exponent), bits);
  return std::ldexp(ties_away ? std::round(scaled) : std::nearbyint(scaled), exponent - bits);
}

/// A number as a multiplier of this format sees it.
inline double seen_by(Format stored, Format multiply, double x) {
  if (info(stored).mantissa_bits <= info(multiply).mantissa_bits) return x;
  return round_to_bits(x, info(multiply).mantissa_bits + 1, multiply == Format::tf32);
}

struct Options {
  Format compute = Format::fp32;
  int threads = 2;
  InstructionSet set = best_instruction_set();
  std::vector<RoundingCounts*> counts = {};
  StepState* state = nullptr;
  const Epilogue* epilogue = nullptr;
  Arithmetic arithmetic = {};
  bool as_they_are = false;   ///< operands are not rounded to tf32 beforehand
};

/// These tests are built once more for devices whose memory is not the host's: the GPU that ULPSCOPE_TEST_GPU names, or else the
/// emulated grid.
#if defined(ULPSCOPE_TEST_EMULATED)
inline constexpr bool emulated = true;
inline bool on_gpu() { return gpu_device() != nullptr; }
#else
inline constexpr bool emulated = false;
inline bool on_gpu() { return false; }
#endif

inline Device& cpu_for(InstructionSet set) {
  static std::unique_ptr<Device> devices[instruction_set_count];
  auto& device = devices[static_cast<int>(set)];
  if (device == nullptr) device = make_cpu_device({2, name(set)});
  return *device;
}
inline Device& device_for(InstructionSet set) {
#if defined(ULPSCOPE_TEST_EMULATED)
  static_cast<void>(set);
  if (Device* const gpu = gpu_device()) return *gpu;
  static const std::unique_ptr<Device> device = make_emulated_device();
  return *device;
#else
  return cpu_for(set);
#endif
}

/// An array in the device's memory.
struct Placed {
  Buffer memory;
  Tensor view;

  Placed(Device& device, Array& a) : memory(device, a.bytes.size()), view(a.view()) {
    device.copy_to_device(memory.data(), a.bytes.data(), a.bytes.size());
    view.data = static_cast<unsigned char*>(memory.data()) + a.first * storage_bytes(a.format);
  }
};

inline Format multiply_of(const std::string& operation, const void* params) {
  if (operation == "matmul") return static_cast<const MatmulParams*>(params)->multiply;
  if (operation.starts_with("conv2d")) return static_cast<const ConvParams*>(params)->multiply;
  return static_cast<const AttentionParams*>(params)->multiply;
}

/// How a GPU's library rounds wider operands to tf32 is its own matter (Gpu.SaysHowItRoundsToTf32 shows it): what these tests demand of a
/// GPU is the rest, and its operands are rounded beforehand.
inline std::vector<Array> rounded_to_tf32(const std::vector<Array*>& in) {
  std::vector<Array> rounded;
  for (const Array* a : in) {
    Array& copy = rounded.emplace_back(*a);
    if (is_float(a->format) && info(a->format).mantissa_bits > 10) copy.fill([&](std::int64_t i) { return round_to_bits(a->at(i), 11, true); });
  }
  return rounded;
}

/// Launches an operation with a workspace full of NaN, outputs as they are.
inline void launch_on(Device& device, const std::string& operation, const std::vector<Array*>& given, const std::vector<Array*>& out,
                      const void* params, const Options& options = {}) {
  const bool apart = device.description().kind != DeviceKind::cpu;
  std::vector<Array> rounded;
  std::vector<Array*> in = given;
  if (apart && on_gpu() && !options.as_they_are && multiply_of(operation, params) == Format::tf32) {
    rounded = rounded_to_tf32(given);
    for (std::size_t i = 0; i < in.size(); ++i) in[i] = &rounded[i];
  }
  std::vector<Placed> placed;
  std::vector<Tensor> inputs, outputs;
  placed.reserve(in.size() + out.size());
  for (Array* a : in) inputs.push_back(apart ? placed.emplace_back(device, *a).view : a->view());
  for (Array* a : out) outputs.push_back(apart ? placed.emplace_back(device, *a).view : a->view());
  if (options.epilogue != nullptr) outputs[0].data = nullptr;
  const Buffer state(device, apart && options.state != nullptr ? sizeof(StepState) : 0);
  if (state.bytes() != 0) device.copy_to_device(state.data(), options.state, sizeof(StepState));
  Launch l;
  l.in = inputs.data();
  l.in_count = static_cast<int>(inputs.size());
  l.out = outputs.data();
  l.out_count = static_cast<int>(outputs.size());
  l.params = params;
  l.threads = options.threads;
  l.state = state.bytes() != 0 ? static_cast<StepState*>(state.data()) : options.state;
  l.epilogue = options.epilogue;
  l.arithmetic = options.arithmetic;
  l.stream = device.stream();
  if (!options.counts.empty()) l.counts = options.counts.data();
  const Kernel& kernel = device.kernels().find(operation, options.compute);
  const Buffer workspace(device, kernel.workspace_bytes(l));
  device.fill(workspace.data(), 0xff, workspace.bytes());
  l.workspace = workspace.data();
  kernel.run(l);
  device.synchronize();
  for (std::size_t i = 0; apart && i < out.size(); ++i)
    device.copy_to_host(out[i]->bytes.data(), placed[in.size() + i].memory.data(), out[i]->bytes.size());
}
inline void launch(const std::string& operation, const std::vector<Array*>& in, const std::vector<Array*>& out, const void* params,
                   const Options& options = {}) {
  launch_on(device_for(options.set), operation, in, out, params, options);
}

inline std::vector<InstructionSet> available_sets() {
  if (emulated) return {best_instruction_set()};
  std::vector<InstructionSet> sets;
  for (const InstructionSet s : {InstructionSet::portable, InstructionSet::avx2, InstructionSet::avx512}) {
    if (available(s)) sets.push_back(s);
  }
  return sets;
}

}  // namespace ulpscope::test
