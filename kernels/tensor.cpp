#include "kernels/tensor.h"

#include "kernels/error.h"

namespace ulpscope {

Shape::Shape(std::span<const std::int64_t> dims) {
  const auto refuse = [&](const std::string& reason) {
    std::string text;
    for (const std::int64_t d : dims) text += (text.empty() ? "" : ", ") + std::to_string(d);
    throw UsageError("shape [" + text + "] has " + reason);
  };
  if (dims.size() > static_cast<std::size_t>(max_rank)) refuse("more than " + std::to_string(max_rank) + " dimensions");
  for (const std::int64_t d : dims) {
    if (d < 0) refuse("a negative dimension");
    dim[static_cast<std::size_t>(rank++)] = d;
  }
}

std::string to_string(const Shape& shape) {
  std::string text = "[";
  for (int i = 0; i < shape.rank; ++i) {
    if (i != 0) text += ", ";
    text += std::to_string(shape[i]);
  }
  return text + "]";
}

}  // namespace ulpscope
