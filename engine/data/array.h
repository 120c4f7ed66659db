// Numbers from a file, as they lie there: element type, shape, bytes. What .npy and IDX files have in common.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace ulpscope::engine {

enum class ElementType : std::uint8_t { boolean, u1, u2, u4, i1, i2, i4, i8, f2, f4, f8 };
/// NumPy's names: "?", "u1", "f4" …
const char* name(ElementType type);
std::int64_t bytes_of(ElementType type);
bool is_integer(ElementType type);   ///< booleans too: 0 and 1

/// In C order (the last index fastest), bytes in the order of this machine, which is little-endian. A scalar has no dimension.
struct Array {
  std::string source;                ///< path, for messages
  ElementType type = ElementType::f4;
  std::vector<std::int64_t> shape;   ///< none negative
  std::vector<std::byte> data;       ///< elements() * bytes_of(type)

  std::int64_t elements() const;
  /// Of one entry along the first dimension.
  std::int64_t row_elements() const;
  /// Element by its place in C order, rounded to fp32 (f8: infinite above its range).
  float number(std::int64_t index) const;
  /// Throws Error where the type is no integer's.
  std::int64_t integer(std::int64_t index) const;
  /// All of them, rounded to fp32.
  std::vector<float> numbers() const;
  /// Elements [first, first + values.size()).
  void numbers(std::int64_t first, std::span<float> values) const;
};

/// "(60000, 28, 28)", as NumPy writes it; a scalar is "()".
std::string shape_text(std::span<const std::int64_t> shape);
/// "[12, 3]": where an element is.
std::string index_text(const Array& array, std::int64_t element);

/// Elements of a shape; -1 if dimensions are negative or there are more than 2^48.
std::int64_t element_count(std::span<const std::int64_t> shape);

/// The first element that is NaN or infinite, or above fp32's range; -1 if none is.
std::int64_t first_not_finite(const Array& array);

}  // namespace ulpscope::engine
