// Text that is to stand in a document as it is: UTF-8 stays, what is none becomes U+FFFD, and each character of ASCII is written by `one`.
// Marks that turn the direction of reading become U+FFFD, too: they would turn the document's own text after them.
#pragma once

#include <string>
#include <string_view>

namespace ulpscope::reports {

/// Bytes of the UTF-8 sequence that begins here; 0 if it is none.
std::size_t utf8_sequence(std::string_view text, std::size_t at);

/// U+200E, U+200F, U+202A to U+202E, U+2066 to U+2069, as one sequence.
bool turns_direction(std::string_view sequence);

/// one(char, std::string& out)
template <class One>
std::string escaped_text(std::string_view text, One&& one) {
  std::string out;
  out.reserve(text.size());
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t bytes = utf8_sequence(text, i);
    if (bytes == 1) one(text[i], out);
    else out += bytes == 0 || turns_direction(text.substr(i, bytes)) ? std::string_view("\xef\xbf\xbd") : text.substr(i, bytes);
    i += bytes == 0 ? 1 : bytes;
  }
  return out;
}

}  // namespace ulpscope::reports
