#include "engine/train/stored_values.h"

#include <fmt/format.h>
#include <omp.h>

#include <algorithm>
#include <utility>

#include "engine/graph/initialise.h"
#include "engine/passes/commit.h"
#include "engine/train/weights.h"
#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

const NamedTensor& named(const TrainerState& saved, const Value& value) {
  const auto tensor = std::find_if(saved.tensors.begin(), saved.tensors.end(),
                                   [&](const NamedTensor& t) { return t.name == value.name; });
  if (tensor == saved.tensors.end()) throw Error(fmt::format("the saved state has no '{}'", value.name));
  return *tensor;
}

const NamedTensor& saved_tensor(const TrainerState& saved, const Value& value, std::size_t bytes) {
  const NamedTensor& tensor = named(saved, value);
  const Shape shape(tensor.shape);
  if (tensor.dtype != dtype(value.format) || !(shape == value.shape) || tensor.data.size() != bytes)
    throw Error(fmt::format("'{}' is {} {}, and in the saved state {} {}", value.name, dtype(value.format), to_string(value.shape),
                            tensor.dtype, to_string(shape)));
  return tensor;
}

/// Threads of the host: those that the run was given; beside a GPU, whose own the description counts, all that this process may run on.
int host_threads(const Device& device) {
  return device.description().kind == DeviceKind::cpu ? device.description().threads : omp_get_num_procs();
}

}  // namespace

StoredValues::StoredValues(Device& device, const Graph& graph, std::function<void*(ValueId)> address)
    : device_(device), graph_(graph), address_(std::move(address)) {}

std::size_t StoredValues::bytes(ValueId v) const {
  const Value& value = graph_.value(v);
  return static_cast<std::size_t>(value.shape.elements() * storage_bytes(value.format));
}

void StoredValues::write(ValueId v, const std::vector<float>& values) const {
  if (const ValueId twin = committed_twin(graph_, v)) write(twin, values);
  const Value& value = graph_.value(v);
  if (static_cast<std::int64_t>(values.size()) != value.shape.elements())
    throw Error(fmt::format("'{}' has {} elements, not {}", value.name, value.shape.elements(), values.size()));
  std::vector<std::byte> stored(bytes(v));
  store(values, value.format, stored.data());
  device_.copy_to_device(address_(v), stored.data(), stored.size());
}

std::vector<float> StoredValues::read(ValueId v) const {
  const Value& value = graph_.value(v);
  std::vector<std::byte> stored(bytes(v));
  device_.copy_to_host(stored.data(), address_(v), stored.size());
  return load(value.format, stored.data(), value.shape.elements());
}

void StoredValues::write_initial(const TrainConfig& config, const Mode& mode, std::uint64_t seed) const {
  const int threads = host_threads(device_);
  for (const Role role : {Role::parameter, Role::constant, Role::buffer})
    for (const ValueId v : graph_.with_role(role)) write(v, initial_values(graph_.value(v), seed, threads));
  if (config.weights.empty()) return;
  const TensorFile file = read_weights(config.weights);
  check_weights(file, config.weights, graph_, mode, config.widen);
  for (const Role role : {Role::parameter, Role::buffer})
    for (const ValueId v : graph_.with_role(role))
      if (const std::vector<float> numbers = weights_of(file, graph_.value(v)); !numbers.empty()) write(v, numbers);
}

std::vector<ValueId> StoredValues::kept() const {
  std::vector<ValueId> values;
  for (std::int32_t i = 0; i < graph_.value_count(); ++i) {
    const Value& value = graph_.value(ValueId{i});
    if (!value.producer && value.role != Role::input && value.role != Role::constant) values.push_back(ValueId{i});
  }
  return values;
}

void StoredValues::save(TrainerState& state) const {
  for (const ValueId v : kept()) {
    const Value& value = graph_.value(v);
    const auto dims = std::span(value.shape.dim).first(static_cast<std::size_t>(value.shape.rank));
    NamedTensor tensor{value.name, dtype(value.format), {dims.begin(), dims.end()}, std::vector<std::byte>(bytes(v))};
    device_.copy_to_host(tensor.data.data(), address_(v), tensor.data.size());
    state.tensors.push_back(std::move(tensor));
  }
}

void StoredValues::restore(const TrainerState& saved, const std::string& mode) const {
  const std::vector<ValueId> values = kept();
  std::vector<const NamedTensor*> found;
  for (const ValueId v : values) found.push_back(&saved_tensor(saved, graph_.value(v), bytes(v)));
  if (saved.tensors.size() != values.size())
    throw Error(fmt::format("the saved state has {} tensors, and {} are kept in {}", saved.tensors.size(), values.size(), mode));
  for (std::size_t i = 0; i < values.size(); ++i)
    device_.copy_to_device(address_(values[i]), found[i]->data.data(), found[i]->data.size());
}

void StoredValues::adopt(const TrainerState& saved) const {
  std::vector<std::pair<ValueId, const NamedTensor*>> found;
  for (const Role role : {Role::parameter, Role::buffer})
    for (const ValueId v : graph_.with_role(role)) {
      const Value& value = graph_.value(v);
      if (value.producer) continue;
      const NamedTensor& tensor = named(saved, value);
      if (!(Shape(tensor.shape) == value.shape))
        throw Error(fmt::format("'{}' is {}, and in the saved state {}", value.name, to_string(value.shape),
                                to_string(Shape(tensor.shape))));
      found.emplace_back(v, &tensor);
    }
  for (const auto& [v, tensor] : found) write(v, tensor->numbers());
}

}  // namespace ulpscope::engine
