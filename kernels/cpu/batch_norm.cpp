// Batch norm, its gradients, and the sum of each channel: x is [N, C, L].
#include "kernels/ops/batch_norm.h"

#include "kernels/cpu/register_isa.h"
#include "kernels/cpu/rows.h"
#include "kernels/ops/params.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

struct Channels {
  std::int64_t samples = 0, channels = 0, length = 0;

  std::int64_t elements() const { return samples * channels * length; }
  std::int64_t begin(std::int64_t sample, std::int64_t channel) const { return (sample * channels + channel) * length; }
};

Channels channels_of(const char* operation, const Tensor& x) {
  if (x.shape.rank != 3) fail(operation, "takes [N, C, L]");
  return {x.shape.dim[0], x.shape.dim[1], x.shape.dim[2]};
}

/// For each thread: `runs` runs and the sums of the samples.
inline std::size_t thread_items(const Channels& c, int runs) {
  return padded(c.length) * static_cast<std::size_t>(runs) + padded(c.samples);
}
template <class T, int runs>
std::size_t workspace(const Launch& launch) {
  const Tensor& x = launch.in[0];
  if (x.shape.rank != 3) return 0;
  const std::size_t threads = static_cast<std::size_t>(launch.threads < 1 ? 1 : launch.threads);
  return threads * thread_items({x.shape.dim[0], x.shape.dim[1], x.shape.dim[2]}, runs) * sizeof(T);
}

/// work(channel, own, tally) for every channel; own: thread_items elements.
template <class T, class Work>
inline void for_channels(const Launch& launch, const Channels& c, int runs, int cost, const Work& work) {
  run_units(launch, c.channels, c.elements() * cost,
            [&](int thread, std::int64_t first, std::int64_t last, RoundingTally* const* tally) {
              T* own = static_cast<T*>(launch.workspace) + static_cast<std::size_t>(thread) * thread_items(c, runs);
              for (std::int64_t channel = first; channel < last; ++channel) work(channel, own, tally);
            });
}

template <class T>
void run_forward(const Launch& launch) {
  const char* operation = "batch_norm";
  expect_operands(operation, launch, 3, 4);
  expect_workspace(operation, launch);
  const Channels c = channels_of(operation, launch.in[0]);
  expect_shape(operation, "y", launch.out[0].shape, launch.in[0].shape);
  const View x = view_of(launch.in[0]), y = view_of(launch.out[0]);
  const View gamma = vector_view(operation, launch.in[1], c.channels),
             beta = vector_view(operation, launch.in[2], c.channels);
  const View mean = vector_view(operation, launch.out[1], c.channels),
             rstd = vector_view(operation, launch.out[2], c.channels);
  const View variance = vector_view(operation, launch.out[3], c.channels);
  const T epsilon = static_cast<T>(static_cast<const BatchNormParams*>(launch.params)->epsilon);
  for_channels<T>(launch, c, 2, 6, [&](std::int64_t channel, T* own, RoundingTally* const* tally) {
    T* result = own + padded(c.length);
    const auto run = [&](std::int64_t r) { return read_run(x, c.begin(r, channel), c.length, own); };
    const ChannelMoments<T> m =
        channel_moments<T>(SerialTeam{}, c.samples, c.length, result + padded(c.length), run, epsilon);
    const T g = read_element<T>(gamma, channel), b = read_element<T>(beta, channel);
    for (std::int64_t r = 0; r < c.samples; ++r) {
      T* place = write_place(y, c.begin(r, channel), result, tally[0]);
      batch_norm_run(SerialTeam{}, run(r), m.mean, m.rstd, g, b, place, c.length);
      write_run(y, c.begin(r, channel), c.length, place, tally[0]);
    }
    write_element(mean, channel, m.mean, tally[1]);
    write_element(rstd, channel, m.rstd, tally[2]);
    write_element(variance, channel, m.variance, tally[3]);
  });
}

