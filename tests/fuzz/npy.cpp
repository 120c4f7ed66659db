#include "engine/data/npy.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include "kernels/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  try {
    const auto array = ulpscope::engine::parse_npy(std::as_bytes(std::span(data, size)), "x");
    ulpscope::engine::first_not_finite(array);
    if (array.elements() > 0) ulpscope::engine::index_text(array, array.elements() - 1);
    array.numbers();
  } catch (const ulpscope::UsageError&) {
  }
  return 0;
}
