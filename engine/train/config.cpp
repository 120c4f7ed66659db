#include "engine/train/config.h"

#include "kernels/error.h"

namespace ulpscope::engine {

void check(const TrainConfig& config, const std::string& place) {
  if (config.micro_batches < 1 || config.micro_batches > most_micro_batches)
    throw UsageError(place + ".micro_batches: at least 1 and at most 65536 micro-batches make a step");
  if (!config.injections.empty() && (!config.recompute.empty() || config.weight_copies == WeightCopies::recast))
    throw UsageError(place + (config.recompute.empty() ? ".weight_copies" : ".recompute") +
                     ": does not go with [[inject]]: what is computed again would not have the value that was set");
  if (config.early_unscale && config.micro_batches < 2)
    throw UsageError(place + ".unscale: \"early\" is about the first of several micro-batches: set " + place +
                     ".micro_batches to 2 or more, or " + place + ".unscale to \"standard\"");
}

}  // namespace ulpscope::engine
