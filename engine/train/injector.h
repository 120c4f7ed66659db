// Carries out the injections of an experiment: writes numbers into device memory at their step.
#pragma once

#include <functional>
#include <vector>

#include "engine/graph/graph.h"
#include "engine/train/injection.h"
#include "kernels/device.h"

namespace ulpscope::engine {

class Program;

/// The value that is meant. Throws UsageError naming the nearest one, or the elements there are.
ValueId injected_value(const Graph& graph, const Injection& injection);

/// Nodes whose results are injected into: they are launched alone, so that whoever reads the result finds it changed.
std::vector<NodeId> injected_nodes(const Graph& graph, const std::vector<Injection>& injections);

class Injector {
 public:
  /// Hooks into the program for the results of nodes. address: device memory of a value. The device must outlive it.
  Injector(Device& device, const Graph& graph, const std::vector<Injection>& injections,
           const std::function<void*(ValueId)>& address, Program& program);

  /// Values that no node computes: before the first node of the step, after the batch has arrived.
  void before_step(std::int64_t iteration) const;

 private:
  struct Write {
    std::int64_t step = 0;
    std::vector<std::byte*> places;
    std::vector<std::byte> bytes;   ///< of one element
  };
  static void carry_out(Device& device, const Write& write);

  Device& device_;
  std::vector<Write> before_;
};

}  // namespace ulpscope::engine
