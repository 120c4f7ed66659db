#include "reports/analysis/kernel_precision.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <vector>

namespace ulpscope::reports {
namespace {

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}

bool in_word(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

/// Words between anything that is no letter and no digit: "ampere", "fp16", "s16816gemm".
std::vector<std::string> words_of(std::string_view text) {
  std::vector<std::string> words;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && in_word(text[end])) ++end;
    if (end > i) words.emplace_back(text.substr(i, end - i));
    i = end + 1;
  }
  return words;
}

/// How libraries write formats.
struct Spelling {
  std::string_view word, format;
};
constexpr auto spellings = std::to_array<Spelling>({
    {"tf32", "tf32"}, {"fp16", "fp16"}, {"f16", "fp16"}, {"half", "fp16"}, {"bf16", "bf16"}, {"f32", "fp32"}, {"fp32", "fp32"}, {"f64", "fp64"}, {"fp64", "fp64"},
    {"e4m3", "fp8_e4m3"}, {"e5m2", "fp8_e5m2"}, {"int8", "int8"},
});

std::string format_of(std::string_view word) {
  const auto* const found = std::find_if(spellings.begin(), spellings.end(), [&](const Spelling& s) { return s.word == word; });
  return found == spellings.end() ? "" : std::string(found->format);
}

/// "bf16f32" as bf16 and fp32; nothing: it is no such pair.
std::optional<std::pair<std::string, std::string>> pair_of(std::string_view word) {
  for (const Spelling& first : spellings)
    if (word.starts_with(first.word))
      if (const std::string second = format_of(word.substr(first.word.size())); !second.empty()) return std::pair(std::string(first.format), second);
  return std::nullopt;
}

KernelPrecision unknown(std::string why) { return {.why = std::move(why)}; }

/// xmma: gemm_<A><out>_<B><sums>_<epilogue>: what is multiplied comes first in both pairs; tf32 is written in the second alone where fp32 is read.
std::optional<KernelPrecision> xmma(const std::vector<std::string>& words) {
  if (std::find(words.begin(), words.end(), "xmma") == words.end()) return std::nullopt;
  std::vector<std::pair<std::string, std::string>> pairs;
  std::string seen;
  for (const std::string& word : words)
    if (const auto pair = pair_of(word); pair && pairs.size() < 2) {
      pairs.push_back(*pair);
      seen += (seen.empty() ? "" : "_") + word;
    }
  if (pairs.size() < 2) return std::nullopt;
  const bool alike = pairs[0].first == pairs[1].first || (pairs[0].first == "fp32" && pairs[1].first == "tf32");
  const bool fp8 = pairs[0].first.starts_with("fp8") && pairs[1].first.starts_with("fp8");
  if (!alike && !fp8) return unknown(fmt::format("{} names two formats", seen));
  return KernelPrecision{.reads = pairs[alike ? 1 : 0].first, .sums = pairs[1].second, .why = seen};
}

/// "s16816gemm", "h884cudnn", "s1688tf32gemm": the letter is the format of the sums, the digits the shape of the instruction.
struct Instruction {
  char sums = ' ';
  std::string shape;
  std::string named;   ///< a format between shape and operation
};

std::optional<Instruction> instruction_of(const std::string& word) {
  if (word.empty() || std::string_view("shdi").find(word[0]) == std::string_view::npos) return std::nullopt;
  std::size_t digits = 1;
  while (digits < word.size() && word[digits] >= '0' && word[digits] <= '9') ++digits;
  const std::string shape = word.substr(1, digits - 1);
  if (shape.size() < 3) return std::nullopt;
  for (const std::string_view operation : {"gemm", "cudnn", "fprop", "dgrad", "wgrad", "conv"}) {
    const std::size_t at = word.find(operation, digits);
    if (at == std::string::npos) continue;
    return Instruction{word[0], shape, format_of(word.substr(digits, at - digits))};
  }
  return std::nullopt;
}

std::set<std::string> named_formats(const std::vector<std::string>& words) {
  std::set<std::string> formats;
  for (const std::string& word : words)
    if (const std::string format = format_of(word); !format.empty()) formats.insert(format);
  return formats;
}

