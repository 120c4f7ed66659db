// The emulated grid as a device. Its memory is closed to the host's code: what reads or writes it other than through the device,
// or beyond the end of a block, dies at once, as it would with a GPU.
#pragma once

#include <memory>

#include "kernels/device.h"

namespace ulpscope::test {

/// One at a time.
std::unique_ptr<Device> make_emulated_device();
/// The same with a queue: everything is done as late as it may be, when the host waits for it.
std::unique_ptr<Device> make_queued_device();

}  // namespace ulpscope::test
