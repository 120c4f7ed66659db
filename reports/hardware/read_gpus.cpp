#include "reports/hardware/read_gpus.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <toml++/toml.h>

#include "kernels/nearest.h"

namespace ulpscope::reports {
namespace {

struct NumberKey {
  const char* key;
  const char* unit;
  double least, most;
  bool required;
};
constexpr NumberKey number_keys[] = {
    {"sms", "streaming multiprocessors", 1, 4096, true}, {"boost_mhz", "MHz", 100, 10000, true},
    {"tensor_mhz", "MHz", 100, 10000, false},            {"memory_gb", "10^9 bytes", 0.5, 4096, true},
    {"memory_bytes", "bytes", 1e8, 8e12, false},         {"bandwidth_gbs", "10^9 bytes/s", 1, 1e6, true},
    {"l2_mb", "2^20 bytes", 0.01, 1e5, false},           {"power_w", "W", 1, 1e5, false},
};
constexpr const char* word_keys[] = {"name", "architecture", "compute_capability"};
constexpr const char* list_keys[] = {"also", "device", "source", "note"};
constexpr const char* rate_keys[] = {"fma", "peak", "attainable"};
constexpr const char* mark_keys[] = {"unverified", "derived"};

std::vector<std::string> all_keys() {
  std::vector<std::string> keys;
  for (const char* key : word_keys) keys.emplace_back(key);
  for (const NumberKey& key : number_keys) keys.emplace_back(key.key);
  for (const char* key : list_keys) keys.emplace_back(key);
  for (const char* key : rate_keys) keys.emplace_back(key);
  for (const char* key : mark_keys) keys.emplace_back(key);
  return keys;
}

std::vector<std::string> rate_names() {
  std::vector<std::string> names;
  for (const RateInfo& rate : rates()) names.emplace_back(rate.key);
  return names;
}

/// One [[gpu]] table.
class Reader {
 public:
  Reader(const toml::table& table, std::string file, std::vector<std::string>& mistakes) : table_(table), file_(std::move(file)), mistakes_(mistakes) {}

  Gpu read() {
    for (const auto& [key, value] : table_) {
      const std::vector<std::string> keys = all_keys();
      const std::string word(key.str());
      if (std::find(keys.begin(), keys.end(), word) == keys.end())
        complain(value.source(), fmt::format("unknown key {}; did you mean {}? Keys: {}", word, nearest(word, keys), fmt::join(keys, ", ")));
    }
    gpu_.name = text("name", true);
    gpu_.architecture = text("architecture", false);
    gpu_.capability = capability();
    for (const NumberKey& key : number_keys) set(key, number(key));
    gpu_.also = list("also");
    gpu_.device = list("device");
    gpu_.sources = list("source");
    gpu_.notes = list("note");
    const std::size_t before = mistakes_.size();
    gpu_.fma = rate_table("fma", 1, 1 << 20);
    fma_is_right_ = table_.contains("fma") && mistakes_.size() == before;
    gpu_.peak = rate_table("peak", 1e-3, 1e6);
    gpu_.attainable = rate_table("attainable", 1e-3, 1e6);
    gpu_.unverified = marks("unverified");
    gpu_.derived = marks("derived");
    if (!table_.contains("fma")) complain(table_.source(), "key fma is missing: at least { fp32 = … }, multiply-add pairs for each SM and clock (64 or 128)");
    else if (fma_is_right_ && !gpu_.fma_of(Rate::fp32)) complain(table_.get("fma")->source(), "fma has no fp32: multiply-add pairs for each SM and clock (64 or 128)");
    check_rates();
    return std::move(gpu_);
  }

 private:
  void complain(const toml::source_region& place, const std::string& what) {
    mistakes_.push_back(fmt::format("{}:{}: {}{}", file_, place.begin.line, gpu_.name.empty() ? "" : gpu_.name + ": ", what));
  }

  std::string text(const char* key, bool required) {
    const toml::node* node = table_.get(key);
    if (node == nullptr) {
      if (required) complain(table_.source(), fmt::format("key {} is missing", key));
      return "";
    }
    if (const auto number = node->value<double>(); number && std::string_view(key) == "compute_capability") {
      const bool likely = *number >= 1.0 && *number < 100.0;
      complain(node->source(), likely ? fmt::format("compute_capability takes a text: write \"{:.1f}\", in quotes", *number) : "compute_capability takes a text such as \"8.9\"");
      return "";
    }
    const auto value = node->value_exact<std::string>();
    if (!value || value->empty() || value->size() > 60) {
      complain(node->source(), fmt::format("{} takes a text of 1 to 60 bytes", key));
      return "";
    }
    return *value;
  }

