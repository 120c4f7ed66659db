// Files in memory. All throw UsageError "data: PATH: WHY" for what cannot be read; "PATH: WHY" where it may be something else than data.
#pragma once

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace ulpscope::engine {

std::vector<std::byte> read_file_bytes(const std::string& path);
/// Throws UsageError "PATH: WHY".
std::vector<std::byte> read_any_file(const std::string& path);
std::vector<std::byte> first_bytes_of_any(const std::string& path, std::size_t count);
/// At most `count` of them.
std::vector<std::byte> first_bytes(const std::string& path, std::size_t count);

/// As many bytes as a file whose first ones are given needs; nothing if they do not say.
using NeededBytes = std::optional<std::size_t> (*)(std::span<const std::byte> first);

/// A file with gzip taken off, if it is compressed. What follows the first kilobytes is read only if `needed` says so, and no
/// further than one byte beyond what it says: a small file that unpacks into a large one takes no memory.
std::vector<std::byte> unpack_file_bytes(const std::string& path, NeededBytes needed);

/// Throws UsageError "data: PATH: WHY".
[[noreturn]] void refuse_file(std::string_view path, const std::string& why);

}  // namespace ulpscope::engine
