#include "engine/data/array.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/error.h"
#include "kernels/formats/fp16.h"

namespace ulpscope::engine {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are used as they lie in the file");

struct TypeInfo {
  const char* name;
  std::int64_t bytes;
  bool integer;
};
constexpr std::array<TypeInfo, 11> types{{{"?", 1, true},  {"u1", 1, true}, {"u2", 2, true}, {"u4", 4, true},
                                          {"i1", 1, true}, {"i2", 2, true}, {"i4", 4, true}, {"i8", 8, true},
                                          {"f2", 2, false}, {"f4", 4, false}, {"f8", 8, false}}};
const TypeInfo& info(ElementType type) { return types[static_cast<std::size_t>(type)]; }

template <class T>
T element(const Array& array, std::int64_t index) {
  T value;
  std::memcpy(&value, array.data.data() + static_cast<std::size_t>(index) * sizeof(T), sizeof(T));
  return value;
}

/// Calls `work` with a function that yields element i in its own type.
template <class Work>
auto with_type(const Array& array, Work&& work) {
  switch (array.type) {
    case ElementType::boolean:
    case ElementType::u1: return work([&](std::int64_t i) { return element<std::uint8_t>(array, i); });
    case ElementType::u2: return work([&](std::int64_t i) { return element<std::uint16_t>(array, i); });
    case ElementType::u4: return work([&](std::int64_t i) { return element<std::uint32_t>(array, i); });
    case ElementType::i1: return work([&](std::int64_t i) { return element<std::int8_t>(array, i); });
    case ElementType::i2: return work([&](std::int64_t i) { return element<std::int16_t>(array, i); });
    case ElementType::i4: return work([&](std::int64_t i) { return element<std::int32_t>(array, i); });
    case ElementType::i8: return work([&](std::int64_t i) { return element<std::int64_t>(array, i); });
    case ElementType::f2: return work([&](std::int64_t i) { return fp16_to_float(element<std::uint16_t>(array, i)); });
    case ElementType::f4: return work([&](std::int64_t i) { return element<float>(array, i); });
    case ElementType::f8: return work([&](std::int64_t i) { return element<double>(array, i); });
  }
  throw Error("an element type that does not exist");
}

}  // namespace

const char* name(ElementType type) { return info(type).name; }
std::int64_t bytes_of(ElementType type) { return info(type).bytes; }
bool is_integer(ElementType type) { return info(type).integer; }

std::int64_t Array::elements() const { return element_count(shape); }
std::int64_t Array::row_elements() const { return shape.empty() ? 1 : element_count(std::span(shape).subspan(1)); }

float Array::number(std::int64_t index) const {
  return with_type(*this, [&](auto at) { return static_cast<float>(at(index)); });
}

std::int64_t Array::integer(std::int64_t index) const {
  if (!is_integer(type)) throw Error(fmt::format("{} holds {}, no integers", source, name(type)));
  return with_type(*this, [&](auto at) { return static_cast<std::int64_t>(at(index)); });
}

std::vector<float> Array::numbers() const {
  std::vector<float> values(static_cast<std::size_t>(elements()));
  numbers(0, values);
  return values;
}

void Array::numbers(std::int64_t first, std::span<float> values) const {
  with_type(*this, [&](auto at) {
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = static_cast<float>(at(first + static_cast<std::int64_t>(i)));
  });
}

std::string shape_text(std::span<const std::int64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

std::string index_text(const Array& array, std::int64_t element) {
  std::vector<std::int64_t> at(array.shape.size());
  for (std::size_t axis = at.size(); axis-- > 0;) {
    at[axis] = element % array.shape[axis];
    element /= array.shape[axis];
  }
  return fmt::format("[{}]", fmt::join(at, ", "));
}

std::int64_t element_count(std::span<const std::int64_t> shape) {
  constexpr std::int64_t most = std::int64_t{1} << 48;
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t d) { return d < 0; })) return -1;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t count = 1;
  for (const std::int64_t d : shape) {
    if (d > most / count) return -1;
    count *= d;
  }
  return count;
}

std::int64_t first_not_finite(const Array& array) {
  if (is_integer(array.type)) return -1;
  return with_type(array, [&](auto at) {
    const std::int64_t count = array.elements();
    for (std::int64_t i = 0; i < count; ++i)
      if (!std::isfinite(static_cast<float>(at(i)))) return i;
    return std::int64_t{-1};
  });
}

}  // namespace ulpscope::engine
