// Autocast policies: which operators run in 16 bits, which in fp32, which in their widest input's format, and which as the
// inputs come. The members are PyTorch's (ATen autocast_mode.h and autocast_mode.cpp; shared NUMERICS 3.1).
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace ulpscope::engine {

enum class CastClass : std::uint8_t { lower, fp32, widest, as_it_comes };
const char* name(CastClass c);

struct Policy {
  std::string name;
  std::map<std::string, CastClass, std::less<>> listed;

  /// Unlisted operators run as their inputs come.
  CastClass class_of(std::string_view pytorch_operator) const;
};

/// "torch_cuda" (the default) and "torch_cpu" (to compare with recordings made on a CPU). torch_cpu holds the operators of the
/// CPU paragraph of NUMERICS 3.1, not all of PyTorch's. binary_cross_entropy: under torch_cuda PyTorch refuses it and points to
/// binary_cross_entropy_with_logits; no operator here stands for it, so no class says so.
const std::vector<Policy>& policies();
/// Throws UsageError naming the nearest policy and listing them all.
const Policy& find_policy(std::string_view name);

}  // namespace ulpscope::engine
