// Batch norm, its gradients, and the sum of each channel: x is [N, C, L]. The sums of the runs of L elements, a team for each; then
// those of each channel; then every element.
#include "kernels/ops/batch_norm.h"

#include "kernels/cuda/block_team.h"
#include "kernels/cuda/observation.h"
#include "kernels/cuda/read.h"
#include "kernels/cuda/register.h"
#include "kernels/ops/params.h"

namespace ulpscope::cuda {
namespace {

constexpr std::int64_t short_run = 1024;   ///< up to here a run is one warp's

struct Channels {
  std::int64_t samples = 0, channels = 0, length = 0;

  ULPSCOPE_MEMBER std::int64_t elements() const { return samples * channels * length; }
  ULPSCOPE_MEMBER std::int64_t runs() const { return samples * channels; }
};

Channels channels_of(const char* operation, const Tensor& x) {
  if (x.shape.rank != 3) fail(operation, "takes [N, C, L]");
  const Channels c = {x.shape.dim[0], x.shape.dim[1], x.shape.dim[2]};
  if (c.samples > longest_team_run || c.length > longest_team_run) fail(operation, "runs of more than 2^28 elements");
  return c;
}

/// What a channel's elements are computed with.
template <class T>
struct Constants {
  T mean, rstd, gamma, beta;
  T mean_dy, mean_dyx;
};

// Workspace: the constants of every channel, then the sums of the runs, [C, N] once or twice.
template <class T, int sums>
std::size_t workspace(const Launch& l) {
  const Tensor& x = l.in[0];
  if (x.shape.rank != 3) return 0;
  const std::size_t channels = static_cast<std::size_t>(x.shape.dim[1]), samples = static_cast<std::size_t>(x.shape.dim[0]);
  return channels * (sizeof(Constants<T>) + samples * sums * sizeof(T));
}
template <class T>
Constants<T>* constants_of(const Launch& l) {
  return static_cast<Constants<T>*>(l.workspace);
}
template <class T>
T* sums_of(const Launch& l, const Channels& c) {
  return reinterpret_cast<T*>(constants_of<T>(l) + c.channels);
}

enum class RunTerm { value, squared_deviation, dgamma };

/// sums[c * N + r]: of run r of channel c.
template <class T, int threads>
ULPSCOPE_KERNEL void run_sum_kernel(RunTerm term, DeviceView a, DeviceView dy, Channels c, const Constants<T>* constants, T* sums) {
  ULPSCOPE_SHARED double scratch[threads];
  const BlockTeam<threads> team{scratch};
  for (std::int64_t run = block_index(); run < c.runs(); run += grid_blocks()) {
    const Divided place = divided(run, c.samples);
    const std::int64_t begin = (place.rest * c.channels + place.quotient) * c.length;
    const T mean = term == RunTerm::value ? T(0) : constants[place.quotient].mean;
    const T rstd = term == RunTerm::dgamma ? constants[place.quotient].rstd : T(0);
    const T sum = team.template sum<T>(c.length, [&a, &dy, term, begin, mean, rstd](std::int64_t i) {
      const T x = read_element<T>(a, begin + i);
      if (term == RunTerm::value) return x;
      if (term == RunTerm::squared_deviation) return squared_deviation(x, mean);
      return dgamma_term(x, read_element<T>(dy, begin + i), mean, rstd);
    });
    if (thread_index() == 0) sums[run] = sum;
  }
}

/// finish(channel, sum, second sum): by one thread of the channel's team. second: 0, or how far apart the two sums of a run are.
template <class T, class Finish>
ULPSCOPE_KERNEL void channel_kernel(Channels c, const T* sums, std::int64_t second, Finish finish) {
  ULPSCOPE_SHARED double scratch[team_threads];
  const BlockTeam<team_threads> team{scratch};
  for (std::int64_t channel = block_index(); channel < c.channels; channel += grid_blocks()) {
    const T* own = sums + channel * c.samples;
    const T a = team.template sum<T>(c.samples, [own](std::int64_t r) { return own[r]; });
    const T b = second == 0 ? T(0) : team.template sum<T>(c.samples, [own, second](std::int64_t r) { return own[second + r]; });
    if (thread_index() == 0) finish(channel, a, b);
  }
}

template <class T>
void sum_runs(const Launch& l, const Channels& c, RunTerm term, const DeviceView& a, const DeviceView& dy, T* sums) {
  const Constants<T>* constants = constants_of<T>(l);
  if (c.length <= short_run) {
    launch_team(run_sum_kernel<T, 32>, blocks_for(c.runs()), 32, 0, l.stream, term, a, dy, c, constants, sums);
  } else {
    launch_team(run_sum_kernel<T, team_threads>, blocks_for(c.runs()), team_threads, 0, l.stream, term, a, dy, c, constants, sums);
  }
}

/// One step of a reduction: the runs' sums, and what each channel makes of them.
template <class T, class Finish>
void reduce_channels(const Launch& l, const Channels& c, RunTerm term, const DeviceView& x, const Finish& finish) {
  T* sums = sums_of<T>(l, c);
  sum_runs(l, c, term, x, x, sums);
  launch_team(channel_kernel<T, Finish>, blocks_for(c.channels), team_threads, 0, l.stream, c, sums, std::int64_t{0}, finish);
}

template <class T>
struct KeepMean {
  Constants<T>* constants;
  T count;
  ULPSCOPE_DEVICE_MEMBER void operator()(std::int64_t channel, T sum, T) const { constants[channel].mean = sum / count; }
};

template <class T>
struct KeepMoments {
  Constants<T>* constants;
  T count, epsilon;
  DeviceView gamma, beta;
  Result mean, rstd, variance;
  ULPSCOPE_DEVICE_MEMBER void operator()(std::int64_t channel, T squares, T) const {
    Constants<T>& own = constants[channel];
    const ChannelMoments<T> m = moments_from(own.mean, squares, count, epsilon);
    own.rstd = m.rstd;
    own.gamma = read_element<T>(gamma, channel);
    own.beta = read_element<T>(beta, channel);
    write_element(mean, channel, m.mean);
    write_element(rstd, channel, m.rstd);
    write_element(variance, channel, m.variance);
  }
};

template <class T>
ULPSCOPE_KERNEL void normalise_kernel(DeviceView x, Channels c, const Constants<T>* constants, Result y) {
  for (std::int64_t i = global_thread(); i < c.elements(); i += global_threads()) {
    const Constants<T>& own = constants[divided(divided(i, c.length).quotient, c.channels).rest];
    put_element(y, i, batch_norm_element(read_element<T>(x, i), own.mean, own.rstd, own.gamma, own.beta));
  }
}

template <class T>
void run_forward(const Launch& l) {
  const char* operation = "batch_norm";
  expect_operands(operation, l, 3, 4);
  expect_workspace(operation, l);
  const Channels c = channels_of(operation, l.in[0]);
  expect_shape(operation, "y", l.out[0].shape, l.in[0].shape);
  const DeviceView x(view_of(l.in[0]));
  const View gamma = vector_view(operation, l.in[1], c.channels), beta = vector_view(operation, l.in[2], c.channels);
  const View vector[] = {vector_view(operation, l.out[1], c.channels), vector_view(operation, l.out[2], c.channels),
                         vector_view(operation, l.out[3], c.channels)};
  Observation<T> observation(l);
  const Result y = observation.result(0, view_of(l.out[0]));
  Constants<T>* constants = constants_of<T>(l);
  const T count = static_cast<T>(c.samples * c.length);
  reduce_channels<T>(l, c, RunTerm::value, x, KeepMean<T>{constants, count});
  const T epsilon = static_cast<T>(static_cast<const BatchNormParams*>(l.params)->epsilon);
  reduce_channels<T>(l, c, RunTerm::squared_deviation, x,
                     KeepMoments<T>{constants, count, epsilon, DeviceView(gamma), DeviceView(beta), observation.result(1, vector[0]),
                                    observation.result(2, vector[1]), observation.result(3, vector[2])});
  launch(normalise_kernel<T>, blocks_of_threads(c.elements()), team_threads, l.stream, x, c, constants, y);
  observation.count(0, count_channels(c.samples, c.channels, c.length));
  for (int o = 1; o < 4; ++o) observation.count(o, count_rows(c.channels, 1));
}

struct ChannelVectors {
  DeviceView gamma, beta, mean, variance;
};

template <class T>
ULPSCOPE_KERNEL void constants_kernel(ChannelVectors v, T epsilon, std::int64_t channels, Constants<T>* constants) {
  for (std::int64_t c = global_thread(); c < channels; c += global_threads()) {
    const T rstd = T(1) / math::sqrt(read_element<T>(v.variance, c) + epsilon);
    constants[c] = {read_element<T>(v.mean, c), rstd, read_element<T>(v.gamma, c), read_element<T>(v.beta, c), T(0), T(0)};
  }
}

template <class T>
void run_inference(const Launch& l) {
  const char* operation = "batch_norm_inference";
  expect_operands(operation, l, 5, 1);
  expect_workspace(operation, l);
  const Channels c = channels_of(operation, l.in[0]);
  expect_shape(operation, "y", l.out[0].shape, l.in[0].shape);
  View vector[4];
  for (int i = 0; i < 4; ++i) vector[i] = vector_view(operation, l.in[i + 1], c.channels);
  Observation<T> observation(l);
  const Result y = observation.result(0, view_of(l.out[0]));
  Constants<T>* constants = constants_of<T>(l);
  const T epsilon = static_cast<T>(static_cast<const BatchNormParams*>(l.params)->epsilon);
  const ChannelVectors v = {DeviceView(vector[0]), DeviceView(vector[1]), DeviceView(vector[2]), DeviceView(vector[3])};
  launch(constants_kernel<T>, blocks_of_threads(c.channels), team_threads, l.stream, v, epsilon, c.channels, constants);
  launch(normalise_kernel<T>, blocks_of_threads(c.elements()), team_threads, l.stream, DeviceView(view_of(l.in[0])), c, constants, y);
  observation.count(0, count_channels(c.samples, c.channels, c.length));
}

/// gamma, mean and rstd where the sums of the runs look for them.
template <class T>
ULPSCOPE_KERNEL void given_constants_kernel(DeviceView gamma, DeviceView mean, DeviceView rstd, std::int64_t channels,
                                            Constants<T>* constants) {
  for (std::int64_t c = global_thread(); c < channels; c += global_threads())
    constants[c] = {read_element<T>(mean, c), read_element<T>(rstd, c), read_element<T>(gamma, c), T(0), T(0), T(0)};
}

template <class T>
struct KeepGradients {
  Constants<T>* constants;
  T count;
  Result dgamma, dbeta;
  ULPSCOPE_DEVICE_MEMBER void operator()(std::int64_t channel, T sum, T product) const {
    constants[channel].mean_dy = sum / count;
    constants[channel].mean_dyx = product / count;
    write_element(dgamma, channel, product);
    write_element(dbeta, channel, sum);
  }
};

template <class T>
ULPSCOPE_KERNEL void backward_kernel(DeviceView x, DeviceView dy, Channels c, const Constants<T>* constants, Result dx) {
  for (std::int64_t i = global_thread(); i < c.elements(); i += global_threads()) {
    const Constants<T>& own = constants[divided(divided(i, c.length).quotient, c.channels).rest];
    put_element(dx, i, batch_norm_backward_element(read_element<T>(x, i), read_element<T>(dy, i), own.mean, own.rstd,
                                                   own.gamma * own.rstd, own.mean_dy, own.mean_dyx));
  }
}

template <class T>
void run_backward(const Launch& l) {
  const char* operation = "batch_norm_backward";
  expect_operands(operation, l, 5, 3);
  expect_workspace(operation, l);
  const Channels c = channels_of(operation, l.in[0]);
  expect_shape(operation, "dy", l.in[4].shape, l.in[0].shape);
  expect_shape(operation, "dx", l.out[0].shape, l.in[0].shape);
  const DeviceView x(view_of(l.in[0])), dy(view_of(l.in[4]));
  View vector[3];
  for (int i = 0; i < 3; ++i) vector[i] = vector_view(operation, l.in[i + 1], c.channels);
  const View written[] = {vector_view(operation, l.out[1], c.channels), vector_view(operation, l.out[2], c.channels)};
  Observation<T> observation(l);
  const Result dx = observation.result(0, view_of(l.out[0]));
  Constants<T>* constants = constants_of<T>(l);
  launch(given_constants_kernel<T>, blocks_of_threads(c.channels), team_threads, l.stream, DeviceView(vector[0]), DeviceView(vector[1]),
         DeviceView(vector[2]), c.channels, constants);
  T* sums = sums_of<T>(l, c);
  sum_runs(l, c, RunTerm::value, dy, dy, sums);
  sum_runs(l, c, RunTerm::dgamma, x, dy, sums + c.runs());
  launch_team(channel_kernel<T, KeepGradients<T>>, blocks_for(c.channels), team_threads, 0, l.stream, c, sums, c.runs(),
              KeepGradients<T>{constants, static_cast<T>(c.samples * c.length), observation.result(1, written[0]),
                               observation.result(2, written[1])});
  launch(backward_kernel<T>, blocks_of_threads(c.elements()), team_threads, l.stream, x, dy, c, constants, dx);
  observation.count(0, count_channels(c.samples, c.channels, c.length));
  for (int o = 1; o < 3; ++o) observation.count(o, count_rows(c.channels, 1));
}

template <class T>
struct StoreSum {
  Result y;
  ULPSCOPE_DEVICE_MEMBER void operator()(std::int64_t channel, T sum, T) const { write_element(y, channel, sum); }
};

template <class T>
void run_sum(const Launch& l) {
  const char* operation = "sum_channels";
  expect_operands(operation, l, 1, 1);
  expect_workspace(operation, l);
  const Channels c = channels_of(operation, l.in[0]);
  const DeviceView x(view_of(l.in[0]));
  Observation<T> observation(l);
  reduce_channels<T>(l, c, RunTerm::value, x, StoreSum<T>{observation.result(0, vector_view(operation, l.out[0], c.channels))});
  observation.count(0, count_rows(c.channels, 1));
}

template <class T>
void add_batch_norm(KernelTable& table, Format compute) {
  table.add("batch_norm", compute, Kernel{run_forward<T>, workspace<T, 1>});
  table.add("batch_norm_inference", compute, Kernel{run_inference<T>, workspace<T, 1>});
  table.add("batch_norm_backward", compute, Kernel{run_backward<T>, workspace<T, 2>});
  table.add("sum_channels", compute, Kernel{run_sum<T>, workspace<T, 1>});
}

}  // namespace

void register_batch_norm(KernelTable& table) {
  add_batch_norm<float>(table, Format::fp32);
  add_batch_norm<double>(table, Format::fp64);
}

}  // namespace ulpscope::cuda
