// NumPy's .npy files, versions 1 to 3 (numpy.lib.format): little-endian integers and floats of 16 to 64 bits, bytes, booleans;
// C order.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "engine/data/array.h"

namespace ulpscope::engine {

/// Throws UsageError, "data: PATH: WHY" in one line: no .npy file, a header that does not parse, a type or order that is not
/// read (with what NumPy call mends it), fewer or more bytes than the shape needs.
Array read_npy(const std::string& path);
/// The same from memory; `path` names it in messages.
Array parse_npy(std::span<const std::byte> bytes, const std::string& path);

}  // namespace ulpscope::engine
