#include "profiler/trace/kernel_match.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_set>
#include <utility>

namespace ulpscope::profiler {
namespace {

constexpr std::int64_t nowhere = -1;

/// What both kernels and transfers say.
struct Work {
  std::uint32_t correlation = 0, other = 0;
  std::uint64_t graph_node = 0, start = 0, end = 0;
};

/// What came of a launch.
struct Answer {
  bool answered = false;
  std::unordered_set<std::uint64_t> graph_nodes;   ///< that left a record
};

class Matcher {
 public:
  explicit Matcher(const TraceData& data) : data_(data), result_{} {}

  TraceMatch run() {
    read_owners();
    for (std::size_t i = 0; i < data_.records.kernels.size(); ++i) {
      const KernelActivity& k = data_.records.kernels[i];
      Placed placed{i};
      if (place({k.correlation, 0, k.graph_node, k.start, k.end}, placed)) result_.kernels.push_back(placed);
    }
    for (const TransferActivity& t : data_.records.transfers) {
      Placed placed;
      if (place({t.correlation, t.runtime_correlation, t.graph_node, t.start, t.end}, placed))
        seen().transfer_seconds += 1e-9 * static_cast<double>(t.end - t.start);
    }
    for (const GraphActivity& g : data_.records.graphs) whole_graph(g);
    look_for_silence();
    conclude();
    return std::move(result_);
  }

 private:
  using NodeStep = std::pair<std::int32_t, std::int64_t>;
  struct Sum {
    std::uint64_t nanoseconds = 0;
    std::set<std::pair<std::uint32_t, std::int64_t>> executions;   ///< correlation id of the graph's launch (0: none) and span
    bool flawed = false;                                           ///< something of it is missing
  };

  TraceCoverage& seen() { return result_.coverage; }
  const NodeSpan& span(std::int64_t index) const { return data_.spans[static_cast<std::size_t>(index)]; }
  bool known(std::int64_t index) const { return index >= 0 && index < std::ssize(data_.spans); }

  void claim(std::uint32_t correlation, std::int64_t index) {
    if (correlation == 0) return;
    const auto [found, fresh] = owners_.emplace(correlation, index);
    if (fresh || found->second == index) return;
    // The work is one's or the other's: neither is whole.
    if (found->second != nowhere) {
      ++seen().contradictions;
      spoil(span(found->second));
    }
    spoil(span(index));
    found->second = nowhere;
  }

  void read_owners() {
    for (const TracedLaunch& launch : data_.launches) {
      answers_[launch.correlation];
      if (launch.inner != 0) outer_[launch.inner] = launch.correlation;
      if (!known(launch.span)) continue;
      claim(launch.correlation, launch.span);
      claim(launch.inner, launch.span);
    }
    for (const ExternalActivity& e : data_.records.externals) {
      if (e.id == 0 || e.id > data_.spans.size()) {
        ++seen().unknown_ids;
        continue;
      }
      claim(e.correlation, static_cast<std::int64_t>(e.id - 1));
    }
  }

  std::int64_t owner(const Work& work) const {
    for (const std::uint32_t id : {work.correlation, work.other})
      if (const auto found = owners_.find(id); id != 0 && found != owners_.end()) return found->second;
    return nowhere;
  }

  Answer* answer(std::uint32_t correlation) {
    if (const auto outer = outer_.find(correlation); outer != outer_.end()) correlation = outer->second;
    const auto found = answers_.find(correlation);
    return found == answers_.end() ? nullptr : &found->second;
  }

  /// A time that can be used. The others are counted.
  bool good_time(const Work& work) {
    if (work.start == 0 || work.end == 0) return ++seen().zero_stamps, false;
    if (work.end < work.start) return ++seen().inverted_stamps, false;
    if (work.start < data_.origin) return ++seen().early_stamps, false;
    return true;
  }

  Sum& sum(std::int32_t node, std::int64_t step) { return sums_[NodeStep(node, step)]; }

  /// The whole step: what is missing may belong to any of its nodes.
  void spoil_step(std::int64_t step) { spoiled_.insert(step); }
  void spoil(const NodeSpan& s) {
    if (s.attempt != 0) return;
    if (s.node < 0) return spoil_step(s.step);
    sum(s.node, s.step).flawed = true;
    incomplete_.insert(s.step);
  }

  /// Where it belongs; adds its time there. False: it is in no table.
  bool place(const Work& work, Placed& placed) {
    for (const std::uint32_t id : {work.correlation, work.other}) {
      if (Answer* a = id == 0 ? nullptr : answer(id)) {
        a->answered = true;
        if (work.graph_node != 0) a->graph_nodes.insert(work.graph_node);
      }
    }
    const bool good = good_time(work);
    const std::int64_t by_call = owner(work);
    if (work.graph_node != 0) return place_in_graph(work, by_call, good, placed);
    if (by_call == nowhere) {
      ++seen().unmatched;
      return good;
    }
    const NodeSpan& s = span(by_call);
    if (s.attempt != 0) return ++seen().other_attempts, false;
    placed.step = s.step;
    if (!good) return spoil(s), false;
    if (s.node < 0) return ++seen().between_nodes, true;
    placed.node = s.node;
    placed.micro_batch = s.micro_batch;
    add(s.node, s.step, 0, by_call, work);
    return true;
  }

