// observe: counts what a tensor holds.
#include "kernels/cpu/elementwise.h"
#include "kernels/cpu/register_isa.h"

namespace ulpscope::cpu::ULPSCOPE_ISA {
namespace {

/// Nothing is rounded and nothing is written: the values are the same before and after.
template <class T>
void run_observe(const Launch& launch) {
  const Operands operands = operands_of("observe", launch, 1);
  const View& view = operands.read[0];
  const std::int64_t tiles = (view.elements + tile_length - 1) / tile_length;
  run_units(launch, tiles, view.elements, [&](int, std::int64_t first, std::int64_t last, RoundingTally* const* tally) {
    if (tally[0] == nullptr) return;
    Buffer<T> values;
    for (std::int64_t tile = first; tile < last; ++tile) {
      const std::int64_t begin = tile * tile_length;
      const int n = smaller(view.elements - begin, tile_length);
      const T* run = read_run(view, begin, n, values.value);
      if (range_only(*tally[0])) {
        count_range(run, n, static_cast<T>(info(view.format).overflow_threshold), *tally[0]);
      } else {
        count_block(run, run, n, static_cast<T>(info(view.format).min_normal), *tally[0]);
      }
    }
  });
}

}  // namespace

void register_observe(KernelTable& table) {
  add_kernel(table, "observe", Format::fp32, run_observe<float>);
  add_kernel(table, "observe", Format::fp64, run_observe<double>);
}

}  // namespace ulpscope::cpu::ULPSCOPE_ISA
