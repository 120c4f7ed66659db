#include "profiler/trace/activity.h"

#include <iterator>

namespace ulpscope::profiler {
namespace {

template <class T>
void append_to(std::vector<T>& list, std::vector<T>&& more) {
  list.insert(list.end(), std::make_move_iterator(more.begin()), std::make_move_iterator(more.end()));
}

}  // namespace

const char* name(ActivityKind kind) {
  constexpr const char* names[] = {"kernels",           "copies",      "memory sets",   "memory", "overhead", "external correlation",
                                   "NVTX markers", "runtime calls", "driver calls", "graphs"};
  return names[static_cast<std::size_t>(kind)];
}

void ActivityBatch::append(ActivityBatch&& more) {
  append_to(kernels, std::move(more.kernels));
  append_to(transfers, std::move(more.transfers));
  append_to(externals, std::move(more.externals));
  append_to(overheads, std::move(more.overheads));
  append_to(graphs, std::move(more.graphs));
  calls += more.calls;
  memory += more.memory;
  markers += more.markers;
  foreign += more.foreign;
  unknown += more.unknown;
  broken += more.broken;
}

}  // namespace ulpscope::profiler
