#include "engine/graph/initialise.h"

#include <algorithm>

#include <fmt/format.h>

#include "engine/streams.h"
#include "kernels/error.h"
#include "kernels/formats/convert.h"

namespace ulpscope::engine {
namespace {

constexpr std::int64_t worth_a_team = 1 << 16;   ///< numbers; a thread takes some milliseconds for them

/// values[i] = draw(i).
template <class Draw>
void fill(std::vector<float>& values, int threads, const Draw& draw) {
  const auto n = static_cast<std::int64_t>(values.size());
  float* to = values.data();
#pragma omp parallel for num_threads(threads) schedule(static) if (threads > 1 && n >= worth_a_team)
  for (std::int64_t i = 0; i < n; ++i) to[i] = draw(static_cast<std::uint64_t>(i));
}

}  // namespace

std::vector<float> initial_values(const Value& value, std::uint64_t seed, int threads) {
  const Initial& initial = value.initial;
  const auto n = static_cast<std::size_t>(value.shape.elements());
  std::vector<float> values(n, 0.0f);
  const std::uint64_t key = math::random_key(seed, weight_stream(value.name));
  const auto scale = static_cast<float>(initial.scale);
  switch (initial.kind) {
    case Initial::Kind::zeros: break;
    case Initial::Kind::ones: std::fill(values.begin(), values.end(), 1.0f); break;
    case Initial::Kind::constant: std::fill(values.begin(), values.end(), scale); break;
    case Initial::Kind::normal:
      fill(values, threads, [=](std::uint64_t i) { return scale * math::random_normal(key, i, 0, 0); });
      break;
    case Initial::Kind::uniform:
      if (initial.list.size() == 2) {
        const float low = initial.list[0], high = initial.list[1];
        fill(values, threads, [=](std::uint64_t i) { return low + (high - low) * math::random_uniform(key, i, 0, 0); });
        break;
      }
      fill(values, threads, [=](std::uint64_t i) { return scale * (2.0f * math::random_uniform(key, i, 0, 0) - 1.0f); });
      break;
    case Initial::Kind::values:
      if (initial.list.size() != n)
        throw Error(fmt::format("value '{}' {} is given {} numbers", value.name, to_string(value.shape), initial.list.size()));
      values = initial.list;
      break;
  }
  return values;
}

void store(const std::vector<float>& values, Format format, void* memory) {
  if (format == Format::fp64) {
    std::copy(values.begin(), values.end(), static_cast<double*>(memory));
  } else if (format == Format::fp32) {
    std::copy(values.begin(), values.end(), static_cast<float*>(memory));
  } else if (format == Format::i32) {
    std::transform(values.begin(), values.end(), static_cast<std::int32_t*>(memory),
                   [](float v) { return static_cast<std::int32_t>(v); });
  } else {
    narrow(format, values.data(), memory, values.size());
  }
}

void load(Format format, const void* memory, std::span<float> values) {
  if (format == Format::fp64) {
    const auto* from = static_cast<const double*>(memory);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(from[i]);
  } else if (format == Format::i32) {
    const auto* from = static_cast<const std::int32_t*>(memory);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(from[i]);
  } else {
    widen(format, memory, values.data(), values.size());
  }
}

std::vector<float> load(Format format, const void* memory, std::int64_t elements) {
  std::vector<float> values(static_cast<std::size_t>(elements));
  load(format, memory, values);
  return values;
}

}  // namespace ulpscope::engine