  /// The node is the one at whose capture the graph's node was made; the step is the one that launched the graph.
  bool place_in_graph(const Work& work, std::int64_t by_call, bool good, Placed& placed) {
    if (by_call != nowhere) {
      if (span(by_call).attempt != 0) return ++seen().other_attempts, false;
      placed.step = span(by_call).step;
    } else {
      ++seen().unmatched;
    }
    const auto mapped = data_.graph_nodes.find(work.graph_node);
    if (mapped == data_.graph_nodes.end() || !known(mapped->second.span)) {
      ++seen().unmapped;
      if (placed.step) spoil_step(*placed.step);
      return good;
    }
    const NodeSpan made = span(mapped->second.span);
    if (made.node >= 0) placed.node = made.node;
    if (!placed.step) return good;
    if (!good) return spoil({made.node, *placed.step, made.micro_batch, 0}), false;
    if (made.node < 0) return ++seen().between_nodes, true;
    add(made.node, *placed.step, work.correlation, mapped->second.span, work);
    return true;
  }

  void add(std::int32_t node, std::int64_t step, std::uint32_t launch, std::int64_t at, const Work& work) {
    Sum& s = sum(node, step);
    s.nanoseconds += work.end - work.start;
    s.executions.emplace(launch, at);
  }

  void whole_graph(const GraphActivity& g) {
    ++seen().graphs_whole;
    if (Answer* a = answer(g.correlation)) a->answered = true;
    if (const std::int64_t at = owner({g.correlation, 0, 0, 0, 0}); at != nowhere) spoil_step(span(at).step);
  }

  /// Launches, and nodes of launched graphs, that left no record.
  void look_for_silence() {
    std::unordered_map<std::uint32_t, std::vector<std::uint64_t>> of_graph;
    for (const auto& [id, node] : data_.graph_nodes)
      if (node.graph != 0) of_graph[node.graph].push_back(id);
    for (const TracedLaunch& launch : data_.launches) {
      const Answer& a = answers_.at(launch.correlation);
      if (!a.answered) {
        ++seen().unanswered;
        if (known(launch.span)) spoil(span(launch.span));
        continue;
      }
      std::set<std::uint32_t> graphs;
      for (const std::uint64_t id : a.graph_nodes)
        if (const auto found = data_.graph_nodes.find(id); found != data_.graph_nodes.end()) graphs.insert(found->second.graph);
      for (const std::uint32_t graph : graphs) {
        if (graph == 0) continue;
        for (const std::uint64_t id : of_graph[graph]) {
          if (a.graph_nodes.contains(id)) continue;
          ++seen().graph_nodes_missing;
          const std::int64_t made = data_.graph_nodes.at(id).span;
          if (known(launch.span)) spoil({known(made) ? span(made).node : -1, span(launch.span).step, 0, span(launch.span).attempt});
        }
      }
    }
  }

  void conclude() {
    TraceCoverage& c = seen();
    c.kernels = std::ssize(data_.records.kernels);
    c.transfers = std::ssize(data_.records.transfers);
    c.steps = std::ssize(data_.steps);
    const bool losses = data_.dropped > 0 || data_.declined > 0 || data_.lost_buffers > 0 || data_.records.broken > 0;
    if (data_.launches_counted) {
      c.launches = std::ssize(data_.launches);
      c.steps_covered = std::count_if(data_.steps.begin(), data_.steps.end(), [&](std::int64_t step) {
        return !spoiled_.contains(step) && !incomplete_.contains(step);
      });
    }
    std::map<std::int32_t, NodeDeviceTime> nodes;
    for (const auto& [key, s] : sums_) {
      const auto& [node, step] = key;
      if (s.flawed || spoiled_.contains(step) || s.executions.empty()) continue;
      NodeDeviceTime& time = nodes[node];
      time.node = node;
      time.calls += std::ssize(s.executions);
      time.seconds += 1e-9 * static_cast<double>(s.nanoseconds);
      ++time.steps;
    }
    for (auto& [node, time] : nodes) {
      // Where every launch is accounted for, a step without a record of the node is one in which it launched nothing.
      if (data_.launches_counted || !losses) time.steps = whole_steps(node);
      result_.nodes.push_back(time);
    }
  }

  std::int64_t whole_steps(std::int32_t node) const {
    return std::count_if(data_.steps.begin(), data_.steps.end(), [&](std::int64_t step) {
      if (spoiled_.contains(step)) return false;
      const auto found = sums_.find(NodeStep(node, step));
      return found == sums_.end() || !found->second.flawed;
    });
  }

  const TraceData& data_;
  TraceMatch result_;
  std::unordered_map<std::uint32_t, std::int64_t> owners_;   ///< span by correlation id; nowhere: claimed by two
  std::unordered_map<std::uint32_t, std::uint32_t> outer_;   ///< correlation id of the call around it
  std::unordered_map<std::uint32_t, Answer> answers_;        ///< by correlation id of the launch
  std::map<NodeStep, Sum> sums_;
  std::set<std::int64_t> spoiled_, incomplete_;              ///< steps: as a whole; in some node
};

}  // namespace

TraceMatch match(const TraceData& data) { return Matcher(data).run(); }

}  // namespace ulpscope::profiler
