// Strong ids: a node's number is not a value's number.
#pragma once

#include <compare>
#include <cstdint>

namespace ulpscope::engine {

template <class Tag>
struct Id {
  std::int32_t index = -1;
  explicit operator bool() const { return index >= 0; }
  friend auto operator<=>(const Id&, const Id&) = default;
};

using ValueId = Id<struct ValueTag>;
using NodeId = Id<struct NodeTag>;

}  // namespace ulpscope::engine
