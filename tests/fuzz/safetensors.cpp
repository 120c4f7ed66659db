#include "engine/data/safetensors.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include "engine/train/trainer_state.h"
#include "kernels/error.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace ulpscope;
  try {
    engine::TensorFile file = engine::parse_safetensors(std::as_bytes(std::span(data, size)), "x");
    for (const engine::NamedTensor& tensor : file.tensors)
      if (const auto format = engine::format_of_dtype(tensor.dtype); format && *format != Format::i32) tensor.numbers();
    engine::from_file(std::move(file), "x");
  } catch (const UsageError&) {
  }
  return 0;
}
