// safetensors files (https://github.com/huggingface/safetensors, "Format"): 8 bytes for the length of the header, little-endian;
// the header in JSON, name → dtype, shape and place of the bytes; then the bytes, without gaps.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "kernels/formats/format.h"

namespace ulpscope::engine {

/// One tensor of a file; row-major, little-endian.
struct NamedTensor {
  std::string name;
  std::string dtype;                 ///< "F64", "F32", "F16", "BF16", "F8_E4M3", "F8_E5M2", "I64", "I32", "I16", "I8", "U8", "BOOL"
  std::vector<std::int64_t> shape;
  std::vector<std::byte> data;

  std::int64_t elements() const;
  /// Widened (F64, I64: rounded) to fp32. Throws Error for a dtype with no number format here.
  std::vector<float> numbers() const;
};

struct TensorFile {
  std::vector<NamedTensor> tensors;             ///< in the order of their bytes
  std::map<std::string, std::string> metadata;

  /// Null if there is none.
  const NamedTensor* find(std::string_view name) const;
};

/// "F32" …; tf32 numbers are stored as F32.
const char* dtype(Format format);
/// Nothing for a dtype that no format here has (I64 …).
std::optional<Format> format_of_dtype(std::string_view dtype);

/// Throws UsageError, "PATH: WHY" in one line: missing, cut off, damaged, a dtype that is not known.
TensorFile read_safetensors(const std::string& path);
/// The same from memory; `path` names it in messages.
TensorFile parse_safetensors(std::span<const std::byte> bytes, const std::string& path);

/// Writes to PATH.tmp, syncs, renames, syncs the folder: at any moment the old file or the new one is there, whole. Returns the
/// bytes written. Throws Error "cannot write PATH: WHY" and leaves what was there as it was.
std::int64_t write_safetensors(const std::string& path, const TensorFile& file);

}  // namespace ulpscope::engine
