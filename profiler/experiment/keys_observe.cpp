// Keys of [observe].
#include <fmt/format.h>

#include <algorithm>

#include "kernels/arithmetic.h"
#include "kernels/error.h"
#include "profiler/experiment/keys.h"

namespace ulpscope::profiler {
namespace {

Key sums_key() {
  Key key = texts_key("observe.sums", "in observed steps some elements of every matmul are computed with the sums of these generations' matrix units, too",
                      [](Experiment& e) { return &e.observe.sums; });
  key.set = [set = key.set](Experiment& e, const KeyValue& value) {
    for (const std::string& word : std::get<std::vector<std::string>>(value)) {
      const auto unit = parse_matrix_unit(word);
      if (!unit || *unit == MatrixUnit::none)
        throw UsageError(fmt::format("there is no generation \"{}\"; there are v100, turing, ampere, ada, hopper, blackwell", word));
    }
    set(e, value);
  };
  return key;
}

}  // namespace

std::vector<Key> observe_keys() {
  return {
      also(integer_key("observe.every", "every how many steps the tensors of a step are counted, from the first one on; 0: never",
                       between(0, 0x1p53), [](Experiment& e) { return &e.observe.every; }),
           {"interval", "every_steps", "sample_every"}),
      also(texts_key("observe.nodes", "the nodes whose results are counted then, by name (* and ?)",
                     [](Experiment& e) { return &e.observe.nodes; }),
           {"pattern", "patterns", "tensors"}),
      flag_key("observe.replay", "a step with a loss or gradient that is not finite is run again, every tensor counted",
               [](Experiment& e) { return &e.observe.replay; }),
      flag_key("observe.ranges", "in every step the greatest magnitude of every tensor of the backward pass is recorded, for ulpscope scale",
               [](Experiment& e) { return &e.observe.ranges; }),
      flag_key("observe.shadow", "an observed step is run in fp32, too, and each tensor's error against it recorded",
               [](Experiment& e) { return &e.observe.shadow; }),
      sums_key(),
      number_key("observe.sums_share", "the share of a product's elements that observe.sums computes, 16 to 4096 of them",
                 {.least = 0.0, .greatest = 1.0, .least_allowed = false}, [](Experiment& e) { return &e.observe.sums_share; }),
  };
}

}  // namespace ulpscope::profiler
