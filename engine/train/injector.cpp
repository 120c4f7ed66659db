#include "engine/train/injector.h"

#include <fmt/format.h>

#include "engine/graph/initialise.h"
#include "engine/graph/operator.h"
#include "engine/train/program.h"
#include "kernels/error.h"
#include "kernels/nearest.h"

namespace ulpscope::engine {
namespace {

std::string placed(const Injection& i) { return i.where.empty() ? "injection: " : fmt::format("{}: [[inject]] ", i.where); }

std::vector<std::byte> element_bytes(Format format, double number) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(storage_bytes(format)));
  store({static_cast<float>(number)}, format, bytes.data());
  return bytes;
}

/// A view is written by whoever writes the value it shows.
ValueId written_value(const Graph& graph, ValueId id) {
  while (graph.value(id).producer && !graph.node(graph.value(id).producer).op->launches) id = graph.value(id).same_memory_as;
  return id;
}

}  // namespace

ValueId injected_value(const Graph& graph, const Injection& injection) {
  if (!graph.contains(injection.value)) {
    std::vector<std::string> names;
    for (const Value& v : graph.values()) names.push_back(v.name);
    throw UsageError(fmt::format("{}value = \"{}\": there is no such value in the step; the nearest is '{}', `ulpscope plan` lists them",
                                 placed(injection), injection.value, nearest(injection.value, names)));
  }
  const ValueId id = graph.find(injection.value);
  const Value& v = graph.value(id);
  if (v.role == Role::constant)   // set once, before the first step: a run that is resumed would not see the change
    throw UsageError(fmt::format("{}value = \"{}\": it is a constant; a result, an input, a parameter or a buffer can be set",
                                 placed(injection), v.name));
  for (const std::int64_t e : injection.elements)
    if (e < 0 || e >= v.shape.elements())
      throw UsageError(fmt::format("{}index {}: '{}' {} has the elements 0 to {}", placed(injection), e, v.name, to_string(v.shape),
                                   v.shape.elements() - 1));
  if (!is_float(v.format)) throw UsageError(fmt::format("{}value = \"{}\": it holds indices, not numbers", placed(injection), v.name));
  return id;
}

std::vector<NodeId> injected_nodes(const Graph& graph, const std::vector<Injection>& injections) {
  std::vector<NodeId> nodes;
  for (const Injection& i : injections) {
    const Value& v = graph.value(written_value(graph, injected_value(graph, i)));
    if (v.producer) nodes.push_back(v.producer);
  }
  return nodes;
}

Injector::Injector(Device& device, const Graph& graph, const std::vector<Injection>& injections,
                   const std::function<void*(ValueId)>& address, Program& program)
    : device_(device) {
  for (const Injection& i : injections) {
    const ValueId id = written_value(graph, injected_value(graph, i));
    const Value& v = graph.value(id);
    Write write;
    write.step = i.step;
    auto* const base = static_cast<std::byte*>(address(id));
    const auto add = [&](std::int64_t e) { write.places.push_back(base + e * storage_bytes(v.format)); };
    for (const std::int64_t e : i.elements) add(e);
    for (std::int64_t e = 0; i.elements.empty() && e < v.shape.elements(); ++e) add(e);
    write.bytes = element_bytes(v.format, i.number);
    if (!v.producer) {
      before_.push_back(std::move(write));
      continue;
    }
    program.after(v.producer, [&device, write = std::move(write)](const Execution& execution) {
      if (execution.iteration == write.step && execution.micro_batch == 0) carry_out(device, write);
    });
  }
}

void Injector::carry_out(Device& device, const Write& write) {
  device.synchronize();
  for (std::byte* place : write.places) device.copy_to_device(place, write.bytes.data(), write.bytes.size());
}

void Injector::before_step(std::int64_t iteration) const {
  for (const Write& write : before_)
    if (write.step == iteration) carry_out(device_, write);
}

}  // namespace ulpscope::engine
