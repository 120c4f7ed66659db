// 2 bytes of 0, a byte for the type, a byte for the number of dimensions, each of them as a big-endian 32-bit number; then the
// elements, big-endian, the last index fastest.
#include "engine/data/idx.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include "engine/data/file_bytes.h"
#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

std::optional<ElementType> element_type(std::byte code) {
  switch (std::to_integer<int>(code)) {
    case 0x08: return ElementType::u1;
    case 0x09: return ElementType::i1;
    case 0x0b: return ElementType::i2;
    case 0x0c: return ElementType::i4;
    case 0x0d: return ElementType::f4;
    case 0x0e: return ElementType::f8;
    default: return std::nullopt;
  }
}

std::size_t header_bytes(std::span<const std::byte> bytes) { return 4 + 4 * std::to_integer<std::size_t>(bytes[3]); }

std::vector<std::int64_t> dimensions(std::span<const std::byte> bytes) {
  std::vector<std::int64_t> shape;
  for (std::size_t at = 4; at < header_bytes(bytes); at += 4) {
    std::int64_t d = 0;
    for (std::size_t i = 0; i < 4; ++i) d = d << 8 | std::to_integer<std::int64_t>(bytes[at + i]);
    shape.push_back(d);
  }
  return shape;
}

/// What a file whose first bytes these are must have; nothing if they are not enough to say, or wrong.
std::optional<std::size_t> needed_bytes(std::span<const std::byte> bytes) {
  if (bytes.size() < 4 || bytes.size() < header_bytes(bytes)) return std::nullopt;
  const auto type = element_type(bytes[2]);
  const std::int64_t elements = element_count(dimensions(bytes));
  if (!type || elements < 0) return std::nullopt;
  return header_bytes(bytes) + static_cast<std::size_t>(elements * bytes_of(*type));
}

}  // namespace

Array parse_idx(std::span<const std::byte> bytes, const std::string& path) {
  if (bytes.empty()) refuse_file(path, "it is empty (0 bytes)");
  const bool start = std::all_of(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(2, bytes.size())),
                                 [](std::byte b) { return b == std::byte{0}; });
  if (!start) refuse_file(path, "it is not an IDX file");
  if (bytes.size() < 4 || bytes.size() < header_bytes(bytes))
    refuse_file(path, fmt::format("it is cut off within the IDX header: {} bytes", bytes.size()));
  const auto type = element_type(bytes[2]);
  if (!type)
    refuse_file(path, fmt::format("it is not an IDX file: its element type is {:#04x}; there are 0x08 (u1), 0x09 (i1), 0x0b (i2), "
                                  "0x0c (i4), 0x0d (f4), 0x0e (f8)", std::to_integer<int>(bytes[2])));
  if (bytes[3] == std::byte{0} || bytes[3] > std::byte{32})
    refuse_file(path, fmt::format("it is not an IDX file: {} dimensions", std::to_integer<int>(bytes[3])));
  Array array;
  array.source = path;
  array.type = *type;
  array.shape = dimensions(bytes);
  const auto needed = needed_bytes(bytes);
  if (!needed) refuse_file(path, fmt::format("its shape {} is too large", shape_text(array.shape)));
  if (bytes.size() != *needed)
    refuse_file(path, bytes.size() < *needed
                          ? fmt::format("it is cut off: shape {} of {} needs {} bytes, there are {}", shape_text(array.shape),
                                        name(*type), *needed, bytes.size())
                          : fmt::format("it is too long: shape {} of {} needs {} bytes, and more follow", shape_text(array.shape),
                                        name(*type), *needed));
  const std::span<const std::byte> data = bytes.subspan(header_bytes(bytes));
  array.data.assign(data.begin(), data.end());
  const auto width = static_cast<std::ptrdiff_t>(bytes_of(*type));
  for (auto at = array.data.begin(); width > 1 && at != array.data.end(); at += width) std::reverse(at, at + width);
  return array;
}

Array read_idx(const std::string& path) { return parse_idx(unpack_file_bytes(path, needed_bytes), path); }

}  // namespace ulpscope::engine
