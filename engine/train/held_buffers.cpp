#include "engine/train/held_buffers.h"

namespace ulpscope::engine {

HeldBuffers::HeldBuffers(Device& device, const Graph& graph, const std::function<void*(ValueId)>& address) : device_(device) {
  for (const ValueId v : graph.with_role(Role::buffer)) {
    const Value& value = graph.value(v);
    if (value.producer) continue;
    const auto bytes = static_cast<std::size_t>(value.shape.elements() * storage_bytes(value.format));
    buffers_.push_back({address(v), std::vector<std::byte>(bytes)});
  }
}

void HeldBuffers::hold() {
  for (Held& b : buffers_) device_.copy_to_host(b.bytes.data(), b.place, b.bytes.size());
}

void HeldBuffers::put_back() const {
  for (const Held& b : buffers_) device_.copy_to_device(b.place, b.bytes.data(), b.bytes.size());
}

}  // namespace ulpscope::engine