template <class T>
void run_inference(const Launch& launch) {
  const char* operation = "batch_norm_inference";
  expect_operands(operation, launch, 5, 1);
  expect_workspace(operation, launch);
  const Channels c = channels_of(operation, launch.in[0]);
  expect_shape(operation, "y", launch.out[0].shape, launch.in[0].shape);
  const View x = view_of(launch.in[0]), y = view_of(launch.out[0]);
  View vector[4];
  for (int i = 0; i < 4; ++i) vector[i] = vector_view(operation, launch.in[i + 1], c.channels);
  const T epsilon = static_cast<T>(static_cast<const BatchNormParams*>(launch.params)->epsilon);
  for_channels<T>(launch, c, 2, 2, [&](std::int64_t channel, T* own, RoundingTally* const* tally) {
    T value[4];
    for (int i = 0; i < 4; ++i) value[i] = read_element<T>(vector[i], channel);
    const T rstd = T(1) / math::sqrt(value[3] + epsilon);
    for (std::int64_t r = 0; r < c.samples; ++r) {
      T* place = write_place(y, c.begin(r, channel), own + padded(c.length), tally[0]);
      batch_norm_run(SerialTeam{}, read_run(x, c.begin(r, channel), c.length, own), value[2], rstd, value[0], value[1],
                     place, c.length);
      write_run(y, c.begin(r, channel), c.length, place, tally[0]);
    }
  });
}

template <class T>
void run_backward(const Launch& launch) {
  const char* operation = "batch_norm_backward";
  expect_operands(operation, launch, 5, 3);
  expect_workspace(operation, launch);
  const Channels c = channels_of(operation, launch.in[0]);
  expect_shape(operation, "dy", launch.in[4].shape, launch.in[0].shape);
  expect_shape(operation, "dx", launch.out[0].shape, launch.in[0].shape);
  const View x = view_of(launch.in[0]), dy = view_of(launch.in[4]), dx = view_of(launch.out[0]);
  View vector[3];
  for (int i = 0; i < 3; ++i) vector[i] = vector_view(operation, launch.in[i + 1], c.channels);
  const View dgamma = vector_view(operation, launch.out[1], c.channels),
             dbeta = vector_view(operation, launch.out[2], c.channels);
  const T count = static_cast<T>(c.samples * c.length);
  for_channels<T>(launch, c, 3, 8, [&](std::int64_t channel, T* own, RoundingTally* const* tally) {
    T* second = own + padded(c.length);
    T* result = second + padded(c.length);
    const T gamma = read_element<T>(vector[0], channel), mean = read_element<T>(vector[1], channel);
    const T rstd = read_element<T>(vector[2], channel);
    const auto run = [&](std::int64_t r) {
      return RunPair<T>{read_run(x, c.begin(r, channel), c.length, own),
                        read_run(dy, c.begin(r, channel), c.length, second)};
    };
    const ChannelGradients<T> g =
        channel_gradients<T>(SerialTeam{}, c.samples, c.length, result + padded(c.length), run, mean, rstd);
    for (std::int64_t r = 0; r < c.samples; ++r) {
      T* place = write_place(dx, c.begin(r, channel), result, tally[0]);
      batch_norm_backward_run(SerialTeam{}, run(r), mean, rstd, gamma, g.dbeta / count, g.dgamma / count, place,
                              c.length);
      write_run(dx, c.begin(r, channel), c.length, place, tally[0]);
    }
    write_element(dgamma, channel, g.dgamma, tally[1]);
    write_element(dbeta, channel, g.dbeta, tally[2]);
  });
}

template <class T>
void run_sum(const Launch& launch) {
  const char* operation = "sum_channels";
  expect_operands(operation, launch, 1, 1);
  expect_workspace(operation, launch);
  const Channels c = channels_of(operation, launch.in[0]);
  const View x = view_of(launch.in[0]), y = vector_view(operation, launch.out[0], c.channels);
  for_channels<T>(launch, c, 1, 1, [&](std::int64_t channel, T* own, RoundingTally* const* tally) {
    const auto run = [&](std::int64_t r) { return read_run(x, c.begin(r, channel), c.length, own); };
    const T sum = channel_sum<T>(SerialTeam{}, c.samples, c.length, own + padded(c.length), run,
                                 [](const T* in, std::int64_t i) { return in[i]; });
    write_element(y, channel, sum, tally[0]);
  });
}

template <class T>
void add_batch_norm(KernelTable& table) {
  add_kernel(table, "batch_norm", format_of<T>(), run_forward<T>, workspace<T, 2>);
  add_kernel(table, "batch_norm_inference", format_of<T>(), run_inference<T>, workspace<T, 2>);
  add_kernel(table, "batch_norm_backward", format_of<T>(), run_backward<T>, workspace<T, 3>);
  add_kernel(table, "sum_channels", format_of<T>(), run_sum<T>, workspace<T, 1>);
}

}  // namespace

void register_batch_norm(KernelTable& table) {
  add_batch_norm<float>(table);
  add_batch_norm<double>(table);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
