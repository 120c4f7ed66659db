// What can be left out where memory is short.
#pragma once

#include <new>

#include "kernels/error.h"

namespace ulpscope::engine {

/// Does work that nothing depends on. False if there was no memory for it, on the device or the host.
template <class Work>
bool had_memory_for(const Work& work) {
  try {
    work();
    return true;
  } catch (const Error&) {   // of the device
  } catch (const std::bad_alloc&) {
  }
  return false;
}

}  // namespace ulpscope::engine