std::optional<KernelPrecision> matrix_instruction(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    const auto instruction = instruction_of(word);
    if (!instruction) continue;
    std::set<std::string> named = named_formats(words);
    named.erase("fp32");   // of a result
    if (!instruction->named.empty()) named = {instruction->named};
    const std::string sums = instruction->sums == 's' ? "fp32" : instruction->sums == 'h' ? "fp16" : instruction->sums == 'd' ? "fp64" : "int32";
    if (named.size() == 1) return KernelPrecision{.reads = *named.begin(), .sums = sums, .why = fmt::format("{} with {}", word, *named.begin())};
    if (named.size() > 1) return unknown(word + " with several formats named");
    // Sums in fp16 and fp64 are of products of such numbers alone; m8n8k4 with fp32 sums multiplies fp16 alone.
    if (instruction->sums == 'h') return KernelPrecision{.reads = "fp16", .sums = sums, .why = word};
    if (instruction->sums == 'd') return KernelPrecision{.reads = "fp64", .sums = sums, .why = word};
    if (instruction->sums == 'i') return KernelPrecision{.reads = "int8", .sums = sums, .why = word};
    if (instruction->shape == "884") return KernelPrecision{.reads = "fp16", .sums = sums, .why = word};
    return unknown(fmt::format("{} multiplies several formats, and the name says none", word));
  }
  return std::nullopt;
}

/// Types in the template arguments of a C++ name.
constexpr auto types = std::to_array<Spelling>({
    {"c10::half", "fp16"}, {"__half", "fp16"}, {"half", "fp16"}, {"half_t", "fp16"}, {"__half2", "fp16"}, {"half2", "fp16"},
    {"c10::bfloat16", "bf16"}, {"__nv_bfloat16", "bf16"}, {"nv_bfloat16", "bf16"}, {"bfloat16", "bf16"}, {"bfloat16_t", "bf16"}, {"__nv_bfloat162", "bf16"},
    {"float", "fp32"}, {"double", "fp64"}, {"tfloat32_t", "tf32"},
    {"float_e4m3_t", "fp8_e4m3"}, {"__nv_fp8_e4m3", "fp8_e4m3"}, {"c10::float8_e4m3fn", "fp8_e4m3"}, {"float8_e4m3fn", "fp8_e4m3"},
    {"float_e5m2_t", "fp8_e5m2"}, {"__nv_fp8_e5m2", "fp8_e5m2"}, {"c10::float8_e5m2", "fp8_e5m2"}, {"float8_e5m2", "fp8_e5m2"},
});

/// Between < and >, but not in the parentheses of functions.
std::set<std::string> template_types(std::string_view name) {
  std::set<std::string> found;
  std::vector<char> open;
  for (std::size_t i = 0; i < name.size();) {
    const char c = name[i];
    if (c == '<' || c == '(') open.push_back(c);
    if ((c == '>' || c == ')') && !open.empty()) open.pop_back();
    const auto part = [](char x) { return in_word(x) || x == '_'; };
    if (!part(c)) {
      ++i;
      continue;
    }
    std::size_t end = i;
    while (end < name.size() && part(name[end])) ++end;
    std::string_view word = name.substr(i, end - i);
    const bool function = end < name.size() && name[end] == '(';
    const bool inside = !open.empty() && open.back() == '<' && std::find(open.begin(), open.end(), '(') == open.end();
    for (const Spelling& type : types)
      if (inside && !function && (word == type.word || (type.word.starts_with("c10::") && word == type.word.substr(5)))) found.insert(std::string(type.format));
    i = end;
  }
  return found;
}

