// Standard output, in the one place where all commands write it.
//
//   StandardOutput out(STDOUT_FILENO);
//   int code = run_program(arguments, out, std::cerr);
//   out.flush();
//   if (out.reason() != 0) …   // an errno: it could not be written
//
// A reader that goes away (`| head -1`) has what it wanted: nothing more is written, nothing fails, and the exit code is the command's.
#pragma once

#include <array>
#include <ostream>
#include <streambuf>

namespace ulpscope::profiler {

class StandardOutput final : public std::ostream {
 public:
  /// descriptor: stays open. SIGPIPE has to be ignored.
  explicit StandardOutput(int descriptor);
  ~StandardOutput() override;

  /// errno of the first write that failed; 0: none did, or the reader went away.
  int reason() const { return buffer_.reason(); }

 private:
  class Buffer final : public std::streambuf {
   public:
    explicit Buffer(int descriptor);
    int reason() const { return reason_; }

   protected:
    int_type overflow(int_type c) override;
    int sync() override;

   private:
    std::array<char, 1 << 14> bytes_{};
    int descriptor_;
    int reason_ = 0;
    bool reader_gone_ = false;
  };
  Buffer buffer_;
};

}  // namespace ulpscope::profiler
