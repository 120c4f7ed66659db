// Errors thrown by kernels and engine. Bodies never throw; launchers, tables and passes do, with the call and the place.
#pragma once

#include <stdexcept>
#include <string>

namespace ulpscope {

/// A fault of the program or the machine: the message says what was called and where.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A mistake of the user: one line that names the mistake and the valid choices. Programs exit with 2.
class UsageError : public Error {
 public:
  using Error::Error;
};

}  // namespace ulpscope