  int capability() {
    const std::string words = text("compute_capability", true);
    const std::size_t dot = words.find('.');
    const auto digits = [](const std::string& s) { return !s.empty() && s.size() < 3 && s.find_first_not_of("0123456789") == std::string::npos; };
    if (words.empty()) return 0;
    if (dot == std::string::npos || !digits(words.substr(0, dot)) || !digits(words.substr(dot + 1)) || words.size() - dot != 2) {
      complain(table_.get("compute_capability")->source(), fmt::format("compute_capability \"{}\": a text such as \"8.9\"", words));
      return 0;
    }
    return 10 * std::stoi(words.substr(0, dot)) + std::stoi(words.substr(dot + 1));
  }

  Number number(const NumberKey& key) {
    const toml::node* node = table_.get(key.key);
    if (node == nullptr) {
      if (key.required) complain(table_.source(), fmt::format("key {} is missing ({})", key.key, key.unit));
      return std::nullopt;
    }
    const auto value = node->is_number() ? node->value<double>() : std::nullopt;
    if (value && *value >= key.least && *value <= key.most) return value;
    complain(node->source(), fmt::format("{} takes a number from {} to {} ({})", key.key, key.least, key.most, key.unit));
    sizes_are_right_ = false;
    return std::nullopt;
  }

  void set(const NumberKey& key, const Number& value) {
    const std::string_view word = key.key;
    const double given = value.value_or(0.0);
    if (word == "sms") gpu_.sms = static_cast<std::int64_t>(given);
    if (word == "boost_mhz") gpu_.boost_mhz = given;
    if (word == "tensor_mhz") gpu_.tensor_mhz = value;
    if (word == "memory_gb") gpu_.memory_gb = given;
    if (word == "memory_bytes" && value) gpu_.memory_bytes = static_cast<std::int64_t>(given);
    if (word == "bandwidth_gbs") gpu_.bandwidth_gbs = value;
    if (word == "l2_mb") gpu_.l2_mb = value;
    if (word == "power_w") gpu_.power_w = value;
    if (word != "sms" || !value || given == std::floor(given)) return;
    complain(table_.get("sms")->source(), "sms takes a whole number");
    sizes_are_right_ = false;
  }

  std::vector<std::string> list(const char* key) {
    std::vector<std::string> words;
    const toml::node* node = table_.get(key);
    if (node == nullptr) return words;
    const toml::array* array = node->as_array();
    const auto add = [&](const toml::node& one) {
      const auto value = one.value_exact<std::string>();
      if (value && !value->empty()) words.push_back(*value);
      else complain(one.source(), fmt::format("{} takes a list of texts", key));
    };
    if (array == nullptr) add(*node);
    else
      for (const toml::node& one : *array) add(one);
    return words;
  }

  Rates rate_table(const char* key, double least, double most) {
    Rates found{};
    const toml::node* node = table_.get(key);
    if (node == nullptr) return found;
    const std::vector<std::string> names = rate_names();
    if (!node->is_table()) {
      complain(node->source(), fmt::format("{} takes a table such as {{ fp32 = 64, fp16 = 512 }}; rates: {}", key, fmt::join(names, ", ")));
      return found;
    }
    for (const auto& [rate, value] : *node->as_table()) {
      const std::string word(rate.str());
      const auto place = std::find(names.begin(), names.end(), word);
      const auto number = value.is_number() ? value.value<double>() : std::nullopt;
      if (place == names.end())
        complain(value.source(), fmt::format("{}.{} is no rate; did you mean {}? Rates: {}", key, word, nearest(word, names), fmt::join(names, ", ")));
      else if (!number || !(*number >= least && *number <= most))
        complain(value.source(), fmt::format("{}.{} takes a number from {} to {}", key, word, least, most));
      else
        found[static_cast<std::size_t>(place - names.begin())] = number;
    }
    return found;
  }

  std::map<std::string, std::string> marks(const char* key) {
    std::map<std::string, std::string> found;
    const toml::node* node = table_.get(key);
    if (node == nullptr) return found;
    if (!node->is_table()) {
      complain(node->source(), fmt::format("{} takes a table such as {{ power_w = \"why\" }}", key));
      return found;
    }
    std::vector<std::string> names = rate_names();
    for (const NumberKey& number : number_keys) names.emplace_back(number.key);
    for (const auto& [figure, value] : *node->as_table()) {
      const std::string word(figure.str());
      const auto why = value.value_exact<std::string>();
      if (std::find(names.begin(), names.end(), word) == names.end())
        complain(value.source(), fmt::format("{}.{} is no figure; did you mean {}?", key, word, nearest(word, names)));
      else if (!why || why->empty()) complain(value.source(), fmt::format("{}.{} takes a text that says why", key, word));
      else found[word] = *why;
    }
    return found;
  }

