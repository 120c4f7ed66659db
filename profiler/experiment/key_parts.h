// A look at TOML before it is parsed: the parser follows a dotted key as deep as it is long, and a key of some ten thousand
// parts is deeper than the stack.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace ulpscope::profiler {

/// Far more than any key has.
inline constexpr int most_key_parts = 16;

/// The line, from 1, of the first key or table name with more parts than that; none: there is no such key.
std::optional<std::int64_t> line_of_long_key(std::string_view toml);

}  // namespace ulpscope::profiler
