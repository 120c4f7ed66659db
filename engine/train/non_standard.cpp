#include "engine/train/non_standard.h"

#include <fmt/format.h>

#include "engine/passes/overrides.h"

namespace ulpscope::engine {

std::vector<std::string> non_standard(const TrainConfig& config) {
  std::vector<std::string> words;
  const OptimizerConfig& optimizer = config.optimizer;
  if (config.non_finite == NonFinite::apply) words.emplace_back("train.non_finite = \"apply\": updates that are not finite are applied");
  if (config.buffers == BufferCommit::always)
    words.emplace_back("train.buffers = \"always\": a step that is not committed leaves its running statistics behind");
  if (optimizer.clip_before_unscale)
    words.emplace_back("train.clip_order = \"before_unscale\": clipping sees the gradients of the scaled loss");
  if (config.early_unscale)
    words.emplace_back("train.unscale = \"early\": the first micro-batch is unscaled, the others are not");
  if (optimizer.norm_accumulate != Format::fp32)
    words.push_back(fmt::format("train.norm_accumulate = \"{0}\": the norm for clipping is summed in {0}", name(optimizer.norm_accumulate)));
  if (config.schedule_counts == ScheduleCounts::iterations)
    words.emplace_back("train.schedule_counts = \"iterations\": skipped steps move the learning rate");
  if (optimizer.scalar_format != Format::fp32)
    words.push_back(fmt::format("train.scalar_format = \"{0}\": learning rate, betas, epsilon and weight decay are {1} to {0}",
                                name(optimizer.scalar_format),
                                optimizer.scalar_rounding == ScalarRounding::truncate ? "truncated" : "rounded"));
  for (std::string& word : non_standard_words(config.overrides)) words.push_back(std::move(word));
  for (const Injection& i : config.injections)
    words.push_back(fmt::format("inject: '{}' {} set to {:g} in step {}", i.value,
                                i.elements.empty() ? "is" : i.elements.size() == 1 ? fmt::format("[{}] is", i.elements.front())
                                                                                   : fmt::format("has {} elements", i.elements.size()),
                                i.number, i.step));
  return words;
}

}  // namespace ulpscope::engine
