// The optimizers: SGD and AdamW. Whether the step is committed is decided on the device; what an update derives from its
// parameters in double is made once in each block.
#include "kernels/cuda/elementwise.h"
#include "kernels/cuda/lost_updates.h"
#include "kernels/cuda/read.h"
#include "kernels/cuda/register.h"
#include "kernels/ops/adamw.h"
#include "kernels/ops/sgd.h"
#include "kernels/ops/weight_rounding.h"

namespace ulpscope::cuda {
namespace {

constexpr int max_states = 2;

ULPSCOPE_BODY bool may_commit(const StepState& state) { return state.finite != 0 && state.halt == 0; }

struct UpdateOperands {
  DeviceView gradient;
  Result weight, state[max_states], compensation;
  int states = 0;
  UpdateNumerics numerics;
  bool weight_decay = false;   ///< decoupled: it takes from the weight, too
  bool before_stochastic = false;   ///< weight.before takes the weights as they were before they were rounded stochastically

  ULPSCOPE_DEVICE_MEMBER bool kahan() const { return numerics.rounding == UpdateRounding::kahan; }
};

/// One element. An optimizer turns the states into the new ones, not yet rounded for storage, the weight into the decayed one, and
/// says what is to be taken from it.
template <class T>
struct UpdateItem {
  T gradient;
  T weight;                 ///< as stored
  T decayed;                ///< in: the weight
  T step;                   ///< out
  T state[max_states];      ///< in: as stored; out: before they are rounded
};

template <class T>
ULPSCOPE_DEVICE T stored(Format format, T x) {
  if (format == (sizeof(T) == sizeof(float) ? Format::fp32 : Format::fp64)) return x;
  return rounded_to_storage(format, x);
}

template <class T>
struct Sgd {
  using Body = SgdBody<T>;
  [[maybe_unused]] static constexpr bool momentum_is_optional = true;
  static ULPSCOPE_DEVICE_MEMBER T decay_change(const Body&) { return T(0); }

  static ULPSCOPE_DEVICE_MEMBER void steps(const Body& body, const UpdateOperands& o, UpdateItem<T>& t) {
    t.step = o.states == 0 ? body.step(t.gradient, t.weight) : body.step(t.gradient, t.weight, t.state[0]);
  }
  /// In the order of torch.optim.SGD(foreach=False), every result rounded.
  static ULPSCOPE_DEVICE_MEMBER void operations(const Body& body, const UpdateOperands& o, UpdateItem<T>& t) {
    const Format format = o.weight.view.format, buffers = o.state[0].view.format;
    T d = stored(format, t.gradient * body.clip);
    if (body.weight_decay != T(0)) d = stored(format, d + body.weight_decay * t.weight);
    if (o.states > 0) {
      const T kept = stored(buffers, body.first ? T(0) : body.momentum * t.state[0]);
      t.state[0] = body.first ? d : kept + d;
      const T rounded = stored(buffers, t.state[0]);
      d = stored(format, body.nesterov ? d + body.momentum * rounded : rounded);
    }
    t.step = body.learning_rate * d;
  }
};

template <class T>
struct AdamW {
  using Body = AdamWBody<T>;
  [[maybe_unused]] static constexpr bool momentum_is_optional = false;
  static ULPSCOPE_DEVICE_MEMBER T decay_change(const Body& body) { return body.decay_change; }

