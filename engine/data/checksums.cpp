#include "engine/data/checksums.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <zlib.h>

#include <nlohmann/json.hpp>
#include <span>

#include "kernels/error.h"

namespace ulpscope::engine {
namespace {

using json = nlohmann::json;
constexpr const char* key = "crc32";

class Crc {
 public:
  void add(std::span<const std::byte> bytes) {
    value_ = crc32_z(value_, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
  }
  /// With its end, so that two texts are not one.
  void add(const std::string& text) { add(std::as_bytes(std::span(text.c_str(), text.size() + 1))); }
  std::string text() const { return fmt::format("{:08x}", value_); }

 private:
  uLong value_ = crc32_z(0, nullptr, 0);
};

std::string checksum(const NamedTensor& tensor) {
  Crc crc;
  crc.add(tensor.name);
  crc.add(tensor.dtype);
  crc.add(fmt::format("{}", fmt::join(tensor.shape, ",")));
  if (!tensor.data.empty()) crc.add(tensor.data);
  return crc.text();
}

std::string checksum(const std::map<std::string, std::string>& metadata) {
  Crc crc;
  for (const auto& [name, text] : metadata) {
    if (name == key) continue;
    crc.add(name);
    crc.add(text);
  }
  return crc.text();
}

}  // namespace

void add_checksums(TensorFile& file) {
  json tensors = json::object();
  for (const NamedTensor& tensor : file.tensors) tensors[tensor.name] = checksum(tensor);
  const json sums{{"metadata", checksum(file.metadata)}, {"tensors", std::move(tensors)}};
  file.metadata[key] = sums.dump(-1, ' ', false, json::error_handler_t::replace);
}

bool check_checksums(const TensorFile& file, const std::string& path) {
  const auto refuse = [&](const std::string& why) { throw UsageError(fmt::format("{}: it is damaged: {}", path, why)); };
  const auto found = file.metadata.find(key);
  if (found == file.metadata.end()) return false;
  const json sums = json::parse(found->second, nullptr, false);
  if (!sums.is_object() || !sums.contains("metadata") || !sums.contains("tensors") || !sums["tensors"].is_object())
    refuse("its checksums cannot be read");
  if (sums["metadata"] != checksum(file.metadata)) refuse("its metadata are not what was written (crc32)");
  const json& written = sums["tensors"];
  for (const NamedTensor& tensor : file.tensors)
    if (!written.contains(tensor.name) || written[tensor.name] != checksum(tensor))
      refuse(fmt::format("tensor '{}' is not what was written (crc32)", tensor.name));
  if (written.size() != file.tensors.size()) refuse(fmt::format("{} tensors of {} are there", file.tensors.size(), written.size()));
  return true;
}

}  // namespace ulpscope::engine
