// Keys of [observe].
#include "profiler/experiment/keys.h"

namespace ulpscope::profiler {

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
  };
}

}  // namespace ulpscope::profiler
