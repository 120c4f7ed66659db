// Shared libraries that are looked for while the program runs: those of CUDA and of the NVIDIA driver, which are never shipped.
#pragma once

#include <string>
#include <vector>

namespace ulpscope {

/// Who finds the library's symbols: whoever asks for them, or also libraries that are loaded later and need them.
enum class Visible : unsigned char { locally, globally };

/// The library with this name: by the loader's own search, then in the folders, in order. It stays loaded. Null: `why` holds the
/// loader's words for the last file that was there, or for its own search.
void* open_library(const std::string& name, const std::vector<std::string>& folders, Visible visible, std::string& why);

/// A symbol of an open library; null: it has none of this name.
void* library_symbol(void* library, const char* name);

}  // namespace ulpscope
