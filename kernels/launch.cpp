#include "kernels/launch.h"

#include "kernels/error.h"

namespace ulpscope {

void KernelTable::add(std::string_view operation, Format compute, Kernel kernel) {
  kernels_.insert_or_assign({std::string(operation), compute}, kernel);
}

const Kernel& KernelTable::find(std::string_view operation, Format compute) const {
  const auto found = kernels_.find(std::pair<std::string, Format>(operation, compute));
  if (found != kernels_.end()) return found->second;
  std::string known;
  for (const auto& [key, kernel] : kernels_) {
    if (key.second != compute) continue;
    if (!known.empty()) known += ", ";
    known += key.first;
  }
  throw Error("no kernel for operation '" + std::string(operation) + "' computing in " + name(compute) +
              "; there are: " + (known.empty() ? "none" : known));
}

bool KernelTable::contains(std::string_view operation, Format compute) const {
  return kernels_.contains(std::pair<std::string, Format>(operation, compute));
}

std::vector<std::pair<std::string, Format>> KernelTable::entries() const {
  std::vector<std::pair<std::string, Format>> keys;
  keys.reserve(kernels_.size());
  for (const auto& [key, kernel] : kernels_) keys.push_back(key);
  return keys;
}

}  // namespace ulpscope
