#include "reports/hardware/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <set>

#include "kernels/error.h"
#include "kernels/nearest.h"
#include "reports/hardware/gpus_toml.h"
#include "reports/hardware/read_gpus.h"

namespace ulpscope::reports {
namespace {

using Words = std::multiset<std::string>;

/// Upper case; makers' and brands' names left out.
Words words_of(std::string_view text) {
  Words words;
  std::string word;
  const auto end = [&] {
    static const std::set<std::string> brands{"NVIDIA", "TESLA", "GEFORCE", "GPU"};
    if (!word.empty() && !brands.contains(word)) words.insert(word);
    word.clear();
  };
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) word += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    else end();
  }
  end();
  return words;
}

bool has_name(const Gpu& gpu, const Words& words) {
  const auto same = [&](const std::string& name) { return words_of(name) == words; };
  return same(gpu.name) || std::any_of(gpu.also.begin(), gpu.also.end(), same) || std::any_of(gpu.device.begin(), gpu.device.end(), same);
}

bool has_words(const Gpu& gpu, const Words& words) {
  Words all = words_of(gpu.name);
  for (const auto* list : {&gpu.also, &gpu.device})
    for (const std::string& name : *list) all.merge(words_of(name));
  return std::all_of(words.begin(), words.end(), [&](const std::string& word) { return all.contains(word); });
}

std::vector<std::string> names_of(const std::vector<Gpu>& gpus) {
  std::vector<std::string> names;
  for (const Gpu& gpu : gpus) names.push_back(gpu.name);
  return names;
}

/// FMA of fp32 for each SM and clock by compute capability; 0: not known.
double fp32_pairs(int capability) {
  switch (capability) {
    case 60: case 70: case 72: case 75: case 80: return 64;
    case 61: case 86: case 89: case 90: case 100: case 120: return 128;
    default: return 0;
  }
}

}  // namespace

GpuTable::GpuTable(std::vector<Gpu> built_in, std::vector<Gpu> own) : gpus_(std::move(own)) {
  for (Gpu& gpu : built_in) gpus_.push_back(std::move(gpu));
}

const Gpu* GpuTable::of_device(std::string_view device) const {
  const Words words = words_of(device);
  if (words.empty()) return nullptr;
  for (const Gpu& gpu : gpus_)
    for (const std::string& name : gpu.device)
      if (words_of(name) == words) return &gpu;
  return nullptr;
}

const Gpu& GpuTable::named(std::string_view text) const {
  const Words words = words_of(text);
  std::vector<std::string> names = names_of(gpus_);
  if (words.empty()) throw UsageError(fmt::format("\"{}\" is no GPU's name; there are {}", text, fmt::join(names, ", ")));
  for (const Gpu& gpu : gpus_)
    if (has_name(gpu, words)) return gpu;
  std::vector<const Gpu*> found;
  for (const Gpu& gpu : gpus_)
    if (has_words(gpu, words)) found.push_back(&gpu);
  if (found.size() == 1) return *found.front();
  if (found.empty())
    throw UsageError(fmt::format("no GPU \"{}\" in the table; did you mean {}? There are {}; ulpscope hardware --add adds one", text,
                                 nearest(text, names), fmt::join(names, ", ")));
  names.clear();
  for (const Gpu* gpu : found) names.push_back(gpu->name);
  throw UsageError(fmt::format("\"{}\" may be {}: which?", text, fmt::join(names, ", ")));
}

const std::vector<Gpu>& built_in_gpus() {
  static const std::vector<Gpu> gpus = [] {
    ReadGpus read = read_gpus(gpus_toml, "gpus.toml");
    if (!read.mistakes.empty()) throw Error(fmt::format("the built-in table of GPUs: {}", fmt::join(read.mistakes, "; ")));
    return std::move(read.gpus);
  }();
  return gpus;
}

namespace {

const UserGpus& own_gpus() {
  static const UserGpus own = [] {
    UserGpus read = read_user_gpus(user_gpu_folder());
    for (const Gpu& gpu : built_in_gpus())
      std::erase_if(read.gpus, [&](const Gpu& mine) { return mine.name == gpu.name; });
    return read;
  }();
  return own;
}

}  // namespace

const GpuTable& gpu_table() {
  static const GpuTable table(built_in_gpus(), own_gpus().gpus);
  return table;
}

const std::vector<std::string>& user_gpu_mistakes() { return own_gpus().mistakes; }

Gpu described(const PresentGpu& device, const GpuTable& table) {
  const Gpu* entry = table.of_device(device.name);
  Gpu gpu = entry != nullptr ? *entry : Gpu{};
  gpu.name = device.name;
  if (device.capability != 0) gpu.capability = device.capability;
  if (entry == nullptr) {
    gpu.notes.push_back("not in the table: its peaks with matrix units, bandwidth and power are unknown");
    if (const double pairs = fp32_pairs(device.capability); pairs > 0.0) gpu.fma[static_cast<std::size_t>(Rate::fp32)] = pairs;
  } else {
    gpu.notes.insert(gpu.notes.begin(), fmt::format("rates for each SM and clock, bandwidth and power: the table's {}", entry->name));
  }
  if (device.memory_bytes) {
    gpu.memory_bytes = device.memory_bytes;
    if (entry == nullptr) gpu.memory_gb = static_cast<double>(*device.memory_bytes) * 1e-9;
  }
  if (device.l2_bytes) gpu.l2_mb = static_cast<double>(*device.l2_bytes) / 0x1p20;
  gpu.present = true;
  if (!device.sms || !device.clock_mhz || *device.sms <= 0 || *device.clock_mhz <= 0.0) return gpu;
  if (gpu.tensor_mhz && gpu.boost_mhz > 0.0) gpu.tensor_mhz = *gpu.tensor_mhz / gpu.boost_mhz * *device.clock_mhz;
  gpu.sms = *device.sms;
  gpu.boost_mhz = *device.clock_mhz;
  for (const RateInfo& info : rates()) gpu.peak[static_cast<std::size_t>(info.rate)] = gpu.computed_peak(info.rate);
  return gpu;
}

}  // namespace ulpscope::reports
