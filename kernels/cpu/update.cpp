// The end of a step: removing the loss scale with the finite check, SGD and AdamW.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/register_isa.h"
#include "kernels/ops/adamw.h"
#include "kernels/ops/sgd.h"
#include "kernels/ops/unscale.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

template <class T>
struct Unscale {
  UnscaleBody<T> body;
  std::int32_t* finite;
};

template <class T>
void unscale_tile(const void* pointer, const TileArgs<T>& args) {
  const Unscale<T>& u = *static_cast<const Unscale<T>*>(pointer);
  const UnscaleBody<T> body = u.body;
  const T* g = args.in[0];
  T* out = args.out[0];
  std::int32_t bad = 0;
  ULPSCOPE_INDEPENDENT_ITERATIONS
  for (int i = 0; i < args.n; ++i) {
    const T unscaled = body(g[i]);
    out[i] = unscaled;
    bad += body.finite(unscaled) ? 0 : 1;
  }
  if (bad != 0) __atomic_store_n(u.finite, 0, __ATOMIC_RELAXED);
}

template <class T>
void run_unscale(const Launch& launch) {
  const char* operation = "unscale_check";
  expect_operands(operation, launch, launch.in_count, launch.in_count);
  for (int i = 0; i < launch.in_count; ++i) {
    Launch one = launch;
    one.in = launch.in + i;
    one.out = launch.out + i;
    one.in_count = one.out_count = 1;
    one.counts = launch.counts == nullptr ? nullptr : launch.counts + i;
    const Operands operands = operands_of(operation, one, 1);
    const T limit = static_cast<T>(info(one.out[0].format).overflow_threshold);
    const Unscale<T> unscale = {{static_cast<T>(launch.state->inverse_scale), limit}, &launch.state->finite};
    run_tiles<T>(one, operands, 1, unscale_tile<T>, &unscale);
  }
}

bool may_commit(const StepState& state) { return state.finite != 0 && state.halt == 0; }

/// g is read, the outputs are read and written.
Operands update_operands(const char* operation, const Launch& launch, int outputs) {
  expect_operands(operation, launch, 1, outputs);
  Operands operands;
  operands.read[0] = broadcast_view(operation, launch.in[0], launch.out[0].shape);
  operands.reads = outputs + 1;
  operands.writes = outputs;
  for (int o = 0; o < outputs; ++o) {
    expect_shape(operation, "an output", launch.out[o].shape, launch.out[0].shape);
    operands.read[o + 1] = operands.write[o] = view_of(launch.out[o]);
  }
  operands.elements = operands.write[0].elements;
  return operands;
}

template <class T>
void sgd_tile(const void* pointer, const TileArgs<T>& args) {
  const SgdBody<T> body = *static_cast<const SgdBody<T>*>(pointer);
  ULPSCOPE_INDEPENDENT_ITERATIONS
  for (int i = 0; i < args.n; ++i) {
    T p = args.in[1][i];
    body(args.in[0][i], p);
    args.out[0][i] = p;
  }
}

template <class T>
void sgd_momentum_tile(const void* pointer, const TileArgs<T>& args) {
  const SgdBody<T> body = *static_cast<const SgdBody<T>*>(pointer);
  ULPSCOPE_INDEPENDENT_ITERATIONS
  for (int i = 0; i < args.n; ++i) {
    T p = args.in[1][i];
    T buffer = args.in[2][i];
    body(args.in[0][i], p, buffer);
    args.out[0][i] = p;
    args.out[1][i] = buffer;
  }
}

template <class T>
void run_sgd(const Launch& launch) {
  // What is launched decides, not the number: a momentum that rounds to 0 in fp32 still has its buffer.
  const bool momentum = launch.out_count > 1;
  if (!momentum && static_cast<const SgdParams*>(launch.params)->momentum != 0.0f)
    fail("sgd", "momentum needs a buffer as its second output");
  const Operands operands = update_operands("sgd", launch, momentum ? 2 : 1);
  if (!may_commit(*launch.state)) return;
  const SgdBody<T> body = SgdBody<T>::make(launch.params, launch.state, operands.elements);
  run_tiles<T>(launch, operands, 2, momentum ? sgd_momentum_tile<T> : sgd_tile<T>, &body);
}

template <class T>
void adamw_tile(const void* pointer, const TileArgs<T>& args) {
  const AdamWBody<T> body = *static_cast<const AdamWBody<T>*>(pointer);
  ULPSCOPE_INDEPENDENT_ITERATIONS
  for (int i = 0; i < args.n; ++i) {
    T p = args.in[1][i];
    T m = args.in[2][i];
    T v = args.in[3][i];
    body(args.in[0][i], p, m, v);
    args.out[0][i] = p;
    args.out[1][i] = m;
    args.out[2][i] = v;
  }
}

template <class T>
void run_adamw(const Launch& launch) {
  const Operands operands = update_operands("adamw", launch, 3);
  if (!may_commit(*launch.state)) return;
  const AdamWBody<T> body = AdamWBody<T>::make(launch.params, launch.state, operands.elements);
  run_tiles<T>(launch, operands, 4, adamw_tile<T>, &body);
}

template <class T>
void add_update(KernelTable& table) {
  add_kernel(table, "unscale_check", format_of<T>(), run_unscale<T>);
  add_kernel(table, "sgd", format_of<T>(), run_sgd<T>);
  add_kernel(table, "adamw", format_of<T>(), run_adamw<T>);
}

}  // namespace

void register_update(KernelTable& table) {
  add_update<float>(table);
  add_update<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
