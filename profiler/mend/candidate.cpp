#include "profiler/mend/candidate.h"

#include <algorithm>

namespace ulpscope::profiler {

void add_candidate(std::vector<Candidate>& list, Candidate candidate) {
  const auto same = std::find_if(list.begin(), list.end(), [&](const Candidate& c) { return c.kind == candidate.kind && c.change == candidate.change; });
  if (same == list.end())
    list.push_back(std::move(candidate));
  else
    add_faults(same->targets, candidate.targets);
}

std::vector<Candidate> candidates(const Ground& ground) {
  std::vector<Candidate> list;
  add_node_changes(ground, list);
  add_settings(ground, list);
  add_rewrites(ground, list);
  add_training(ground, list);
  std::stable_sort(list.begin(), list.end(), [](const Candidate& a, const Candidate& b) { return a.cost < b.cost; });
  return list;
}

}  // namespace ulpscope::profiler
