// The bulk conversions, compiled once per instruction set (scripts/cmake/instruction_sets.cmake).
#include "kernels/formats/convert.h"
#include "kernels/formats/tile.h"

namespace ulpscope::ULPSCOPE_ISA {
namespace {

void widen_bulk(Format from, const void* source, float* destination, std::size_t n) {
  widen_tile(from, source, destination, n);
}

void narrow_bulk(Format to, const float* source, void* destination, std::size_t n) {
  narrow_tile(to, source, destination, n);
}

}  // namespace

Conversions conversions();
Conversions conversions() { return {widen_bulk, narrow_bulk}; }

}  // namespace ulpscope::ULPSCOPE_ISA
