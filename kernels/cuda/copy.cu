// copy: cast, permute, slice and expand in one kernel; observe: counts what a tensor holds.
#include "kernels/cuda/element_stage.h"
#include "kernels/cuda/elementwise.h"
#include "kernels/ops/elementwise_unary.h"

namespace ulpscope::cuda {
namespace {

/// Equal formats: the elements are moved as they are, NaN payloads included.
template <class Item>
ULPSCOPE_KERNEL void move_kernel(DeviceView from, DeviceView to) {
  const Item* source = reinterpret_cast<const Item*>(from.data);
  Item* destination = reinterpret_cast<Item*>(to.data);
  if (from.wide && to.wide) {
    for (std::int64_t begin = global_thread() * run_length; begin < to.elements; begin += global_threads() * run_length) {
      if (to.elements - begin >= run_length) {
        wide::store<Item>(to.data, begin, wide::load<Item>(from.data, begin));
      } else {
        for (std::int64_t i = begin; i < to.elements; ++i) destination[i] = source[i];
      }
    }
    return;
  }
  for (std::int64_t i = global_thread(); i < to.elements; i += global_threads())
    destination[offset_of(to, i)] = source[offset_of(from, i)];
}

template <class Item>
void move_items(const Launch& l, const View& from, const View& to) {
  launch(move_kernel<Item>, blocks_for((to.elements + team_threads - 1) / team_threads), team_threads, l.stream, DeviceView(from),
         DeviceView(to));
}

template <class T>
void run_copy(const Launch& l) {
  expect_operands("copy", l, 1, 1);
  const View from = broadcast_view("copy", l.in[0], l.out[0].shape), to = view_of(l.out[0]);
  const bool observed = l.counts != nullptr && l.counts[0] != nullptr;
  if (from.format != to.format || observed) return run_map<T, CopyBody, 1, NoParameters>(l);
  switch (to.item) {
    case 1:
      return move_items<std::uint8_t>(l, from, to);
    case 2:
      return move_items<std::uint16_t>(l, from, to);
    case 4:
      return move_items<std::uint32_t>(l, from, to);
    default:
      return move_items<std::uint64_t>(l, from, to);
  }
}

/// The values are the same before and after.
template <class T>
ULPSCOPE_KERNEL void widen_kernel(DeviceView x, T* values) {
  for (std::int64_t i = global_thread(); i < x.elements; i += global_threads()) values[i] = load_element<T>(x, i);
}

template <class T>
void run_observe(const Launch& l) {
  expect_operands("observe", l, 1, 1);
  if (l.counts == nullptr || l.counts[0] == nullptr) return;
  Observation<T> observation(l);
  const Result x = observation.result(0, broadcast_view("observe", l.in[0], l.out[0].shape));
  launch(widen_kernel<T>, blocks_for((x.view.elements + team_threads - 1) / team_threads), team_threads, l.stream, x.view,
         static_cast<T*>(x.before));
  observation.count(0, count_tiles(x.view.elements));
}

template <class T>
void add_copy(KernelTable& table, Format compute) {
  table.add("copy", compute, Kernel{run_copy<T>, nullptr, sizeof(T) == sizeof(float) ? element_stage<CopyBody, 1>() : nullptr});
  table.add("observe", compute, Kernel{run_observe<T>});
}

}  // namespace

void register_copy(KernelTable& table) {
  add_copy<float>(table, Format::fp32);
  add_copy<double>(table, Format::fp64);
}

}  // namespace ulpscope::cuda
