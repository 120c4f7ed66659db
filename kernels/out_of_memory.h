// A device that has no memory left for what is asked of it.
#pragma once

#include <string>

#include "kernels/error.h"

namespace ulpscope {

/// Thrown by Device::allocate. The message says what was asked for and what is in use; the caller knows what for.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

}  // namespace ulpscope
