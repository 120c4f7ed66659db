#include "reports/hardware/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>
#include <set>

#include "kernels/error.h"
#include "kernels/nearest.h"
#include "reports/hardware/gpus_toml.h"
#include "reports/hardware/read_gpus.h"

namespace ulpscope::reports {
namespace {

using Words = std::multiset<std::string>;

/// Of a name: ASCII, or a byte of a character that is not (their case stays).
bool is_letter(char c) { return static_cast<unsigned char>(c) >= 0x80 || std::isalnum(static_cast<unsigned char>(c)) != 0; }
char upper(char c) { return static_cast<unsigned char>(c) < 0x80 ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c; }

const std::set<std::string>& brands() {
  static const std::set<std::string> all{"NVIDIA", "TESLA", "GEFORCE", "GPU"};
  return all;
}

/// Upper case; makers' and brands' names left out.
Words words_of(std::string_view text) {
  Words words;
  std::string word;
  const auto end = [&] {
    if (!word.empty() && !brands().contains(word)) words.insert(word);
    word.clear();
  };
  for (const char c : text) {
    if (is_letter(c)) word += upper(c);
    else end();
  }
  end();
  return words;
}

/// Without blanks and the like: "Tesla T 4" as "T4".
std::string run_together(std::string_view text) {
  std::string all;
  for (const char c : text)
    if (is_letter(c)) all += upper(c);
  for (const std::string& brand : brands())
    for (std::size_t at = all.find(brand); at != std::string::npos; at = all.find(brand)) all.erase(at, brand.size());
  return all;
}

std::vector<std::string> all_names(const Gpu& gpu) {
  std::vector<std::string> names{gpu.name};
  names.insert(names.end(), gpu.also.begin(), gpu.also.end());
  names.insert(names.end(), gpu.device.begin(), gpu.device.end());
  return names;
}

bool has_name(const Gpu& gpu, const Words& words) {
  const std::vector<std::string> names = all_names(gpu);
  return std::any_of(names.begin(), names.end(), [&](const std::string& name) { return words_of(name) == words; });
}

bool has_words(const Gpu& gpu, const Words& words) {
  Words all;
  for (const std::string& name : all_names(gpu)) all.merge(words_of(name));
  return std::all_of(words.begin(), words.end(), [&](const std::string& word) { return all.contains(word); });
}

std::vector<std::string> names_of(const std::vector<Gpu>& gpus) {
  std::vector<std::string> names;
  for (const Gpu& gpu : gpus) names.push_back(gpu.name);
  return names;
}

/// The first number in it; 0: there is none.
double number_in(std::string_view text) {
  const std::size_t at = text.find_first_of("0123456789");
  return at == std::string_view::npos ? 0.0 : std::strtod(std::string(text.substr(at, std::min(text.find_first_not_of("0123456789", at) - at, std::size_t{9}))).c_str(), nullptr);
}

/// Who was probably meant: by names and their words with a number ("H200" of "H200 SXM"); of equally near ones that with the same first
/// letter, and the number that is nearest.
std::string suggestion(std::string_view text, const std::vector<Gpu>& gpus) {
  std::vector<std::string> candidates;
  for (const Gpu& gpu : gpus) {
    for (std::string& name : all_names(gpu)) candidates.push_back(std::move(name));
    for (const std::string& word : words_of(gpu.name))
      if (number_in(word) > 0.0 && !word.ends_with("GB")) candidates.push_back(word);
  }
  const auto far = [&](const std::string& name) {
    const bool other = text.empty() || upper(name.front()) != upper(text.front());
    return std::pair(other, std::fabs(number_in(name) - number_in(text)));
  };
  std::stable_sort(candidates.begin(), candidates.end(), [&](const std::string& a, const std::string& b) { return far(a) < far(b); });
  const Words words = words_of(nearest(text, candidates));
  for (const auto& fits : {has_name, has_words})
    for (const Gpu& gpu : gpus)
      if (fits(gpu, words)) return gpu.name;
  return "";
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
  for (const Gpu& gpu : gpus_)
    if (gpu.name == text) return gpu;
  if (words.empty()) throw UsageError(fmt::format("\"{}\" is no GPU's name; there are {}", text, fmt::join(names, ", ")));
  std::vector<const Gpu*> found;
  for (const auto& fits : {has_name, has_words}) {
    if (!found.empty()) break;
    for (const Gpu& gpu : gpus_)
      if (fits(gpu, words)) found.push_back(&gpu);
  }
  if (found.size() == 1) return *found.front();
  if (found.empty())
    throw UsageError(fmt::format("no GPU \"{}\" in the table; did you mean {}? There are {}; ulpscope hardware --add adds one", text,
                                 suggestion(text, gpus_), fmt::join(names, ", ")));
  names.clear();
  for (const Gpu* gpu : found) names.push_back(gpu->name);
  throw UsageError(fmt::format("\"{}\" may be {}: which?", text, fmt::join(names, ", ")));
}

std::string GpuTable::taken_for(std::string_view text) const {
  const Gpu& gpu = named(text);
  const Words words = words_of(text);
  const auto same = [&](const std::string& name) { return words_of(name) == words; };
  if (same(gpu.name) || std::any_of(gpu.device.begin(), gpu.device.end(), same)) return "";
  std::vector<std::string> others;
  for (const Gpu& other : gpus_)
    if (&other != &gpu && has_words(other, words)) others.push_back(other.name);
  return others.empty() ? "" : fmt::format("\"{}\" is taken for {}; there {} also {}", text, gpu.name, others.size() == 1 ? "is" : "are", fmt::join(others, ", "));
}

std::string clash(const Gpu& own) {
  for (const Gpu& known : built_in_gpus())
    for (const std::string& mine : all_names(own))
      for (const std::string& name : all_names(known)) {
        if (words_of(mine) != words_of(name) && run_together(mine) != run_together(name)) continue;
        if (mine == own.name) return fmt::format("\"{}\" is in the built-in table ({}): give yours another name", mine, known.name);
        return fmt::format("{}: \"{}\" means the built-in {}: leave it out of also and device", own.name, mine, known.name);
      }
  return "";
}

std::string same_device(const Gpu& own, const std::vector<Gpu>& others) {
  for (const Gpu& other : others)
    for (const std::string& mine : own.device)
      for (const std::string& name : other.device)
        if (words_of(mine) == words_of(name))
          return fmt::format("{}: the device \"{}\" is that of {}{}: leave it out of one", own.name, mine, other.name, other.file.empty() ? "" : fmt::format(" ({})", other.file));
  return "";
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
    std::vector<Gpu> kept;
    for (Gpu& mine : read.gpus) {
      std::string why = clash(mine);
      if (why.empty()) why = same_device(mine, kept);
      if (why.empty()) kept.push_back(std::move(mine));
      else read.mistakes.push_back(fmt::format("{}: {}", mine.file, why));
    }
    read.gpus = std::move(kept);
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
