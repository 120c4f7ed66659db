// copy: cast, permute, slice and expand in one kernel.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/register_isa.h"
#include "kernels/ops/elementwise_unary.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

/// Equal formats: the elements are moved as they are.
void move_items(const Launch& launch, const View& from, const View& to) {
  const std::int64_t tiles = (to.elements + tile_length - 1) / tile_length;
  run_units(launch, tiles, to.elements, [&](int, std::int64_t first, std::int64_t last, RoundingTally* const*) {
    alignas(64) std::uint64_t raw[tile_length];
    for (std::int64_t tile = first; tile < last; ++tile) {
      const std::int64_t begin = tile * tile_length;
      const int n = smaller(to.elements - begin, tile_length);
      const char* source = from.data + begin * from.item;
      char* place = to.data + begin * to.item;
      if (from.flat && to.flat) {
        if (source != place)
          __builtin_memcpy(place, source, static_cast<std::size_t>(n) * static_cast<std::size_t>(to.item));
      } else if (to.flat) {
        gather_items(from, begin, n, place);
      } else if (from.flat) {
        scatter_items(to, begin, n, source);
      } else {
        gather_items(from, begin, n, raw);
        scatter_items(to, begin, n, raw);
      }
    }
  });
}

template <class T>
void run_copy(const Launch& launch) {
  const Operands operands = operands_of("copy", launch, 1);
  const View& from = operands.read[0];
  const View& to = operands.write[0];
  if (from.format == to.format && observed(launch) == Looked::at_nothing) return move_items(launch, from, to);
  const CopyBody<T> body;
  run_tiles<T>(launch, operands, 1, map_tile<T, CopyBody<T>, 1>, &body);
}

}  // namespace

void register_copy(KernelTable& table) {
  add_kernel(table, "copy", Format::fp32, run_copy<float>, nullptr, &map_stage<CopyBody<float>, 1, 1>());
  add_kernel(table, "copy", Format::fp64, run_copy<double>);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
