// The valid name that a mistyped one was probably meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace ulpscope {

/// The name in `valid` with the smallest edit distance to `given` (insertions, deletions, substitutions and swaps of
/// neighbours count one each; upper and lower case are the same); a name that begins with all of `given`, three letters
/// or more, counts as one edit away. The first of equals. Empty if `valid` is.
std::string nearest(std::string_view given, std::span<const std::string> valid);

}  // namespace ulpscope
