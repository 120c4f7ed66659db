// A precision mode in the words of those who train: Hugging Face's TrainingArguments, PyTorch, DeepSpeed.
#pragma once

#include <string>
#include <string_view>

namespace ulpscope::reports {

struct FrameworkSettings {
  std::string hugging_face{};  ///< members of TrainingArguments
  std::string pytorch{};
  std::string deepspeed{};     ///< of its configuration file
};

/// Empty for a mode these frameworks have no settings for.
FrameworkSettings framework_settings(std::string_view mode);
/// "Hugging Face: …; PyTorch: …; DeepSpeed: …", without what is empty.
std::string one_line(const FrameworkSettings& settings);

}  // namespace ulpscope::reports
