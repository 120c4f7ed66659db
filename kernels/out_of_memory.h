// A device that has no memory left for what is asked of it.
#pragma once

#include <string>

#include "kernels/error.h"

namespace ulpscope {

/// Thrown by Device::allocate, whose message says what was asked for and what is in use, and by what needs device memory of its own (the first
/// launch of a kernel, a graph, a library); the caller knows what for.
class OutOfMemory : public Error {
 public:
  using Error::Error;
};

}  // namespace ulpscope
