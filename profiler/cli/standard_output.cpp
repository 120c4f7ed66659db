#include "profiler/cli/standard_output.h"

#include <unistd.h>

#include <cerrno>

namespace ulpscope::profiler {

StandardOutput::Buffer::Buffer(int descriptor) : descriptor_(descriptor) { setp(bytes_.data(), bytes_.data() + bytes_.size()); }

int StandardOutput::Buffer::sync() {
  const char* at = pbase();
  while (at != pptr() && reason_ == 0 && !reader_gone_) {
    const ssize_t written = ::write(descriptor_, at, static_cast<std::size_t>(pptr() - at));
    if (written >= 0) at += written;
    else if (errno == EPIPE) reader_gone_ = true;
    else if (errno != EINTR) reason_ = errno;
  }
  setp(bytes_.data(), bytes_.data() + bytes_.size());
  return reason_ == 0 ? 0 : -1;
}

StandardOutput::Buffer::int_type StandardOutput::Buffer::overflow(int_type c) {
  if (sync() != 0) return traits_type::eof();
  return traits_type::eq_int_type(c, traits_type::eof()) ? traits_type::not_eof(c) : sputc(traits_type::to_char_type(c));
}

StandardOutput::StandardOutput(int descriptor) : std::ostream(nullptr), buffer_(descriptor) { rdbuf(&buffer_); }

StandardOutput::~StandardOutput() { flush(); }

}  // namespace ulpscope::profiler
