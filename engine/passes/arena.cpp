#include "engine/passes/arena.h"

#include <algorithm>
#include <limits>

namespace ulpscope::engine {
namespace {

struct Placed {
  std::int64_t offset, end;
  std::int32_t first, last;   ///< of its life
};

/// Neighbours by offset, and what can be said of all of them at once.
struct Run {
  std::vector<Placed> list;
  std::int64_t end = 0;                 ///< greatest end
  std::int64_t gap = 0;                 ///< greatest hole between them, if all were alive
  std::int32_t least_first = 0, greatest_first = 0, least_last = 0, greatest_last = 0;

  void summarise() {
    constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
    end = list.front().offset, gap = 0;
    least_first = least_last = most, greatest_first = greatest_last = -1;
    for (const Placed& p : list) {
      gap = std::max(gap, p.offset - end);
      end = std::max(end, p.end);
      least_first = std::min(least_first, p.first), greatest_first = std::max(greatest_first, p.first);
      least_last = std::min(least_last, p.last), greatest_last = std::max(greatest_last, p.last);
    }
  }
};

/// What is placed, by offset, in short runs: a buffer has to be compared with few others one by one. In a deep model most
/// are alive together with the new one (what is kept for the backward pass) or all apart from it (another layer's).
class Arena {
 public:
  /// The lowest offset that is free from node `first` to node `last`.
  std::int64_t lowest(std::int64_t bytes, std::int32_t first, std::int32_t last) const {
    std::int64_t offset = 0;
    for (const Run& run : runs_) {
      if (offset + bytes <= run.list.front().offset) break;
      if (run.greatest_last < first || run.least_first > last || run.end <= offset) continue;
      const bool all_alive = run.greatest_first <= last && run.least_last >= first;
      if (all_alive && run.gap < bytes) {
        offset = run.end;
        continue;
      }
      for (const Placed& p : run.list) {
        if (p.last < first || p.first > last) continue;
        if (offset + bytes <= p.offset) return offset;
        offset = std::max(offset, p.end);
      }
    }
    return offset;
  }

  void insert(const Placed& p) {
    const auto before = [](const Placed& a, const Placed& b) {   // in time where they share an offset, so that runs are short-lived
      return a.offset != b.offset ? a.offset < b.offset : a.first < b.first;
    };
    auto run = std::partition_point(runs_.begin(), runs_.end(), [&](const Run& r) { return before(r.list.front(), p); });
    if (run != runs_.begin()) --run;
    if (run == runs_.end()) run = runs_.insert(run, Run{});
    run->list.insert(std::upper_bound(run->list.begin(), run->list.end(), p, before), p);
    if (std::ssize(run->list) > longest_run) {
      Run upper;
      upper.list.assign(run->list.begin() + longest_run / 2, run->list.end());
      run->list.resize(longest_run / 2);
      upper.summarise();
      run = runs_.insert(run + 1, std::move(upper)) - 1;
    }
    run->summarise();
  }

 private:
  static constexpr std::ptrdiff_t longest_run = 64;
  std::vector<Run> runs_;
};

}  // namespace

std::int64_t place_in_arena(std::vector<Placement*> buffers) {
  std::stable_sort(buffers.begin(), buffers.end(), [](const Placement* a, const Placement* b) { return a->bytes > b->bytes; });
  Arena arena;
  std::int64_t bytes = 0;
  for (Placement* p : buffers) {
    p->offset = arena.lowest(p->bytes, p->first, p->last);
    arena.insert({p->offset, p->offset + p->bytes, p->first, p->last});
    bytes = std::max(bytes, p->offset + p->bytes);
  }
  return bytes;
}

}  // namespace ulpscope::engine
