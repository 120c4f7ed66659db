// IDX files (the format of MNIST; http://yann.lecun.com/exdb/mnist/), plain or compressed with gzip.
#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "engine/data/array.h"

namespace ulpscope::engine {

/// Throws UsageError, "data: PATH: WHY" in one line: no IDX file, an element type that does not exist, fewer or more bytes than
/// the dimensions need, a damaged gzip stream.
Array read_idx(const std::string& path);
/// The same from memory, not compressed; `path` names it in messages.
Array parse_idx(std::span<const std::byte> bytes, const std::string& path);

}  // namespace ulpscope::engine
