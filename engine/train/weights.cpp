#include "engine/train/weights.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "engine/data/array.h"
#include "engine/graph/initialise.h"
#include "kernels/error.h"
#include "kernels/nearest.h"

namespace ulpscope::engine {
namespace {

[[noreturn]] void refuse(const std::string& path, const std::string& why) {
  throw UsageError(fmt::format("model.weights: {}: {}", path, why));
}

bool is_weight(const Value& value) { return value.role == Role::parameter || value.role == Role::buffer; }

void check_tensor(const NamedTensor& tensor, const Value& value, const std::string& path) {
  const auto dims = std::span(value.shape.dim).first(static_cast<std::size_t>(value.shape.rank));
  if (!std::equal(dims.begin(), dims.end(), tensor.shape.begin(), tensor.shape.end()))
    refuse(path, fmt::format("'{}' has shape {}, the model's is {}", value.name, shape_text(tensor.shape), shape_text(dims)));
  const auto format = format_of_dtype(tensor.dtype);
  if (!format || *format == Format::i32) refuse(path, fmt::format("'{}' is {}, no floating-point numbers", value.name, tensor.dtype));
  const std::vector<float> numbers = tensor.numbers();
  const auto bad = std::find_if(numbers.begin(), numbers.end(), [](float x) { return !std::isfinite(x); });
  if (bad != numbers.end())
    refuse(path, fmt::format("'{}' is {} at element {}", value.name, std::isnan(*bad) ? "NaN" : "infinite", bad - numbers.begin()));
}

}  // namespace

std::vector<std::string> weight_names(const Graph& graph) {
  std::vector<std::string> names;
  for (const Value& value : graph.values())
    if (!value.producer && is_weight(value)) names.push_back(value.name);
  return names;
}

TensorFile read_weights(const std::string& path) {
  try {
    return read_safetensors(path);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("model.weights: {}", error.what()));
  }
}

TensorFile weights_file(const TrainerState& state, const std::vector<std::string>& names) {
  TensorFile file;
  for (const std::string& name : names) {
    const auto tensor = std::find_if(state.tensors.begin(), state.tensors.end(), [&](const NamedTensor& t) { return t.name == name; });
    if (tensor == state.tensors.end()) throw Error(fmt::format("the saved state has no '{}'", name));
    file.tensors.push_back(*tensor);
  }
  return file;
}

TensorFile in_format(const TensorFile& file, Format format, std::int64_t& flushed) {
  TensorFile result;
  result.metadata = file.metadata;
  for (const NamedTensor& tensor : file.tensors) {
    const auto from = format_of_dtype(tensor.dtype);
    if (!from || *from == Format::i32 || *from == format) {
      result.tensors.push_back(tensor);
      continue;
    }
    const std::vector<float> numbers = tensor.numbers();
    NamedTensor rounded{tensor.name, dtype(format), tensor.shape, std::vector<std::byte>(numbers.size() * static_cast<std::size_t>(storage_bytes(format)))};
    store(numbers, format, rounded.data.data());
    const std::vector<float> stored = rounded.numbers();
    std::int64_t overflowed = 0;
    float greatest = 0.0f;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      flushed += numbers[i] != 0.0f && stored[i] == 0.0f ? 1 : 0;
      if (!std::isfinite(numbers[i]) || std::isfinite(stored[i])) continue;
      ++overflowed;
      greatest = std::max(greatest, std::fabs(numbers[i]));
    }
    if (overflowed > 0)
      throw UsageError(fmt::format("{} of {} numbers of '{}' are beyond the range of {} (the greatest is {:g}): export them as fp32 or bf16",
                                   overflowed, numbers.size(), tensor.name, name(format), greatest));
    result.tensors.push_back(std::move(rounded));
  }
  return result;
}

WeightsSummary check_weights(const TensorFile& file, const std::string& path, const Graph& graph, const Mode& mode, bool widen) {
  for (const NamedTensor& tensor : file.tensors) {
    if (graph.contains(tensor.name) && !graph.value(graph.find(tensor.name)).producer) continue;
    if (file.metadata.contains("ulpscope")) continue;   // a checkpoint of another mode or optimizer
    refuse(path, fmt::format("the model has no weight '{}'; the nearest is '{}'", tensor.name, nearest(tensor.name, weight_names(graph))));
  }
  WeightsSummary summary;
  std::set<std::string> dtypes;
  for (const Value& value : graph.values()) {
    if (value.producer || !is_weight(value)) continue;
    const NamedTensor* const tensor = file.find(value.name);
    if (tensor == nullptr && value.role == Role::buffer) continue;
    if (tensor == nullptr) refuse(path, fmt::format("it lacks '{}' {}", value.name, to_string(value.shape)));
    check_tensor(*tensor, value, path);
    if (value.role != Role::parameter) continue;
    summary.parameters += tensor->elements();
    dtypes.insert(tensor->dtype);
    if (tensor->dtype == "F16" || tensor->dtype == "BF16") summary.in_16_bits += tensor->elements();
  }
  summary.dtypes = fmt::format("{}", fmt::join(dtypes, ", "));
  summary.master_bytes = 4 * summary.in_16_bits;
  if (mode.mixed() && summary.in_16_bits > 0 && !widen)
    refuse(path, fmt::format("its weights come in 16 bits ({}), and {} updates an fp32 master copy: what their fp32 values were is lost. A "
                             "master copy made from them costs 4 bytes per parameter, {} bytes: ask for it with --widen (train.widen), or "
                             "train in fp32 or a pure mode",
                             summary.dtypes, mode.name, summary.master_bytes));
  return summary;
}

std::vector<float> weights_of(const TensorFile& file, const Value& value) {
  const NamedTensor* const tensor = file.find(value.name);
  return tensor == nullptr ? std::vector<float>{} : tensor->numbers();
}

}  // namespace ulpscope::engine
