// The tile machine behind every element-wise kernel. Included only by sources that are compiled once per instruction
// set.
//
// The driver is compiled once per compute type and knows nothing of the operation; the operation is a small function
// over one tile, a loop that vectorises. Formats are run-time values; compute types are template parameters.
#pragma once

#include <cstdint>

#include "kernels/cpu/register.h"
#include "kernels/cpu/team.h"
#include "kernels/cpu/tile_io.h"
#include "kernels/ops/team.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

/// What a launch reads and writes, all of the same number of elements.
struct Operands {
  View read[max_reads];
  View write[max_outputs];
  int reads = 0;
  int writes = 0;
  std::int64_t elements = 0;
};

/// Tiles [first, last) of a launch.
template <class T>
__attribute__((noinline)) void run_tile_range(const Operands& operands, std::int64_t first, std::int64_t last,
                                              RunBody<T> function, const void* body, RoundingTally* const* tally) {
  Buffer<T> in[max_reads];
  Buffer<T> out[max_outputs];
  RunArgs<T> args = {};
  for (int r = 0; r < operands.reads; ++r) {
    args.in[r] = in[r].value;
    if (operands.read[r].uniform) {
      const T value = read_element<T>(operands.read[r], 0);
      for (int i = 0; i < tile_length; ++i) in[r].value[i] = value;
    }
  }
  for (std::int64_t tile = first; tile < last; ++tile) {
    args.begin = tile * tile_length;
    args.n = smaller(operands.elements - args.begin, tile_length);
    for (int r = 0; r < operands.reads; ++r) {
      if (!operands.read[r].uniform) args.in[r] = read_run(operands.read[r], args.begin, args.n, in[r].value);
    }
    for (int w = 0; w < operands.writes; ++w) {
      args.out[w] = write_place(operands.write[w], args.begin, out[w].value, tally[w]);
    }
    function(body, args);
    for (int w = 0; w < operands.writes; ++w) write_run(operands.write[w], args.begin, args.n, args.out[w], tally[w]);
  }
}

/// cost: work of one element, in units of a cheap one.
template <class T>
inline void run_tiles(const Launch& launch, const Operands& operands, int cost, RunBody<T> function,
                      const void* body) {
  const std::int64_t tiles = (operands.elements + tile_length - 1) / tile_length;
  run_units(launch, tiles, operands.elements * cost,
            [&](int, std::int64_t first, std::int64_t last, RoundingTally* const* tally) {
              run_tile_range<T>(operands, first, last, function, body, tally);
            });
}

/// Inputs broadcast to the first output's shape.
inline Operands operands_of(const char* operation, const Launch& launch, int inputs, unsigned masks = 0) {
  expect_operands(operation, launch, inputs, 1, 0, masks);
  Operands operands;
  for (int i = 0; i < inputs; ++i) operands.read[i] = broadcast_view(operation, launch.in[i], launch.out[0].shape);
  operands.write[0] = view_of(launch.out[0]);
  operands.reads = inputs;
  operands.writes = 1;
  operands.elements = operands.write[0].elements;
  return operands;
}

/// Which inputs are i32 masks.
template <class Body>
constexpr unsigned masks_of() {
  if constexpr (requires { Body::masks; }) return Body::masks;
  return 0;
}

template <class Body>
inline Body make_body(const Launch& launch, std::int64_t elements) {
  if constexpr (requires { Body::make(launch.params, launch.state, elements); }) {
    return Body::make(launch.params, launch.state, elements);
  } else {
    return Body{};
  }
}

template <class T, class Body, int inputs>
void map_tile(const void* pointer, const RunArgs<T>& args) {
  const Body body = *static_cast<const Body*>(pointer);
  const T* a = args.in[0];
  const T* b = args.in[1];
  const T* c = args.in[2];
  T* y = args.out[0];
  const std::int64_t begin = args.begin;
  const std::int64_t n = args.n;
  ULPSCOPE_INDEPENDENT_ITERATIONS
  for (std::int64_t i = 0; i < n; ++i) {
    if constexpr (inputs == 1) {
      y[i] = body(begin + i, a[i]);
    } else if constexpr (inputs == 2) {
      y[i] = body(begin + i, a[i], b[i]);
    } else {
      y[i] = body(begin + i, a[i], b[i], c[i]);
    }
  }
}

template <class T, template <class> class Body, int inputs, int cost>
void run_map(const Launch& launch) {
  const Operands operands = operands_of(Body<T>::operation, launch, inputs, masks_of<Body<T>>());
  const Body<T> body = make_body<Body<T>>(launch, operands.elements);
  run_tiles<T>(launch, operands, cost, map_tile<T, Body<T>, inputs>, &body);
}

template <class Body>
void prepare_map(const Launch& launch, void*, void* body) {
  static_assert(sizeof(Body) <= stage_body_bytes);
  *static_cast<Body*>(body) = make_body<Body>(launch, launch.out[0].elements());
}

/// The operation as part of a fused launch.
template <class Body, int inputs, int cost>
inline const Stage& map_stage() {
  static constexpr StageFunctions functions{cost, prepare_map<Body>, map_tile<float, Body, inputs>, nullptr};
  static constexpr Stage stage{false, inputs, {0, 1, 2, 3}, &functions};
  return stage;
}

/// Registers an element-wise body for both compute types.
template <template <class> class Body, int inputs, int cost>
inline void add_map(KernelTable& table) {
  add_kernel(table, Body<float>::operation, Format::fp32, run_map<float, Body, inputs, cost>, nullptr,
             &map_stage<Body<float>, inputs, cost>());
  add_kernel(table, Body<double>::operation, Format::fp64, run_map<double, Body, inputs, cost>);
}

}  // namespace
}  // namespace ulpscope::cpu::ULPSCOPE_ISA
