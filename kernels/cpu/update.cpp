// The optimizers: SGD and AdamW.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/register_isa.h"
#include "kernels/ops/adamw.h"
#include "kernels/ops/sgd.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

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
void sgd_tile(const void* pointer, const RunArgs<T>& args) {
  const SgdBody<T> body = *static_cast<const SgdBody<T>*>(pointer);
  ULPSCOPE_INDEPENDENT_ITERATIONS
  for (int i = 0; i < args.n; ++i) {
    T p = args.in[1][i];
    body(args.in[0][i], p);
    args.out[0][i] = p;
  }
}

template <class T>
void sgd_momentum_tile(const void* pointer, const RunArgs<T>& args) {
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
void adamw_tile(const void* pointer, const RunArgs<T>& args) {
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
  add_kernel(table, "sgd", format_of<T>(), run_sgd<T>);
  add_kernel(table, "adamw", format_of<T>(), run_adamw<T>);
}

}  // namespace

void register_update(KernelTable& table) {
  add_update<float>(table);
  add_update<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
