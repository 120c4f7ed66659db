#include "reports/analysis/time_peaks.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <string>
#include <vector>

namespace ulpscope::reports {
namespace {

struct Row {
  std::array<std::string_view, 2> words;  ///< of the device's name; the second may be empty
  DevicePeaks peaks;
};

constexpr Number none{};

// A row with two words comes before the one with the first of them alone.
constexpr auto rows = std::to_array<Row>({
    {{"P100", "PCIE"}, {9.5, none, none, none, 732}},
    {{"P100", ""}, {10.6, none, none, none, 732}},
    {{"V100", "PCIE"}, {14.1, none, 112, none, 897}},
    {{"V100", "SXM2"}, {15.7, none, 125, none, 900}},
    {{"T4", ""}, {8.1, none, 65, none, 320}},
    {{"2080", "TI"}, {13.4, none, 53.8, none, 616}},
    {{"A100", "40GB"}, {19.5, 156, 312, 312, 1555}},
    {{"A100", "80GB"}, {19.5, 156, 312, 312, 2039}},
    {{"A30", ""}, {10.3, 82, 165, 165, 933}},
    {{"A10", ""}, {31.2, 62.5, 125, 125, 600}},
    {{"3090", ""}, {35.6, 35.6, 71, 71, 936}},
    {{"L4", ""}, {30.3, 60, 121, 121, 300}},
    {{"L40", ""}, {90.5, 90.5, 181, 181, 864}},
    {{"L40S", ""}, {91.6, 183, 362, 362, 864}},
    {{"4090", ""}, {82.6, 82.6, 165.2, 165.2, 1008}},
    {{"H100", "PCIE"}, {51, 378, 756, 756, 2039}},
    {{"H100", ""}, {67, 494.7, 989.4, 989.4, 3350}},
    {{"H200", ""}, {67, 494.7, 989.4, 989.4, 4800}},
    {{"GH200", ""}, {67, 494.7, 989.4, 989.4, 4000}},
    {{"B200", ""}, {80, 1125, 2250, 2250, 8000}},
    {{"GB200", ""}, {80, 1250, 2500, 2500, 8000}},
    {{"5090", ""}, {104.8, 104.8, 209.5, 209.5, 1792}},
});

// Other products under a name of the table: slower boards, and parts of a board.
constexpr auto others = std::to_array<std::string_view>({"MIG", "NVL", "LAPTOP", "MAX", "D", "SUPER"});

std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words{""};
  for (const char c : text) {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      words.back() += static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  return words;
}

}  // namespace

Number DevicePeaks::of(std::string_view format) const {
  if (format == "fp32") return fp32;
  if (format == "tf32") return tf32;
  if (format == "fp16") return fp16;
  if (format == "bf16") return bf16;
  return std::nullopt;
}

std::optional<DevicePeaks> device_peaks(std::string_view device) {
  const std::vector<std::string> words = words_of(device);
  const auto has = [&](std::string_view word) { return std::find(words.begin(), words.end(), word) != words.end(); };
  if (std::any_of(others.begin(), others.end(), has)) return std::nullopt;
  for (const Row& row : rows) {
    const bool titanium = has("TI") && row.words[1] != "TI";  // a "3090 Ti" is another product
    if (has(row.words[0]) && (row.words[1].empty() || has(row.words[1])) && !titanium) return row.peaks;
  }
  return std::nullopt;
}

}  // namespace ulpscope::reports