bool has(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

std::string joined(const std::set<std::string>& formats) {
  std::string text;
  for (const std::string& format : formats) text += (text.empty() ? "" : ", ") + format;
  return text;
}

std::optional<KernelPrecision> of_template(const std::string& name) {
  const std::set<std::string> formats = template_types(name);
  if (formats.empty()) return std::nullopt;
  // They convert what they read: what the types say is what they compute in.
  if (has(name, "copy_kernel") || has(name, "loadwithcast") || has(name, "unrolled_elementwise")) return unknown("a kernel that may convert what it reads");
  if (formats.size() > 1) return unknown(fmt::format("several formats among its types: {}", joined(formats)));
  return KernelPrecision{.reads = *formats.begin(), .why = fmt::format("{} alone among its types", *formats.begin())};
}

/// sgemm, hgemm: BLAS's letters, alone or at the end of a word.
std::optional<KernelPrecision> blas(const std::vector<std::string>& words, const std::set<std::string>& types_of_template) {
  const std::set<std::string> named = named_formats(words);
  for (const std::string& word : words) {
    const bool single = word == "sgemm" || word == "scudnn", half = word == "hgemm" || word == "hcudnn", twice = word == "dgemm" || word == "dcudnn";
    if (!single && !half && !twice) continue;
    if (named.size() > 1) return unknown(word + " with several formats named");
    if (!named.empty()) return KernelPrecision{.reads = *named.begin(), .sums = single ? "fp32" : "", .why = fmt::format("{} with {}", word, *named.begin())};
    if (!types_of_template.empty()) return std::nullopt;   // they say more
    return KernelPrecision{.reads = single ? "fp32" : half ? "fp16" : "fp64", .why = word};
  }
  return std::nullopt;
}

/// nvjet_<what is multiplied><computed in><result>: h fp16, t bf16, s fp32.
std::optional<KernelPrecision> nvjet(const std::vector<std::string>& words) {
  const auto at = std::find(words.begin(), words.end(), "nvjet");
  if (at == words.end()) return std::nullopt;
  for (auto word = at + 1; word != words.end() && word != at + 3; ++word) {
    if (*word == "hsh" || *word == "hss") return KernelPrecision{.reads = "fp16", .sums = "fp32", .why = "nvjet_" + *word};
    if (*word == "tst" || *word == "tss") return KernelPrecision{.reads = "bf16", .sums = "fp32", .why = "nvjet_" + *word};
  }
  return unknown("this nvjet name is not known");
}

/// A format as a word by itself, in names of libraries that put it there.
std::optional<KernelPrecision> named_word(const std::string& name, const std::vector<std::string>& words) {
  const bool library = has(name, "cutlass_") || has(name, "fmha_cutlass") || has(name, "nccldevkernel") || has(name, "ncclkernel") || has(name, "cudnn");
  const bool tensorop = has(name, "tensorop") || has(name, "wmma") || has(name, "fmha_cutlass");
  if (!library) return std::nullopt;
  std::set<std::string> formats = named_formats(words);
  if (has(name, "nccl") && std::find(words.begin(), words.end(), "float") != words.end()) formats.insert("fp32");
  if (formats.empty()) return std::nullopt;
  if (formats.size() > 1) return unknown(fmt::format("several formats named: {}", joined(formats)));
  if (tensorop && *formats.begin() == "fp32") return unknown("fp32 on a matrix unit may be tf32, and the name does not say");
  return KernelPrecision{.reads = *formats.begin(), .why = *formats.begin() + " in the name"};
}

}  // namespace

KernelPrecision kernel_precision(std::string_view kernel) {
  const std::string name = lower(kernel.substr(0, 4096));   // names of templates may be as long as one likes
  if (name.starts_with("[mem") || name.starts_with("memcpy") || name.starts_with("memset")) return unknown("a copy or a set of memory");
  if (name.starts_with("triton_")) return unknown("names of Triton's kernels say no format");
  const std::vector<std::string> words = words_of(name);
  if (auto found = xmma(words)) return *found;
  if (auto found = nvjet(words)) return *found;
  if (auto found = matrix_instruction(words)) return *found;
  const std::set<std::string> in_template = template_types(name);
  if (auto found = blas(words, in_template)) return *found;
  if (auto found = of_template(name)) return *found;
  if (auto found = named_word(name, words)) return *found;
  return unknown("the name does not say it");
}

}  // namespace ulpscope::reports