  static ULPSCOPE_DEVICE_MEMBER void steps(const Body& body, const UpdateOperands&, UpdateItem<T>& t) {
    t.decayed = t.weight * body.decay;
    t.step = body.step(t.gradient, t.state[0], t.state[1]);
  }
  /// In the order of torch.optim.AdamW(foreach=False), every result rounded.
  static ULPSCOPE_DEVICE_MEMBER void operations(const Body& body, const UpdateOperands& o, UpdateItem<T>& t) {
    const Format format = o.weight.view.format, second = o.state[1].view.format;
    const T g = stored(format, t.gradient * body.clip);
    t.decayed = t.weight * body.decay;
    if (o.numerics.rounding == UpdateRounding::nearest) t.decayed = stored(format, t.decayed);
    t.state[0] = body.mean(t.state[0], g);
    const T mean = stored(o.state[0].view.format, t.state[0]);
    t.state[1] = stored(second, t.state[1] * body.beta2) + body.one_minus_beta2 * g * g;
    T d = math::sqrt(stored(second, t.state[1]));
    d = stored(second, stored(second, d) / body.sqrt_correction2);
    d = stored(second, d + body.epsilon);
    t.step = body.step_size * mean / d;
  }
};

/// One update, rounded as the launch asks for. Returns whether it was lost.
template <class T, class Optimizer>
ULPSCOPE_DEVICE bool update_element(const UpdateOperands& o, const typename Optimizer::Body& body, const UpdateStream& stream, bool decays,
                                    std::int64_t i) {
  UpdateItem<T> t;
  t.gradient = read_element<T>(o.gradient, i);
  t.weight = t.decayed = read_element<T>(o.weight.view, i);
  ULPSCOPE_UNROLL
  for (int k = 0; k < max_states; ++k) t.state[k] = k < o.states ? read_element<T>(o.state[k].view, i) : T(0);
  if (o.numerics.each_operation) {
    Optimizer::operations(body, o, t);
  } else {
    Optimizer::steps(body, o, t);
  }
  const Format format = o.weight.view.format;
  const T exact = t.decayed - t.step;
  T proposed = exact, compensation = T(0);
  if (o.numerics.rounding == UpdateRounding::stochastic) proposed = stochastically_rounded(format, proposed, stream.word(i));
  if (o.kahan()) {   // what was lost so far is added first
    compensation = read_element<T>(o.compensation.view, i) + (t.weight * Optimizer::decay_change(body) - t.step);
    proposed = t.weight + compensation;
  }
  put_element(o.weight, i, proposed);
  if (o.before_stochastic) static_cast<T*>(o.weight.before)[i] = exact;
  const T after = stored(format, proposed);
  ULPSCOPE_UNROLL
  for (int k = 0; k < max_states; ++k)
    if (k < o.states) put_element(o.state[k], i, t.state[k]);
  if (o.kahan()) put_element(o.compensation, i, compensation - (after - t.weight));
  return update_is_lost(t.weight, after, t.step, decays);
}

/// lost: null if nobody counts.
template <class T, class Optimizer>
ULPSCOPE_KERNEL void update_kernel(UpdateOperands o, ParameterBytes parameters, const StepState* state, std::int64_t* lost) {
  ULPSCOPE_SHARED typename Optimizer::Body shared;
  if (!may_commit(*state)) return;
  if (thread_index() == 0) shared = Optimizer::Body::make(parameters.bytes, state, o.weight.view.elements);
  block_barrier();
  const typename Optimizer::Body body = shared;
  const UpdateStream stream = UpdateStream::make(o.numerics, state);
  const bool decays = o.weight_decay && state->learning_rate != 0.0;
  std::int64_t own = 0;
  for (std::int64_t i = global_thread(); i < o.weight.view.elements; i += global_threads())
    own += update_element<T, Optimizer>(o, body, stream, decays, i) ? 1 : 0;
  if (lost != nullptr && own != 0) atomic_add(lost, own);
}

ULPSCOPE_DEVICE void update_run(const SgdBody<float>& body, const float* g, float* p, float (&)[1][run_length], int j) { body(g[j], p[j]); }
ULPSCOPE_DEVICE void update_run(const SgdBody<float>& body, const float* g, float* p, float (&s)[2][run_length], int j) {
  body(g[j], p[j], s[0][j]);
}
ULPSCOPE_DEVICE void update_run(const AdamWBody<float>& body, const float* g, float* p, float (&s)[3][run_length], int j) {
  body(g[j], p[j], s[0][j], s[1][j]);
}

struct RunOperands {
  DeviceView gradient, weight, state[max_states];
};

/// Every operand flat, in a format of runs; nobody looks, and every result is rounded once, to nearest.
template <class Optimizer, int states>
ULPSCOPE_KERNEL void update_run_kernel(RunOperands o, ParameterBytes parameters, const StepState* state) {
  ULPSCOPE_SHARED typename Optimizer::Body shared;
  if (!may_commit(*state)) return;
  if (thread_index() == 0) shared = Optimizer::Body::make(parameters.bytes, state, o.weight.elements);
  block_barrier();
  const typename Optimizer::Body body = shared;
  for (std::int64_t begin = global_thread() * run_length; begin < o.weight.elements; begin += global_threads() * run_length) {
    const std::int64_t left = o.weight.elements - begin;
    const int n = left < run_length ? static_cast<int>(left) : run_length;
    float g[run_length] = {}, p[run_length] = {}, s[states + 1][run_length] = {};
    load_run(o.gradient, begin, n, g);
    load_run(o.weight, begin, n, p);
    ULPSCOPE_UNROLL
    for (int k = 0; k < states; ++k) load_run(o.state[k], begin, n, s[k]);
    ULPSCOPE_UNROLL
    for (int j = 0; j < run_length; ++j) update_run(body, g, p, s, j);
    store_run(o.weight, begin, n, p);
    ULPSCOPE_UNROLL
    for (int k = 0; k < states; ++k) store_run(o.state[k], begin, n, s[k]);
  }
}

bool observed(const Launch& l) {
  for (int o = 0; l.counts != nullptr && o < l.out_count; ++o)
    if (l.counts[o] != nullptr) return true;
  return false;
}

bool all_runs(const UpdateOperands& o) {
  bool runs = o.gradient.runs && o.weight.view.runs;
  for (int k = 0; k < o.states; ++k) runs = runs && o.state[k].view.runs;
  return runs;
}

template <class Optimizer, int states>
void launch_runs(const Launch& l, const UpdateOperands& o, const ParameterBytes& parameters) {
  RunOperands run{o.gradient, o.weight.view, {}};
  for (int k = 0; k < states; ++k) run.state[k] = o.state[k].view;
  launch_team(update_run_kernel<Optimizer, states>, blocks_of(o.weight.view.elements, run_length), team_threads, 0, l.stream, run,
              parameters, static_cast<const StepState*>(l.state));
}

/// The outputs of a launch: weight, states, and with Kahan the compensation.
template <class T, class Optimizer, class Params>
void run_update(const char* operation, const Launch& l, int states, bool weight_decay) {
  const UpdateNumerics& numerics = static_cast<const Params*>(l.params)->numerics;
  const bool kahan = numerics.rounding == UpdateRounding::kahan, looked_at = observed(l);
  expect_operands(operation, l, 1, 1 + states + (kahan ? 1 : 0));
  UpdateOperands o;
  o.gradient = DeviceView(broadcast_view(operation, l.in[0], l.out[0].shape));
  for (int i = 0; i < l.out_count; ++i) expect_shape(operation, "an output", l.out[i].shape, l.out[0].shape);
  if (looked_at) {   // the host waits for the counts in any case
    StepState state;
    copy_to_host(&state, l.state, sizeof state, l.stream);
    if (!may_commit(state)) return;
  }
  Observation<T> observation(l);
  o.weight = observation.result(0, view_of(l.out[0]));
  for (int k = 0; k < states; ++k) o.state[k] = observation.result(1 + k, view_of(l.out[1 + k]));
  if (kahan) o.compensation = observation.result(1 + states, view_of(l.out[1 + states]));
  o.states = states;
  o.numerics = numerics;
  o.weight_decay = weight_decay;
  // What is proposed is rounded already: what that lost is counted on the weights as they were before it, but for a look at the range alone.
  o.before_stochastic = numerics.rounding == UpdateRounding::stochastic && o.weight.before != nullptr && !l.counts[0]->range_only;
  const ParameterBytes parameters = parameter_bytes<Params>(l);
  const std::int64_t elements = o.weight.view.elements;
  if constexpr (sizeof(T) == sizeof(float)) {
    if (numerics.plain() && !looked_at && all_runs(o)) {
      if constexpr (Optimizer::momentum_is_optional) {
        if (states == 0) return launch_runs<Optimizer, 0>(l, o, parameters);
        return launch_runs<Optimizer, 1>(l, o, parameters);
      } else {
        return launch_runs<Optimizer, 2>(l, o, parameters);
      }
    }
  }
  std::int64_t* lost = begin_lost_updates(operation, l);
  launch_team(update_kernel<T, Optimizer>, blocks_of(elements, 1), team_threads, 0, l.stream, o, parameters,
              static_cast<const StepState*>(l.state), lost);
  for (int i = 0; i < l.out_count; ++i) observation.count(i, count_tiles(elements));
  finish_lost_updates(l, lost);
}

template <class T>
void run_sgd(const Launch& l) {
  // What is launched decides, not the number: a momentum that rounds to 0 in fp32 still has its buffer.
  const SgdParams& params = *static_cast<const SgdParams*>(l.params);
  const bool momentum = l.out_count > (params.numerics.rounding == UpdateRounding::kahan ? 2 : 1);
  if (!momentum && params.momentum != 0.0f) fail("sgd", "momentum needs a buffer as its second output");
  run_update<T, Sgd<T>, SgdParams>("sgd", l, momentum ? 1 : 0, false);
}

template <class T>
void run_adamw(const Launch& l) {
  run_update<T, AdamW<T>, AdamWParams>("adamw", l, 2, static_cast<const AdamWParams*>(l.params)->weight_decay != 0.0);
}

template <class T>
void add_update(KernelTable& table, Format compute) {
  table.add("sgd", compute, Kernel{run_sgd<T>, lost_updates_workspace});
  table.add("adamw", compute, Kernel{run_adamw<T>, lost_updates_workspace});
}

}  // namespace

void register_update(KernelTable& table) {
  add_update<float>(table, Format::fp32);
  add_update<double>(table, Format::fp64);
}

}  // namespace ulpscope::cuda