  /// The least compute capability whose matrix units multiply it (NUMERICS 5); 0: no matter of it.
  static int matrix_units_from(Rate rate) {
    if (rate == Rate::bf16 || rate == Rate::tf32) return 80;
    if (rate == Rate::fp8 || rate == Rate::fp8_sums_fp16) return 89;
    return rate == Rate::fp16 || rate == Rate::fp16_sums_fp16 ? 70 : 0;
  }

  /// Every rate has an fma, and what is stated agrees with it. What is not stated follows from it. A mistake in what a peak is computed
  /// from has its line already.
  void check_rates() {
    if (!fma_is_right_ || !sizes_are_right_) return;
    for (const RateInfo& info : rates()) {
      const auto i = static_cast<std::size_t>(info.rate);
      const Number computed = gpu_.computed_peak(info.rate);
      if (const int from = matrix_units_from(info.rate); gpu_.fma[i] && gpu_.capability > 0 && gpu_.capability < from)
        complain(table_.get("fma")->source(), fmt::format("fma.{}: compute capability {} has none in its matrix units (from {} on)", info.key,
                                                          capability_text(gpu_.capability), capability_text(from)));
      if (gpu_.peak[i] && !gpu_.fma[i])
        complain(table_.get("peak")->source(), fmt::format("peak.{} has no fma.{}: multiply-add pairs for each SM and clock", info.key, info.key));
      if (gpu_.attainable[i] && gpu_.fma[i] && *gpu_.attainable[i] > 1.05 * gpu_.peak[i].value_or(*computed))
        complain(table_.get("attainable")->source(), fmt::format("attainable.{} is above the peak", info.key));
      if (!computed || *computed <= 0.0) continue;
      if (!gpu_.peak[i]) gpu_.peak[i] = computed;
      const double ratio = *gpu_.peak[i] / *computed;
      if (std::fabs(ratio - 1.0) <= peak_tolerance) continue;
      complain(table_.get("peak")->source(),
               fmt::format("peak.{} = {:g} TFLOP/s, but SMs x fma x 2 x clock is {:.4g}{}", info.key, *gpu_.peak[i], *computed,
                           std::fabs(ratio - 2.0) < 0.1 ? ": is it the figure with sparsity? Half of it is the dense one" : ""));
    }
  }

  const toml::table& table_;
  std::string file_;
  std::vector<std::string>& mistakes_;
  Gpu gpu_;
  bool fma_is_right_ = false;    ///< without a mistake, and there
  bool sizes_are_right_ = true;  ///< the numbers that a peak is computed from, too
};

}  // namespace

ReadGpus read_gpus(std::string_view toml, const std::string& file) {
  ReadGpus out;
  toml::table document;
  try {
    document = toml::parse(toml, file);
  } catch (const toml::parse_error& error) {
    std::string words(error.description());
    std::replace(words.begin(), words.end(), '\n', ' ');
    out.mistakes.push_back(fmt::format("{}:{}: {}", file, error.source().begin.line, words));
    return out;
  }
  for (const auto& [key, value] : document)
    if (key.str() != "gpu") out.mistakes.push_back(fmt::format("{}:{}: unknown key {}: GPUs are [[gpu]] tables", file, value.source().begin.line, key.str()));
  const toml::array* tables = document.get_as<toml::array>("gpu");
  if (tables == nullptr || tables->empty()) {
    out.mistakes.push_back(fmt::format("{}:1: no [[gpu]] table (ulpscope hardware --help says what is in one)", file));
    return out;
  }
  out.tables = tables->size();
  for (const toml::node& node : *tables) {
    const std::size_t before = out.mistakes.size();
    if (!node.is_table()) {
      out.mistakes.push_back(fmt::format("{}:{}: gpu takes [[gpu]] tables", file, node.source().begin.line));
      continue;
    }
    Gpu gpu = Reader(*node.as_table(), file, out.mistakes).read();
    if (out.mistakes.size() == before) out.gpus.push_back(std::move(gpu));
  }
  return out;
}

}  // namespace ulpscope::reports
