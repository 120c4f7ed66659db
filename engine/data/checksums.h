// Checksums of a safetensors file, in its metadata: whoever does not know them reads the file all the same.
#pragma once

#include <string>

#include "engine/data/safetensors.h"

namespace ulpscope::engine {

/// Adds "crc32" to the metadata: a JSON object with zlib's crc32 of every tensor (name, dtype, shape and bytes) and of the other
/// metadata. What is changed afterwards is damage.
void add_checksums(TensorFile& file);

/// False: the file has none. Throws UsageError "PATH: WHY" that names the tensor, or the metadata, that is not what was written.
bool check_checksums(const TensorFile& file, const std::string& path);

}  // namespace ulpscope::engine
