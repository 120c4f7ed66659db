// The machine behind every element-wise kernel: each thread takes runs of eight elements, grid-stride. Formats are run-time
// values, the same for every thread; the compute type and the body are template parameters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/cuda/observation.h"
#include "kernels/cuda/register.h"
#include "kernels/step_state.h"

namespace ulpscope::cuda {

inline constexpr int max_reads = 4;

/// Parameters by value: the host's may be gone when the kernel runs.
struct ParameterBytes {
  alignas(16) unsigned char bytes[64];
};
struct NoParameters {};

template <class P>
ParameterBytes parameter_bytes(const Launch& launch) {
  static_assert(sizeof(P) <= sizeof(ParameterBytes));
  ParameterBytes result = {};
  if (launch.params != nullptr) std::memcpy(result.bytes, launch.params, sizeof(P));
  return result;
}
template <>
inline ParameterBytes parameter_bytes<NoParameters>(const Launch&) {
  return {};
}

template <class Body>
ULPSCOPE_DEVICE Body make_body(const ParameterBytes& parameters, const StepState* state, std::int64_t elements) {
  if constexpr (requires { Body::make(parameters.bytes, state, elements); }) {
    return Body::make(parameters.bytes, state, elements);
  } else {
    return Body{};
  }
}

/// What a launch reads and writes, all of the same number of elements.
struct MapOperands {
  DeviceView read[max_reads];
  Result write;
  std::int64_t elements = 0;
};

/// Blocks for so many elements, a thread for each `each` of them.
inline std::int64_t blocks_of(std::int64_t elements, int each) {
  const std::int64_t pieces = (elements + each - 1) / each;
  return blocks_for((pieces + team_threads - 1) / team_threads);
}

template <class Body, class T>
ULPSCOPE_DEVICE T apply(const Body& body, std::int64_t i, const T (&x)[1]) {
  return body(i, x[0]);
}
template <class Body, class T>
ULPSCOPE_DEVICE T apply(const Body& body, std::int64_t i, const T (&x)[2]) {
  return body(i, x[0], x[1]);
}
template <class Body, class T>
ULPSCOPE_DEVICE T apply(const Body& body, std::int64_t i, const T (&x)[3]) {
  return body(i, x[0], x[1], x[2]);
}

/// Any formats and layouts: a thread takes one element at a time.
template <class T, class Body, int inputs>
ULPSCOPE_KERNEL void map_any_kernel(MapOperands o, ParameterBytes parameters, const StepState* state) {
  const Body body = make_body<Body>(parameters, state, o.elements);
  for (std::int64_t i = global_thread(); i < o.elements; i += global_threads()) {
    T x[inputs];
    ULPSCOPE_UNROLL
    for (int r = 0; r < inputs; ++r) x[r] = load_any<T>(o.read[r].format, o.read[r].data, offset_of(o.read[r], i));
    write_element(o.write, i, apply(body, i, x));
  }
}

/// Operands whose runs lie in one piece, or that are one number.
template <class Body, int inputs>
ULPSCOPE_KERNEL void map_kernel(MapOperands o, ParameterBytes parameters, const StepState* state) {
  const Body body = make_body<Body>(parameters, state, o.elements);
  for (std::int64_t begin = global_thread() * run_length; begin < o.elements; begin += global_threads() * run_length) {
    const std::int64_t left = o.elements - begin;
    const int n = left < run_length ? static_cast<int>(left) : run_length;
    float in[inputs][run_length] = {}, out[run_length];
    ULPSCOPE_UNROLL
    for (int r = 0; r < inputs; ++r) {
      if (o.read[r].runs) {
        load_run(o.read[r], begin, n, in[r]);
      } else {
        const float value = load_any<float>(o.read[r].format, o.read[r].data, 0);
        ULPSCOPE_UNROLL
        for (int j = 0; j < run_length; ++j) in[r][j] = value;
      }
    }
    ULPSCOPE_UNROLL
    for (int j = 0; j < run_length; ++j) {
      float x[inputs];
      ULPSCOPE_UNROLL
      for (int r = 0; r < inputs; ++r) x[r] = in[r][j];
      out[j] = apply(body, begin + j, x);
    }
    write_run(o.write, begin, n, out);
  }
}

template <class Body>
constexpr unsigned masks_of() {
  if constexpr (requires { Body::masks; }) return Body::masks;
  return 0;
}

/// Parameters: the struct of kernels/ops/params.h that Launch::params points to.
template <class T, template <class> class Body, int inputs, class Parameters>
void run_map(const Launch& l) {
  const char* operation = Body<T>::operation;
  expect_operands(operation, l, inputs, 1, 0, masks_of<Body<T>>());
  Observation<T> observation(l);
  MapOperands operands;
  for (int i = 0; i < inputs; ++i) operands.read[i] = DeviceView(broadcast_view(operation, l.in[i], l.out[0].shape));
  operands.write = observation.result(0, view_of(l.out[0]));
  operands.elements = operands.write.view.elements;
  const ParameterBytes parameters = parameter_bytes<Parameters>(l);
  const StepState* state = l.state;
  bool wide = sizeof(T) == sizeof(float) && operands.write.view.runs;
  for (int i = 0; i < inputs; ++i) wide = wide && (operands.read[i].runs || operands.read[i].uniform);
  if constexpr (sizeof(T) == sizeof(float)) {
    if (wide)
      launch(map_kernel<Body<T>, inputs>, blocks_of(operands.elements, run_length), team_threads, l.stream, operands, parameters, state);
  }
  if (!wide)
    launch(map_any_kernel<T, Body<T>, inputs>, blocks_of(operands.elements, 1), team_threads, l.stream, operands, parameters, state);
  observation.count(0, count_tiles(operands.elements));
}

/// Registers an element-wise body for both compute types. stage: how it takes part in fused launches; null: not at all.
template <template <class> class Body, int inputs, class Parameters = NoParameters>
void add_map(KernelTable& table, const Stage* stage = nullptr) {
  table.add(Body<float>::operation, Format::fp32, Kernel{run_map<float, Body, inputs, Parameters>, nullptr, stage});
  table.add(Body<double>::operation, Format::fp64, Kernel{run_map<double, Body, inputs, Parameters>});
}

}  // namespace ulpscope::cuda
