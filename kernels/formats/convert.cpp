#include "kernels/formats/convert.h"

#include <algorithm>
#include <cstring>
#include <string>

#include "kernels/error.h"

namespace ulpscope {

// Defined by convert_isa.cpp, once for each instruction set.
namespace portable {
Conversions conversions();
}
#if defined(__x86_64__)
namespace avx2 {
Conversions conversions();
}
namespace avx512 {
Conversions conversions();
}
#endif

namespace {

void require_float(Format format, const char* what) {
  if (!is_float(format)) throw Error(std::string(what) + ": format " + name(format) + " is not a float format");
}

const Conversions& best_conversions() {
  static const Conversions& best = conversions(best_instruction_set());
  return best;
}

}  // namespace

const Conversions& conversions(InstructionSet set) {
  if (!available(set))
    throw Error(std::string("conversions: instruction set ") + name(set) + " is not available here; available are " +
                available_instruction_sets());
  static const Conversions portable_code = portable::conversions();
#if defined(__x86_64__)
  static const Conversions avx2_code = avx2::conversions();
  static const Conversions avx512_code = avx512::conversions();
  if (set == InstructionSet::avx2) return avx2_code;
  if (set == InstructionSet::avx512) return avx512_code;
#endif
  return portable_code;
}

void widen(Format from, const void* source, float* destination, std::size_t n) {
  require_float(from, "widen");
  best_conversions().widen(from, source, destination, n);
}

void narrow(Format to, const float* source, void* destination, std::size_t n) {
  require_float(to, "narrow");
  best_conversions().narrow(to, source, destination, n);
}

void convert(Format from, const void* source, Format to, void* destination, std::size_t n) {
  require_float(from, "convert");
  require_float(to, "convert");
  if (from == Format::fp64)
    throw Error("convert: from fp64 would round twice; round each element with Storage<F>::round(double)");
  if (from == to) {
    if (n != 0) std::memcpy(destination, source, n * static_cast<std::size_t>(storage_bytes(to)));
    return;
  }
  const Conversions& code = best_conversions();
  constexpr std::size_t run = 1024;
  float buffer[run];
  const auto* in = static_cast<const unsigned char*>(source);
  auto* out = static_cast<unsigned char*>(destination);
  for (std::size_t begin = 0; begin < n; begin += run) {
    const std::size_t count = std::min(run, n - begin);
    code.widen(from, in + begin * static_cast<std::size_t>(storage_bytes(from)), buffer, count);
    code.narrow(to, buffer, out + begin * static_cast<std::size_t>(storage_bytes(to)), count);
  }
}

}  // namespace ulpscope
