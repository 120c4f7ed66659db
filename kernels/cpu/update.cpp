// The optimizers: SGD and AdamW.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/register_isa.h"
#include "kernels/cpu/update_numerics.h"
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

/// As SgdBody, in the compute type.
template <class T>
void sgd_steps(const Update<T>& u, UpdateTile<T>& t) {
  const SgdBody<T> body = *static_cast<const SgdBody<T>*>(u.body);
  ULPSCOPE_INDEPENDENT_ITERATIONS
  for (int i = 0; i < t.n; ++i) {
    const T g = t.gradient.value[i], p = t.weight.value[i];
    t.step.value[i] = u.states == 0 ? body.step(g, p) : body.step(g, p, t.state[0].value[i]);
  }
}

/// In the order of torch.optim.SGD(foreach=False), every result rounded.
template <class T>
void sgd_operations(const Update<T>& u, UpdateTile<T>& t) {
  const SgdBody<T> body = *static_cast<const SgdBody<T>*>(u.body);
  T* d = t.gradient.value;
  const T* p = t.weight.value;
  for (int i = 0; i < t.n; ++i) d[i] *= body.clip;
  round_run(u.format(), d, t.n);
  if (body.weight_decay != T(0)) {
    for (int i = 0; i < t.n; ++i) d[i] += body.weight_decay * p[i];
    round_run(u.format(), d, t.n);
  }
  if (u.states > 0) {
    T* buffer = t.state[0].value;
    for (int i = 0; i < t.n; ++i) buffer[i] = body.first ? T(0) : body.momentum * buffer[i];
    round_run(u.state[0].format, buffer, t.n);
    Buffer<T> rounded;
    for (int i = 0; i < t.n; ++i) rounded.value[i] = buffer[i] = body.first ? d[i] : buffer[i] + d[i];
    round_run(u.state[0].format, rounded.value, t.n);
    for (int i = 0; i < t.n; ++i) d[i] = body.nesterov ? d[i] + body.momentum * rounded.value[i] : rounded.value[i];
    round_run(u.format(), d, t.n);
  }
  for (int i = 0; i < t.n; ++i) t.step.value[i] = body.learning_rate * d[i];
}

template <class T>
void run_sgd(const Launch& launch) {
  // What is launched decides, not the number: a momentum that rounds to 0 in fp32 still has its buffer.
  const SgdParams& params = *static_cast<const SgdParams*>(launch.params);
  const bool momentum = launch.out_count > (params.numerics.rounding == UpdateRounding::kahan ? 2 : 1);
  if (!momentum && params.momentum != 0.0f) fail("sgd", "momentum needs a buffer as its second output");
  if (!params.numerics.plain() || observed(launch) != Looked::at_nothing) {
    if (!may_commit(*launch.state)) return;
    const SgdBody<T> body = SgdBody<T>::make(launch.params, launch.state, 0);
    return run_update<T>("sgd", launch, {.numerics = params.numerics, .stream = {}, .body = &body,
                                         .function = params.numerics.each_operation ? sgd_operations<T> : sgd_steps<T>,
                                         .decay_change = T(0), .decays = false, .states = momentum ? 1 : 0,
                                         .gradient = {}, .weight = {}, .state = {}, .compensation = {}});
  }
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

/// As AdamWBody, in the compute type.
template <class T>
void adamw_steps(const Update<T>& u, UpdateTile<T>& t) {
  const AdamWBody<T> body = *static_cast<const AdamWBody<T>*>(u.body);
  ULPSCOPE_INDEPENDENT_ITERATIONS
  for (int i = 0; i < t.n; ++i) {
    t.decayed.value[i] = t.weight.value[i] * body.decay;
    t.step.value[i] = body.step(t.gradient.value[i], t.state[0].value[i], t.state[1].value[i]);
  }
}

/// In the order of torch.optim.AdamW(foreach=False), every result rounded.
template <class T>
void adamw_operations(const Update<T>& u, UpdateTile<T>& t) {
  const AdamWBody<T> body = *static_cast<const AdamWBody<T>*>(u.body);
  const Format format = u.format(), second = u.state[1].format;
  T* g = t.gradient.value;
  T* m = t.state[0].value;
  T* v = t.state[1].value;
  Buffer<T> mean, denominator;
  T* d = denominator.value;
  for (int i = 0; i < t.n; ++i) g[i] *= body.clip;
  round_run(format, g, t.n);
  for (int i = 0; i < t.n; ++i) t.decayed.value[i] = t.weight.value[i] * body.decay;
  if (!u.wide_line()) round_run(format, t.decayed.value, t.n);
  for (int i = 0; i < t.n; ++i) mean.value[i] = m[i] = body.mean(m[i], g[i]);
  round_run(u.state[0].format, mean.value, t.n);
  for (int i = 0; i < t.n; ++i) v[i] *= body.beta2;
  round_run(second, v, t.n);
  for (int i = 0; i < t.n; ++i) d[i] = v[i] = v[i] + body.one_minus_beta2 * g[i] * g[i];
  round_run(second, d, t.n);
  for (int i = 0; i < t.n; ++i) d[i] = math::sqrt(d[i]);
  round_run(second, d, t.n);
  for (int i = 0; i < t.n; ++i) d[i] = d[i] / body.sqrt_correction2;
  round_run(second, d, t.n);
  for (int i = 0; i < t.n; ++i) d[i] = d[i] + body.epsilon;
  round_run(second, d, t.n);
  for (int i = 0; i < t.n; ++i) t.step.value[i] = body.step_size * mean.value[i] / d[i];
}

template <class T>
void run_adamw(const Launch& launch) {
  const AdamWParams& params = *static_cast<const AdamWParams*>(launch.params);
  if (!params.numerics.plain() || observed(launch) != Looked::at_nothing) {
    if (!may_commit(*launch.state)) return;
    const AdamWBody<T> body = AdamWBody<T>::make(launch.params, launch.state, 0);
    return run_update<T>("adamw", launch, {.numerics = params.numerics, .stream = {}, .body = &body,
                                           .function = params.numerics.each_operation ? adamw_operations<T> : adamw_steps<T>,
                                           .decay_change = body.decay_change,
                                           .decays = params.weight_decay != 0.0 && launch.state->learning_rate != 0.0,
                                           .states = 2, .gradient = {}, .weight = {}, .state = {}, .compensation = {}});
  }
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
